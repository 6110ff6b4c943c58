package policy

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// graph is undirected, in compressed rows.
type graph struct {
	rows []int32
	to   []int32
}

func newGraph(vertices int, edges [][2]int32) *graph {
	g := &graph{rows: make([]int32, vertices+1)}
	for _, e := range edges {
		g.rows[e[0]+1]++
		g.rows[e[1]+1]++
	}
	for v := range vertices {
		g.rows[v+1] += g.rows[v]
	}
	g.to = make([]int32, 2*len(edges))
	end := append([]int32(nil), g.rows...)
	for _, e := range edges {
		g.to[end[e[0]]], g.to[end[e[1]]] = e[1], e[0]
		end[e[0]]++
		end[e[1]]++
	}
	return g
}

func (g *graph) vertices() int            { return len(g.rows) - 1 }
func (g *graph) neighbours(v int) []int32 { return g.to[g.rows[v]:g.rows[v+1]] }

// kronecker is the power-law graph of the Graph500 benchmark.
func kronecker(rng *rand.Rand, scale, degree int) *graph {
	edges := make([][2]int32, degree<<scale)
	for i := range edges {
		for range scale {
			p := rng.Float64()
			edges[i][0], edges[i][1] = edges[i][0]<<1, edges[i][1]<<1
			if p >= 0.57+0.19 {
				edges[i][0]++
			}
			if p >= 0.57 && p < 0.57+0.19 || p >= 0.57+0.19+0.19 {
				edges[i][1]++
			}
		}
	}
	return newGraph(1<<scale, edges)
}

func uniform(rng *rand.Rand, vertices int32, degree int) *graph {
	edges := make([][2]int32, degree*int(vertices))
	for i := range edges {
		edges[i] = [2]int32{rng.Int32N(vertices), rng.Int32N(vertices)}
	}
	return newGraph(int(vertices), edges)
}

func grid(width, height int32) *graph {
	var edges [][2]int32
	for v := range width * height {
		if v%width+1 < width {
			edges = append(edges, [2]int32{v, v + 1})
		}
		if v/width+1 < height {
			edges = append(edges, [2]int32{v, v + width})
		}
	}
	return newGraph(int(width*height), edges)
}

// level is one level of a breadth-first search: what its telemetry says, and
// what the two ways to walk it cost, in edges looked at.
type level struct {
	frontier   uint32
	outEdges   uint64
	unexplored uint64
	push, pull int
}

// levels searches from a source. A pull looks at the edges of an unexplored
// vertex up to its first parent, and finds those vertices by scanning a word
// for each 64.
func (g *graph) levels(source int) []level {
	depth := make([]int, g.vertices())
	for v := range depth {
		depth[v] = -1
	}
	depth[source] = 0
	unexplored := len(g.to) - len(g.neighbours(source))
	var out []level
	for frontier := []int{source}; len(frontier) > 0; {
		l := level{frontier: uint32(len(frontier)), unexplored: uint64(unexplored), pull: g.vertices() / 64}
		for v, d := range depth {
			for _, u := range g.neighbours(v) {
				if d >= 0 {
					break
				}
				if l.pull++; depth[u] == len(out) {
					break
				}
			}
		}
		var next []int
		for _, v := range frontier {
			l.push += len(g.neighbours(v))
			for _, u := range g.neighbours(v) {
				if depth[u] < 0 {
					depth[u] = len(out) + 1
					next = append(next, int(u))
					unexplored -= len(g.neighbours(int(u)))
				}
			}
		}
		l.outEdges = uint64(l.push)
		out, frontier = append(out, l), next
	}
	return out
}

// edgeWork walks the levels in the topologies that decisions choose, and
// returns the edges looked at: hybrid pushes, dense pulls.
func edgeWork(t *testing.T, cfg *Config, g *graph, levels []level) int {
	t.Helper()
	work, state := 0, State{}
	for _, l := range levels {
		req := Request{
			QueueLen: l.frontier, Limits: Limits{1_024, 65_535, 1_024, 32, 0, 0},
			GraphNodeCount: uint32(g.vertices()), GraphEdgeCount: uint32(len(g.to)),
			FrontierOutDegreeSum: l.outEdges, FrontierNodes: l.frontier, UnexploredEdges: l.unexplored, Present: HasFrontierEdges,
		}
		rec, next, err := Decide(cfg, &req, state)
		if err != nil {
			t.Fatal(err)
		}
		if state = next; rec.Topology == TopologyDense || rec.Topology == TopologyFused {
			work += l.pull
		} else {
			work += l.push
		}
	}
	return work
}

// gapWork walks the levels as the GAP benchmark suite does: it pulls once the
// out-edges exceed a 15th of the unexplored edges, for as long as the frontier
// grows or has more than an 18th of the vertices.
func gapWork(g *graph, levels []level) int {
	work, pulling, before := 0, false, uint32(0)
	for _, l := range levels {
		if pulling {
			pulling = l.frontier >= before || int(l.frontier) > g.vertices()/18
		} else {
			pulling = l.outEdges > l.unexplored/15
		}
		if before = l.frontier; pulling {
			work += l.pull
		} else {
			work += l.push
		}
	}
	return work
}

// The yardsticks are an oracle that knows the cost of each level, always
// pushing, and the rule of the GAP benchmark suite.
func TestEdgesChooseTheCheaperWalk(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 16))
	std, vertices := Standard(), Standard()
	vertices.TopologyByEdges = false
	for _, c := range []struct {
		name            string
		graph           *graph
		ofOracle        float64 // at most
		ofPushing       float64 // at most
		ofGAP           float64 // at most
		densityOfOracle float64 // at least: what deciding by vertices costs
	}{
		{"kronecker", kronecker(rng, 14, 16), 1.1, 0.1, 1.1, 5},
		{"uniform", uniform(rng, 1<<15, 16), 1.05, 0.1, 1, 1},
		// Here the level before the decisive one has more than a 15th of the
		// unexplored edges.
		{"uniform, half the degree", uniform(rng, 1<<16, 8), 1.05, 0.2, 0.5, 1},
		{"grid", grid(128, 128), 1, 1, 1, 1},
		{"path", grid(1<<12, 1), 1, 1, 1, 1},
	} {
		var oracle, push, work, byDensity, gap float64
		for range 8 {
			source := rng.IntN(c.graph.vertices())
			for len(c.graph.neighbours(source)) == 0 {
				source = rng.IntN(c.graph.vertices())
			}
			levels := c.graph.levels(source)
			for _, l := range levels {
				oracle, push = oracle+float64(min(l.push, l.pull)), push+float64(l.push)
			}
			work += float64(edgeWork(t, &std, c.graph, levels))
			byDensity += float64(edgeWork(t, &vertices, c.graph, levels))
			gap += float64(gapWork(c.graph, levels))
		}
		t.Logf("%s: %.3f of the oracle (GAP %.3f, by density %.3f), %.3f of pushing", c.name, work/oracle, gap/oracle, byDensity/oracle, work/push)
		if work > c.ofOracle*oracle || work > c.ofPushing*push || work > c.ofGAP*gap {
			t.Errorf("%s: want at most %v of the oracle, %v of pushing and %v of GAP", c.name, c.ofOracle, c.ofPushing, c.ofGAP)
		}
		if byDensity < c.densityOfOracle*oracle {
			t.Errorf("%s: the density would do", c.name)
		}
	}
}

var anyEdges = rapid.Custom(func(t *rapid.T) Request {
	req := anyRequest.Draw(t, "req")
	req.QueueLen, req.GraphNodeCount = max(req.QueueLen, 1), max(req.GraphNodeCount, 1)
	req.MemoryPressureBps, req.MemoryBudgetBytes = 100, 0
	req.RequestedHitCapacity = 1
	req.Present |= HasFrontierEdges
	return req
})

func TestEdgesDoNotFlapInsideTheBand(t *testing.T) {
	cfg := Standard()
	rapid.Check(t, func(t *rapid.T) {
		req, state := anyEdges.Draw(t, "req"), anyState.Draw(t, "prev")
		req.FrontierNodes = 0
		b := cfg.EdgeRule(req.GraphNodeCount)
		work := rapid.SliceOfN(rapid.Uint64Range(b.SparseMost+1, max(b.SparseKeep, b.SparseMost+1)), 2, 50).Draw(t, "work")
		if b.SparseKeep == b.SparseMost {
			t.Skip("no band among so few vertices")
		}
		switches, promoted := 0, false
		req.FrontierOutDegreeSum = work[0]
		state = settled(t, &cfg, &req, state)
		for i, w := range work {
			req.FrontierOutDegreeSum = w
			req.UnexploredEdges = rapid.Uint64Range(0, 1<<24).Draw(t, "unexplored")
			before := state.Topology.Topology
			var err error
			if _, state, err = Decide(&cfg, &req, state); err != nil {
				t.Fatal(err)
			}
			if now := state.Topology.Topology; i > 0 && now != before {
				switches++
				promoted = before == TopologyHybrid && (now == TopologyDense || now == TopologyFused)
			}
		}
		if switches > 1 || switches == 1 && !promoted {
			t.Fatalf("%d switches inside the band", switches)
		}
	})
}

// More work to push never leads from a wide walk to a narrower one.
func TestMoreOutEdgesNeverNarrowTheWalk(t *testing.T) {
	cfg := Standard()
	rank := map[Topology]int{TopologySparse: 0, TopologyHybrid: 1, TopologyDense: 2, TopologyFused: 2}
	rapid.Check(t, func(t *rapid.T) {
		low := anyEdges.Draw(t, "req")
		high, prev := low, anyState.Draw(t, "prev")
		high.FrontierOutDegreeSum += rapid.Uint64Range(0, 1<<20).Draw(t, "more")
		a, _, err := Decide(&cfg, &low, prev)
		b, _, err2 := Decide(&cfg, &high, prev)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if rank[b.Topology] < rank[a.Topology] {
			t.Fatalf("%v at %d out-edges, %v at %d", a.Topology, low.FrontierOutDegreeSum, b.Topology, high.FrontierOutDegreeSum)
		}
	})
}

// Density does not matter where edges decide, nor edges where density does.
func TestOneSignalDecidesTheTopology(t *testing.T) {
	cfg := Standard()
	rapid.Check(t, func(t *rapid.T) {
		req, prev := anyEdges.Draw(t, "req"), anyState.Draw(t, "prev")
		other := req
		other.FrontierDensityBps = anyBps.Draw(t, "density")
		if rapid.Bool().Draw(t, "by vertices") {
			req.Present &^= HasFrontierEdges
			other = req
			other.FrontierOutDegreeSum, other.UnexploredEdges = rapid.Uint64().Draw(t, "out"), rapid.Uint64().Draw(t, "unexplored")
		}
		a, _, err := Decide(&cfg, &req, prev)
		b, _, err2 := Decide(&cfg, &other, prev)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if a.Topology != b.Topology || a.RawTopology != b.RawTopology || a.Reasons[0] != b.Reasons[0] {
			t.Fatalf("%+v\n%+v", a, b)
		}
	})
}
