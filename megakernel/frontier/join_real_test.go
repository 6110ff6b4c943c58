//go:build cgo

package frontier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
)

// restatedJoins say the same as built-in algorithms.
var restatedJoins = []struct {
	name, kind, seed, body string
	semiring               Semiring
	want                   func(p graph.Pair, sources []uint32) []uint32
}{
	{"hops", "min", "0", "result(value + 1u);", BFS, func(p graph.Pair, s []uint32) []uint32 { return graph.BFS(p.Out, s[0]) }},
	{"sums", "min", "0", "uint carry = 0u;\nuint sum = uaddCarry(value, weight, carry);\nresult(carry != 0u ? 0xFFFFFFFFu : sum);", ShortestPath,
		func(p graph.Pair, s []uint32) []uint32 { return graph.SSSP(p.Out, s[0]) }},
	{"bits", "or", "0", "result(value);", Reach, func(p graph.Pair, s []uint32) []uint32 { return graph.Reach(p.Out, s) }},
}

// weigh gives edges weights of 1 to 64 that depend on their ends alone, so that both ways weigh the same.
func weigh(p graph.Pair) graph.Pair {
	for _, g := range []*graph.Graph{p.Out, p.In} {
		g.Weights = make([]uint32, g.Edges())
		for u := range uint32(g.Nodes()) {
			for e := g.Offsets[u]; e < g.Offsets[u+1]; e++ {
				g.Weights[e] = (u^g.Targets[e])*2654435761>>26 + 1
			}
		}
	}
	return p
}

// A join that restates a built-in algorithm gives the algorithm's result, which is that of plain Go, on
// every bundled graph in every topology, and solves its own equations.
func TestJoinsThatRestateAlgorithmsEqualThemOnRealGraphs(t *testing.T) {
	k := newKernels(t)
	for _, c := range []struct {
		file     string
		directed bool
		sources  []uint32
	}{
		{"ego-facebook.el.gz", false, []uint32{0, 107, 4038}},
		{"ego-facebook.el.gz", true, []uint32{107}},
		{"as-caida.el.gz", true, []uint32{5, 26000}},
		{"as-caida.el.gz", false, []uint32{0, 3446, 26474}},
	} {
		r := loadPair(t, k, weigh(realGraph(t, c.file, c.directed)))
		for i, j := range restatedJoins {
			sources, seeds := c.sources, []uint32(nil)
			if j.semiring == Reach {
				for i := range sources {
					seeds = append(seeds, 1<<i)
				}
			} else {
				sources = sources[:1]
			}
			want := j.want(r.pair, sources)
			join := parseJoin(t, j.name, j.kind, j.seed, j.body)
			for n, topology := range topologies {
				if (i+n)%2 == 0 == c.directed {
					continue // on each file every join runs in every topology, in one of its two directions
				}
				name := fmt.Sprintf("%s, directed %v, %s, %v", c.file, c.directed, j.name, topology)
				builtIn, err := r.Run(context.Background(), Job{Semiring: j.semiring, Sources: sources, Topology: topology})
				if err != nil || !slices.Equal(builtIn.Values, want) {
					t.Errorf("%s: the built-in algorithm is wrong: %v", name, err)
				}
				job := Job{Semiring: User, Join: join, Sources: sources, Seeds: seeds, Topology: topology}
				got, err := r.Run(context.Background(), job)
				if err != nil || !slices.Equal(got.Values, want) || got.Reached != builtIn.Reached {
					t.Errorf("%s: %d reached, want %d (%v)", name, got.Reached, builtIn.Reached, err)
				}
				job.From = got.Values
				if again, err := r.Run(context.Background(), job); err != nil || !slices.Equal(again.Values, want) {
					t.Errorf("%s: the outcome does not solve its equations (%v)", name, err)
				}
			}
		}
	}
}

func TestWhatIsNoOutcomeOfAJoinDoesNotSolveItsEquations(t *testing.T) {
	pair := weigh(realGraph(t, "ego-facebook.el.gz", true))
	{
		r := loadPair(t, newKernels(t), pair)
		job := Job{Semiring: User, Join: parseJoin(t, "sums", "min", "0", restatedJoins[1].body), Sources: []uint32{107}}
		got, err := r.Run(context.Background(), job)
		if err != nil {
			t.Fatal(err)
		}
		last := slices.IndexFunc(got.Values, func(v uint32) bool { return v > 1 && v != Unreached })
		for what, value := range map[string]uint32{"better than what arrives": got.Values[last] - 1, "worse than what arrives": got.Values[last] + 1, "nothing": Unreached} {
			job.From = slices.Clone(got.Values)
			job.From[last] = value
			for _, topology := range []policy.Topology{policy.TopologySparse, policy.TopologyDense} {
				job.Topology = topology
				again, err := r.Run(context.Background(), job)
				if err != nil || again.Values[last] != got.Values[last] || slices.Equal(again.Values, job.From) {
					t.Errorf("%v: a value %s comes out as %d, want %d (%v)", topology, what, again.Values[last], got.Values[last], err)
				}
			}
		}
	}
}

// Nodes at which nothing arrived send nothing, whatever the body would make of their value.
func TestEquationsLeaveOutNodesThatNothingArrivedAt(t *testing.T) {
	pair, err := graph.Build(graph.Edges{Nodes: 4, From: []uint32{0, 2}, To: []uint32{1, 3}}, graph.Options{Directed: true})
	if err != nil {
		t.Fatal(err)
	}
	r := loadPair(t, newKernels(t), pair)
	job := Job{Semiring: User, Join: parseJoin(t, "wraps", "min", "7", "result(value + 1u);"), Sources: []uint32{0}}
	for _, topology := range topologies {
		job.Topology, job.From = topology, []uint32{7, 8, Unreached, Unreached}
		if got, err := r.Run(context.Background(), job); err != nil || !slices.Equal(got.Values, job.From) {
			t.Errorf("%v: %v, %v", topology, got.Values, err)
		}
	}
}

// With a join by which a better value extends to a worse one the result depends on the order of arrivals.
func TestAJoinWhoseOutcomeDependsOnTheOrderDoesNotSolveItsEquations(t *testing.T) {
	pair, err := graph.Build(graph.Edges{Nodes: 4, From: []uint32{0, 0, 1, 2}, To: []uint32{1, 2, 2, 3}}, graph.Options{Directed: true})
	if err != nil {
		t.Fatal(err)
	}
	r := loadPair(t, newKernels(t), pair)
	job := Job{Semiring: User, Join: parseJoin(t, "turns", "min", "0", "result(value < 5u ? 9u : 1u);"), Sources: []uint32{0}, Topology: policy.TopologySparse}
	got, err := r.Run(context.Background(), job)
	if want := []uint32{0, 9, 1, 1}; err != nil || !slices.Equal(got.Values, want) {
		t.Fatalf("%v, want %v (%v)", got.Values, want, err)
	}
	job.From = got.Values
	if again, err := r.Run(context.Background(), job); err != nil || !slices.Equal(again.Values, []uint32{0, 9, 1, 9}) {
		t.Errorf("%v, %v", again.Values, err)
	}
}

func TestValuesToBeginFromBelongToJoins(t *testing.T) {
	r := load(t, newKernels(t), "path:3")
	join := parseJoin(t, "hops", "min", "0", "result(value + 1u);")
	for name, job := range map[string]Job{
		"of another semiring": {Semiring: Reach, From: make([]uint32, 3)},
		"of fewer nodes":      {Semiring: User, Join: join, From: make([]uint32, 2)},
	} {
		if _, err := r.Run(context.Background(), job); !errors.Is(err, ErrJob) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
