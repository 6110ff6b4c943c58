package graph

import (
	"reflect"
	"slices"
	"testing"
)

// settle applies a rule to every edge until nothing changes: the algorithms as equations.
func settle(g *Graph, values []uint32, rule func(e, u, v uint32) uint32) []uint32 {
	for changed := true; changed; {
		changed = false
		for u := range uint32(g.Nodes()) {
			for e := g.Offsets[u]; e < g.Offsets[u+1]; e++ {
				if v := g.Targets[e]; rule(e, u, v) != values[v] {
					values[v], changed = rule(e, u, v), true
				}
			}
		}
	}
	return values
}

func TestReferencesSolveTheirEquations(t *testing.T) {
	for seed := range uint64(20) {
		e := randomEdges(60, 80, true, seed)
		for i := range e.Weights {
			if e.Weights[i] >>= 20; i%7 == 0 {
				e.Weights[i] = Unreached - 1 - e.Weights[i] // sums past the end
			}
		}
		p, err := Build(e, Options{Directed: true, Loops: true, Duplicates: true})
		if err != nil {
			t.Fatal(err)
		}
		g := p.Out
		from := func(source uint32) []uint32 {
			values := slices.Repeat([]uint32{Unreached}, g.Nodes())
			values[source] = 0
			return values
		}
		plus := func(a, b uint32) uint32 { return uint32(min(uint64(a)+uint64(b), Unreached)) }
		values := from(5)
		want := settle(g, values, func(_, u, v uint32) uint32 { return min(values[v], plus(values[u], 1)) })
		if got := BFS(g, 5); !slices.Equal(got, want) {
			t.Errorf("seed %d: levels %v, want %v", seed, got, want)
		}
		values = from(5)
		want = settle(g, values, func(e, u, v uint32) uint32 { return min(values[v], plus(values[u], g.Weight(e))) })
		if got := SSSP(g, 5); !slices.Equal(got, want) {
			t.Errorf("seed %d: distances %v, want %v", seed, got, want)
		}
		both, _ := Build(e, Options{})
		labels := make([]uint32, g.Nodes())
		for v := range labels {
			labels[v] = uint32(v)
		}
		want = settle(both.Out, labels, func(_, u, v uint32) uint32 { return min(labels[u], labels[v]) })
		if got := Components(p); !slices.Equal(got, want) {
			t.Errorf("seed %d: components %v, want %v", seed, got, want)
		}
		in, gen, kill := make([]uint32, 60), make([]uint32, 60), make([]uint32, 60)
		for v := range uint32(60) {
			in[v], gen[v], kill[v] = 1<<(v%32), uint32(mix(uint64(v)))&0x11, uint32(mix(uint64(v+99)))
		}
		values = slices.Clone(in)
		want = settle(g, values, func(_, u, v uint32) uint32 { return values[v] | values[u]&^kill[u] | gen[u] })
		if got := Flow(g, in, gen, kill); !slices.Equal(got, want) {
			t.Errorf("seed %d: flow %x, want %x", seed, got, want)
		}
	}
}

func TestReachTellsTheSourcesApart(t *testing.T) {
	e, _ := Path(5)
	p, _ := Build(e, Options{Directed: true})
	if got := Reach(p.Out, []uint32{1, 3, 1}); !reflect.DeepEqual(got, []uint32{0, 5, 5, 7, 7}) {
		t.Errorf("got %v", got)
	}
}
