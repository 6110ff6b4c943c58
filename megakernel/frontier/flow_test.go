//go:build cgo

package frontier

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
)

// flowWants is what a dataflow job means, by the plain algorithm.
func flowWants(g *graph.Graph, job *Job) []uint32 {
	in := make([]uint32, g.Nodes())
	for i, s := range job.Sources {
		in[s] |= job.Seeds[i]
	}
	return graph.Flow(g, in, job.Gen, job.Kill)
}

var flowGeometries = []policy.Geometry{{}, {Width: 64, Groups: 2}}

// flows compares every topology with the plain algorithm, one geometry after the other from the given one on.
func flows(t testing.TB, name string, r *Graph, job Job, geometry int) {
	t.Helper()
	want := flowWants(r.pair.Out, &job)
	for i, topology := range topologies {
		job.Topology, job.Geometry = topology, flowGeometries[(geometry+i)%len(flowGeometries)]
		if err := flowIs(r, job, want); err != nil {
			t.Errorf("%s, %v, %+v: %v", name, job.Topology, job.Geometry, err)
		}
	}
}

// flowIs runs a job and compares it with the plain algorithm.
func flowIs(r *Graph, job Job, want []uint32) error {
	got, err := r.Run(context.Background(), job)
	if err != nil {
		return err
	}
	if !slices.Equal(got.Values, want) {
		return fmt.Errorf("got %x, want %x", got.Values, want)
	}
	reached := uint32(0)
	for _, facts := range want {
		reached += bit(facts != 0)
	}
	if got.Reached != reached {
		return fmt.Errorf("%d nodes have facts, want %d", got.Reached, reached)
	}
	if first := got.Levels[0]; first.FrontierNodes != r.Nodes() || first.FrontierEdges != r.shape.edges {
		return fmt.Errorf("begins with %+v", first.View)
	}
	for _, l := range got.Levels {
		if l.UnexploredEdges != 0 {
			return fmt.Errorf("level %d has %d unexplored edges, every node was active before", l.Level, l.UnexploredEdges)
		}
	}
	return nil
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// sparseFacts lets few nodes generate facts and most kill some, as in programs.
func sparseFacts(rng *rand.Rand, nodes uint32) Job {
	job := Job{Semiring: Flow, Gen: make([]uint32, nodes), Kill: make([]uint32, nodes)}
	for range 1 + nodes/4 {
		job.Gen[rng.Uint32N(nodes)] |= 1 << rng.Uint32N(32)
	}
	for v := range job.Kill {
		job.Kill[v] = rng.Uint32() & rng.Uint32()
	}
	for range rng.IntN(3) {
		job.Sources = append(job.Sources, rng.Uint32N(nodes))
		job.Seeds = append(job.Seeds, rng.Uint32())
	}
	return job
}

func TestFlowIsThatOfThePlainAlgorithmOnCornerShapes(t *testing.T) {
	k := newKernels(t)
	rng := newRand(8)
	for name, pair := range shapes(t) {
		r := loadPair(t, k, pair)
		all := slices.Repeat([]uint32{1<<32 - 1}, int(r.Nodes()))
		last := r.Nodes() - 1
		for what, job := range map[string]Job{
			"some facts":             sparseFacts(rng, r.Nodes()),
			"no facts":               {Semiring: Flow},
			"everything ends":        {Semiring: Flow, Kill: all, Sources: []uint32{0, last}, Seeds: []uint32{5, 1 << 31}},
			"everything begins":      {Semiring: Flow, Gen: all, HitCapacity: 5},
			"begins where it ends":   {Semiring: Flow, Gen: all, Kill: all},
			"facts from outside":     {Semiring: Flow, Sources: []uint32{last, 0, last}, Seeds: []uint32{1, 2, 1 << 31}, HitCapacity: 1},
			"sources bring no facts": {Semiring: Flow, Sources: []uint32{0}, Seeds: []uint32{0}},
		} {
			for geometry := range flowGeometries {
				if geometry == 0 || what == "some facts" {
					flows(t, name+", "+what, r, job, geometry)
				}
			}
		}
	}
}

func TestFlowIsThatOfThePlainAlgorithmOnRandomGraphs(t *testing.T) {
	k := newKernels(t)
	rapid.Check(t, func(rt *rapid.T) {
		rng := newRand(rapid.Uint64().Draw(rt, "seed"))
		r, err := Load(k.dev, randomGraph(rng, t), Options{Programs: k.Store})
		if err != nil {
			rt.Fatal(err)
		}
		defer r.Close()
		job := sparseFacts(rng, r.Nodes())
		if rapid.Bool().Draw(rt, "little room") {
			job.HitCapacity = 1 + rng.Uint32N(r.Nodes())
		}
		job.Topology = rapid.SampledFrom(topologies).Draw(rt, "topology")
		job.Geometry = rapid.SampledFrom(flowGeometries).Draw(rt, "geometry")
		if err := flowIs(r, job, flowWants(r.pair.Out, &job)); err != nil {
			rt.Error(err)
		}
	})
}

// realGraph reads a bundled graph.
func realGraph(t testing.TB, name string, directed bool) graph.Pair {
	t.Helper()
	f, err := os.Open("../graph/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pair, _, err := graph.Read(f, graph.Options{Directed: directed}, graph.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func TestFlowIsThatOfThePlainAlgorithmOnRealGraphs(t *testing.T) {
	rng := newRand(9)
	for i, name := range []string{"ego-facebook.el.gz", "as-caida.el.gz"} {
		for _, directed := range []bool{false, true} {
			r := loadPair(t, newKernels(t), realGraph(t, name, directed))
			flows(t, fmt.Sprintf("%s, directed %v", name, directed), r, sparseFacts(rng, r.Nodes()), i)
		}
	}
}

// The definitions of the flow graph of Aho, Lam, Sethi, Ullman, Compilers (2nd edition),
// figure 9.13, and the answer of figure 9.15: which of seven definitions reach each block.
func TestFlowSolvesTheReachingDefinitionsOfATextbook(t *testing.T) {
	const entry, b1, b2, b3, b4, exit = 0, 1, 2, 3, 4, 5
	d := func(definitions ...int) (set uint32) {
		for _, i := range definitions {
			set |= 1 << (i - 1)
		}
		return set
	}
	pair, err := graph.Build(graph.Edges{Nodes: 6, From: []uint32{entry, b1, b2, b2, b3, b4, b4}, To: []uint32{b1, b2, b3, b4, b4, b2, exit}},
		graph.Options{Directed: true})
	if err != nil {
		t.Fatal(err)
	}
	job := Job{Semiring: Flow,
		Gen:  []uint32{0, d(1, 2, 3), d(4, 5), d(6), d(7), 0},
		Kill: []uint32{0, d(4, 5, 6, 7), d(1, 2, 7), d(3), d(1, 4), 0},
	}
	want := []uint32{0, 0, d(1, 2, 3, 5, 6, 7), d(3, 4, 5, 6), d(3, 4, 5, 6), d(3, 5, 6, 7)}
	r := loadPair(t, newKernels(t), pair)
	for _, topology := range topologies {
		job.Topology = topology
		got, err := r.Run(context.Background(), job)
		if err != nil || !slices.Equal(got.Values, want) {
			t.Errorf("%v: %07b, want %07b (%v)", topology, got.Values, want, err)
		}
	}
}

func TestFlowNeedsTheMemoryOfItsFacts(t *testing.T) {
	r := load(t, newKernels(t), "path:100")
	reach, err := r.Needs(Job{Semiring: Reach})
	if err != nil {
		t.Fatal(err)
	}
	job := Job{Semiring: Flow, Gen: make([]uint32, 100)}
	flow, err := r.Needs(job)
	if err != nil || flow.Fixed != reach.Fixed+800 {
		t.Errorf("%d bytes, want 800 more than the %d of reachability (%v)", flow.Fixed, reach.Fixed, err)
	}
	got, err := r.Run(context.Background(), job)
	if err != nil || r.Kept() != got.Bytes {
		t.Errorf("%d bytes kept of %d, %v", r.Kept(), got.Bytes, err)
	}
	if begin, first := r.Begin(&job), got.Levels[0].View; begin != first {
		t.Errorf("begins with %+v, expected %+v", first, begin)
	}
	// A job without facts that comes after one with facts has none of them.
	if got, err := r.Run(context.Background(), Job{Semiring: Reach, Sources: []uint32{0}}); err != nil || got.Reached != 100 {
		t.Errorf("a job behind it: %+v, %v", got, err)
	}
}

func TestGenAndKillBelongToFlow(t *testing.T) {
	r := load(t, newKernels(t), "path:3")
	facts := make([]uint32, 3)
	for name, job := range map[string]Job{
		"gen of another semiring":  {Semiring: Reach, Gen: facts},
		"kill of another semiring": {Semiring: BFS, Kill: facts},
		"gen of fewer nodes":       {Semiring: Flow, Gen: facts[:2]},
		"kill of more nodes":       {Semiring: Flow, Kill: make([]uint32, 4)},
		"a source out of range":    {Semiring: Flow, Sources: []uint32{3}},
	} {
		if _, err := r.Run(context.Background(), job); !errors.Is(err, ErrJob) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.Run(context.Background(), Job{Semiring: Flow, Gen: facts, Topology: policy.TopologyDense}); err != nil {
		t.Error(err)
	}
}
