//go:build cgo

package frontier

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
)

// fixpoint is what a job means: values travel until none changes.
func fixpoint(g *graph.Graph, job *Job) []uint32 {
	n := uint32(g.Nodes())
	values := make([]uint32, n)
	join := func(v, arriving uint32) bool {
		old := values[v]
		if job.Semiring == Reach {
			values[v] |= arriving
		} else {
			values[v] = min(values[v], arriving)
		}
		return values[v] != old
	}
	for v := range values {
		switch job.Semiring {
		case Components:
			values[v] = uint32(v)
		case BFS, ShortestPath:
			values[v] = Unreached
		}
	}
	seeds := job.seeds()
	for i := 0; i < len(seeds); i += 2 {
		join(seeds[i], seeds[i+1])
	}
	for changed := true; changed; {
		changed = false
		for u := range n {
			for e := g.Offsets[u]; e < g.Offsets[u+1]; e++ {
				arriving := uint64(values[u])
				switch job.Semiring {
				case BFS:
					arriving++
				case ShortestPath:
					arriving += uint64(g.Weight(e))
				}
				changed = join(g.Targets[e], uint32(min(arriving, Unreached))) || changed
			}
		}
	}
	return values
}

// shapes are graphs of extreme shapes.
func shapes(t *testing.T) map[string]graph.Pair {
	build := func(e graph.Edges, directed bool) graph.Pair {
		pair, err := graph.Build(e, graph.Options{Directed: directed, Loops: true, Duplicates: true})
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	path := graph.Edges{Nodes: 200}
	for v := range uint32(199) {
		path.From, path.To, path.Weights = append(path.From, v), append(path.To, v+1), append(path.Weights, v%3)
	}
	hub := graph.Edges{Nodes: 1500}
	for v := range uint32(1500) {
		hub.From, hub.To = append(hub.From, 7), append(hub.To, v)
	}
	return map[string]graph.Pair{
		"one node":           build(graph.Edges{Nodes: 1}, true),
		"isolated nodes":     build(graph.Edges{Nodes: 70}, true),
		"a self-loop":        build(graph.Edges{Nodes: 2, From: []uint32{0, 0}, To: []uint32{0, 1}}, true),
		"duplicate edges":    build(graph.Edges{Nodes: 33, From: []uint32{0, 0, 0, 32}, To: []uint32{32, 32, 32, 1}, Weights: []uint32{9, 2, 5, 1<<32 - 2}}, true),
		"a path":             build(path, true),
		"a path both ways":   build(path, false),
		"a hub":              build(hub, false),
		"a hub, edges leave": build(hub, true),
	}
}

func randomGraph(rng *rand.Rand, t *testing.T) graph.Pair {
	n := 1 + rng.Uint32N(300)
	e := graph.Edges{Nodes: n}
	weighted := rng.IntN(2) == 0
	for range rng.IntN(int(3*n) + 1) {
		from, to := rng.Uint32N(n), rng.Uint32N(n)
		if rng.IntN(3) == 0 {
			from = rng.Uint32N(n/20 + 1)
		}
		e.From, e.To = append(e.From, from), append(e.To, to)
		if weighted {
			w := rng.Uint32N(20)
			if rng.IntN(30) == 0 {
				w = Unreached - rng.Uint32N(4)
			}
			e.Weights = append(e.Weights, w)
		}
	}
	pair, err := graph.Build(e, graph.Options{Directed: rng.IntN(2) == 0, Loops: true, Duplicates: true})
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// runs compares every topology with the plain algorithm.
func runs(t *testing.T, name string, r *Graph, job Job) {
	t.Helper()
	want := fixpoint(r.pair.Out, &job)
	for _, topology := range topologies {
		job.Topology = topology
		got, err := r.Run(context.Background(), job)
		if err != nil {
			t.Errorf("%s, %v, %v: %v", name, job.Semiring, topology, err)
			continue
		}
		if !slices.Equal(got.Values, want) {
			t.Errorf("%s, %v, %v: got %v, want %v", name, job.Semiring, topology, got.Values, want)
		}
		if bytes := got.Bytes; job.Budget != 0 && bytes > job.Budget {
			t.Errorf("%s: %d bytes with a budget of %d", name, bytes, job.Budget)
		}
		checkLevels(t, name, &got)
	}
}

// checkLevels checks what must hold between the records of a run.
func checkLevels(t *testing.T, name string, got *Result) {
	t.Helper()
	for i, l := range got.Levels {
		if l.Level != uint32(i) || l.FrontierNodes == 0 {
			t.Errorf("%s: record %d is of level %d with %d nodes", name, i, l.Level, l.FrontierNodes)
		}
		if next := i + 1; next < len(got.Levels) && got.Levels[next].FrontierNodes != l.Hits {
			t.Errorf("%s: level %d has %d hits, the next one %d nodes", name, i, l.Hits, got.Levels[next].FrontierNodes)
		}
		if l.FrontierNodes > got.HitCapacity && l.Topology == policy.TopologySparse && l.Requeued == 0 {
			t.Errorf("%s: level %d has %d nodes in a buffer of %d and requeued none", name, i, l.FrontierNodes, got.HitCapacity)
		}
	}
}

func TestEveryTopologyGivesThePlainMeaningOnCornerShapes(t *testing.T) {
	k := newKernels(t)
	for name, pair := range shapes(t) {
		r := loadPair(t, k, pair)
		last := r.Nodes() - 1
		for _, job := range []Job{
			{Sources: []uint32{0}},
			{Semiring: BFS, Sources: []uint32{last, last, 0}, HitCapacity: 5},
			{Semiring: Components, HitCapacity: 64},
			{Semiring: ShortestPath, Sources: []uint32{last}, Seeds: []uint32{3}},
			{Semiring: Reach, Sources: []uint32{0, last}, HitCapacity: 1},
		} {
			runs(t, name, r, job)
		}
	}
}

func TestEveryTopologyGivesThePlainMeaningOnRandomGraphs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	k := newKernels(t)
	// Long enough for the persistent kernel.
	path := loadPair(t, k, shapes(t)["a path both ways"])
	job := Job{Sources: []uint32{0}, Geometry: policy.Geometry{Width: 64}}
	runs(t, "a path", path, job)
	got, err := path.Run(context.Background(), job)
	if err != nil {
		t.Fatal(err)
	}
	if last := got.Levels[len(got.Levels)-1]; !last.Persistent {
		t.Error("the last level of a path did not run in the persistent kernel")
	}
	for round := range 8 {
		r := loadPair(t, k, randomGraph(rng, t))
		for _, s := range []Semiring{BFS, ShortestPath, Components, Reach} {
			runs(t, fmt.Sprintf("graph %d", round), r, randomJob(rng, s, r.Nodes()))
		}
	}
}

func TestWidthsGiveThePlainMeaning(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, width := range []uint32{32, 256} {
		r := loadPair(t, newKernels(t), randomGraph(rng, t))
		for groups := range uint32(3) {
			runs(t, fmt.Sprintf("%d x %d", width, groups), r, Job{Sources: []uint32{r.Nodes() / 2}, Geometry: policy.Geometry{Width: width, Groups: groups}})
		}
	}
}

func randomJob(rng *rand.Rand, s Semiring, nodes uint32) Job {
	job := Job{Semiring: s, Geometry: policy.Geometry{Width: 64, Groups: rng.Uint32N(4)}}
	for range 1 + rng.IntN(3) {
		job.Sources = append(job.Sources, rng.Uint32N(nodes))
	}
	if rng.IntN(2) == 0 {
		job.HitCapacity = 1 + rng.Uint32N(nodes)
	}
	cfg := policy.Standard()
	if rng.IntN(3) == 0 {
		cfg = policy.Reference()
	}
	if rng.IntN(3) == 0 {
		job.HotOpcodes = 100
		cfg.FusionEdgeThreshold = 1
	}
	job.Config = &cfg
	job.MemoryPressureBps, job.PressureKnown = uint16(rng.IntN(3)*4200), true
	return job
}

// A block of nodes with more in-edges than a workgroup may look at in one dispatch is
// pulled in pieces.
func TestHeavyBlocksArePulledInPieces(t *testing.T) {
	k := newKernels(t)
	rng := rand.New(rand.NewPCG(5, 6))
	e := graph.Edges{Nodes: 70}
	for range 110_000 {
		e.From, e.To = append(e.From, rng.Uint32N(70)), append(e.To, rng.Uint32N(30))
	}
	for v := range uint32(69) {
		e.From, e.To = append(e.From, v), append(e.To, v+1)
	}
	pair, err := graph.Build(e, graph.Options{Directed: true, Loops: true, Duplicates: true})
	if err != nil {
		t.Fatal(err)
	}
	r := loadPair(t, k, pair)
	for _, s := range []Semiring{BFS, Reach} {
		job := Job{Semiring: s, Sources: []uint32{60, 3}, Topology: policy.TopologyDense, Geometry: policy.Geometry{Width: 32}}
		p, err := r.plan(&job)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.blocks) == 0 {
			t.Fatal("no block has pieces")
		}
		got, err := r.Run(context.Background(), job)
		if err != nil {
			t.Fatal(err)
		}
		if want := fixpoint(pair.Out, &job); !slices.Equal(got.Values, want) {
			t.Errorf("%v: got %v, want %v", s, got.Values, want)
		}
	}
}
