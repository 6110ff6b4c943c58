package graph

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"
)

// naive builds rows with maps and a library sort.
func naive(e Edges, o Options, reverse bool) *Graph {
	type edge struct{ u, v, w uint32 }
	var all []edge
	add := func(u, v, w uint32) { all = append(all, edge{u, v, w}) }
	for i := range e.From {
		u, v, w := e.From[i], e.To[i], uint32(1)
		if reverse {
			u, v = v, u
		}
		if e.Weights != nil {
			w = e.Weights[i]
		}
		if u == v && !o.Loops {
			continue
		}
		add(u, v, w)
		if !o.Directed && u != v {
			add(v, u, w)
		}
	}
	slices.SortFunc(all, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.u, b.u), cmp.Compare(a.v, b.v), cmp.Compare(a.w, b.w))
	})
	if !o.Duplicates {
		var kept []edge
		for _, x := range all {
			if n := len(kept); n > 0 && kept[n-1].u == x.u && kept[n-1].v == x.v {
				kept[n-1].w = min(kept[n-1].w, x.w)
				continue
			}
			kept = append(kept, x)
		}
		all = kept
	}
	g := &Graph{Offsets: make([]uint32, e.Nodes+1), Targets: []uint32{}, IDs: e.IDs}
	if e.Weights != nil {
		g.Weights = []uint32{}
	}
	for _, x := range all {
		g.Offsets[x.u+1]++
		g.Targets = append(g.Targets, x.v)
		if e.Weights != nil {
			g.Weights = append(g.Weights, x.w)
		}
	}
	for v := range e.Nodes {
		g.Offsets[v+1] += g.Offsets[v]
	}
	return g
}

func randomEdges(nodes uint32, edges int, weighted bool, seed uint64) Edges {
	r := rand.New(rand.NewPCG(seed, 7))
	e := Edges{Nodes: nodes}
	for range edges {
		u, v := r.Uint32N(nodes), r.Uint32N(nodes)
		if r.IntN(8) == 0 {
			v = u
		}
		if r.IntN(4) == 0 {
			u = 0
		}
		e.From, e.To = append(e.From, u), append(e.To, v)
		if weighted {
			e.Weights = append(e.Weights, r.Uint32())
		}
	}
	return e
}

func TestBuildEqualsASortedList(t *testing.T) {
	sizes := []struct {
		nodes uint32
		edges int
	}{{1, 0}, {1, 5}, {2, 3}, {5, 40}, {1000, 100}, {300, 60_000}, {70_000, 90_000}}
	for i, size := range sizes {
		for _, weighted := range []bool{false, true} {
			e := randomEdges(size.nodes, size.edges, weighted, uint64(i))
			if e.Weights == nil && weighted {
				e.Weights = []uint32{}
			}
			for bits := range 8 {
				o := Options{Directed: bits&1 > 0, Loops: bits&2 > 0, Duplicates: bits&4 > 0}
				got, err := Build(e, o)
				if err != nil {
					t.Fatal(err)
				}
				if want := naive(e, o, false); !reflect.DeepEqual(got.Out, want) {
					t.Fatalf("%d nodes, %d edges, %+v, weights %t: out-edges differ from a sorted list", size.nodes, size.edges, o, weighted)
				}
				if want := naive(e, o, true); !reflect.DeepEqual(got.In, want) {
					t.Fatalf("%d nodes, %d edges, %+v, weights %t: in-edges differ from a sorted list", size.nodes, size.edges, o, weighted)
				}
				if err := got.Out.Check(); err != nil {
					t.Fatal(err)
				}
				if got.Directed() != o.Directed {
					t.Fatalf("directed %t, want %t", got.Directed(), o.Directed)
				}
				if both, err := Undirected(got); err != nil || o.Directed && !reflect.DeepEqual(both.Out, naive(e, Options{}, false)) {
					t.Fatalf("%+v: edges both ways are not the undirected graph (%v)", o, err)
				}
				back, err := Reverse(got.Out)
				if err != nil || !o.Duplicates && !reflect.DeepEqual(back, got.In) {
					t.Fatalf("%+v: the reverse is not the in-edges (%v)", o, err)
				}
			}
		}
	}
}

func TestBuildDoesNotDependOnTheNumberOfProcessors(t *testing.T) {
	e := randomEdges(5000, 100_000, true, 3)
	many, err := Build(e, Options{Duplicates: true})
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one, err := Build(e, Options{Duplicates: true})
	if err != nil || !reflect.DeepEqual(one, many) {
		t.Fatalf("one processor builds another graph (%v)", err)
	}
}

func TestBuildRefusesEdgesOutOfRange(t *testing.T) {
	for _, e := range []Edges{
		{Nodes: 3, From: []uint32{0, 3}, To: []uint32{1, 1}},
		{Nodes: 3, From: []uint32{0, 1}, To: []uint32{1, 3}},
		{Nodes: 0, From: []uint32{0}, To: []uint32{0}},
		{Nodes: 3, From: []uint32{0}},
		{Nodes: 3, From: []uint32{0}, To: []uint32{0}, Weights: []uint32{1, 2}},
		{Nodes: 3, IDs: []uint64{1}},
	} {
		if _, err := Build(e, Options{}); err == nil {
			t.Errorf("%+v was built", e)
		}
	}
}

func TestTraversedCountsAnUndirectedEdgeOnceAndALoopOnce(t *testing.T) {
	e := Edges{Nodes: 5, From: []uint32{0, 1, 1, 3}, To: []uint32{1, 1, 2, 4}}
	undirected, _ := Build(e, Options{Loops: true})
	directed, _ := Build(e, Options{Loops: true, Directed: true})
	reached := func(v uint32) bool { return v < 3 }
	if a, b := undirected.Traversed(reached), directed.Traversed(reached); a != 3 || b != 3 {
		t.Errorf("%d undirected and %d directed edges among nodes 0 to 2, want 3 and 3", a, b)
	}
	if undirected.Edges() != 4 || directed.Edges() != 4 {
		t.Errorf("%d and %d edges, want 4", undirected.Edges(), directed.Edges())
	}
}

func BenchmarkBuildKronecker20(b *testing.B) {
	e, err := Kronecker(20, 16, 1)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Build(e, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
