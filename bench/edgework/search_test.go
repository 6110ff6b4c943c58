package edgework

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// rows lists edges by their first vertex.
func rows(vertices int, edges [][2]uint32) Rows {
	r := Rows{Offsets: make([]uint32, vertices+1)}
	for v := range vertices {
		for _, e := range edges {
			if int(e[0]) == v {
				r.Targets = append(r.Targets, e[1])
			}
		}
		r.Offsets[v+1] = uint32(len(r.Targets))
	}
	return r
}

func turned(edges [][2]uint32) [][2]uint32 {
	out := make([][2]uint32, len(edges))
	for i, e := range edges {
		out[i] = [2]uint32{e[1], e[0]}
	}
	return out
}

// anyGraph has few vertices, so that loops, duplicates and vertices out of
// reach are common.
var anyGraph = rapid.Custom(func(t *rapid.T) (g struct {
	out, in Rows
	source  uint32
}) {
	n := rapid.IntRange(1, 70).Draw(t, "vertices")
	vertex := rapid.Uint32Range(0, uint32(n-1))
	edges := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2]uint32 {
		return [2]uint32{vertex.Draw(t, "from"), vertex.Draw(t, "to")}
	}), 0, 150).Draw(t, "edges")
	g.out, g.in, g.source = rows(n, edges), rows(n, turned(edges)), vertex.Draw(t, "source")
	return g
})

// pullNaively runs one pull: which vertices it reaches, and what it looks at.
func pullNaively(in Rows, depth []uint32, level uint32) (reached []uint32, looked uint64) {
	looked = uint64(len(depth)+63) / 64
	for v := range uint32(len(depth)) {
		if depth[v] != Unreached {
			continue
		}
		for _, u := range in.neighbours(v) {
			looked++
			if depth[u] == level {
				reached = append(reached, v)
				break
			}
		}
	}
	return reached, looked
}

// Both ways of walking a level lead to the same depths and look at what Search
// says they do.
func TestLevelsCountWhatEitherWalkLooksAt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := anyGraph.Draw(t, "graph")
		levels, depths, err := Search(g.out, g.in, g.source)
		if err != nil {
			t.Fatal(err)
		}
		depth := slices.Repeat([]uint32{Unreached}, g.out.Vertices())
		depth[g.source] = 0
		for i, l := range levels {
			var want Level
			for v, d := range depth {
				switch d {
				case uint32(i):
					want.Vertices++
					want.OutEdges += uint64(len(g.out.neighbours(uint32(v))))
				case Unreached:
					want.Unexplored += uint64(len(g.out.neighbours(uint32(v))))
				}
			}
			want.Push = want.OutEdges
			var reached []uint32
			reached, want.Pull = pullNaively(g.in, depth, uint32(i))
			if l != want {
				t.Fatalf("level %d is %+v, want %+v", i, l, want)
			}
			for _, v := range reached {
				depth[v] = uint32(i) + 1
			}
		}
		if !slices.Equal(depth, depths) {
			t.Fatalf("depths %v, by pulls %v", depths, depth)
		}
	})
}

func TestSearchRefusesWhatIsNoGraph(t *testing.T) {
	two := Rows{Offsets: []uint32{0, 1, 1}, Targets: []uint32{1}}
	if _, _, err := Search(two, two, 2); !errors.Is(err, ErrSource) {
		t.Errorf("source 2 of 2 vertices: %v", err)
	}
	if _, _, err := Search(two, Rows{Offsets: []uint32{0}}, 0); !errors.Is(err, ErrRows) {
		t.Errorf("rows of different numbers: %v", err)
	}
	if _, _, err := Search(Rows{}, Rows{}, 0); !errors.Is(err, ErrSource) {
		t.Errorf("source in an empty graph: %v", err)
	}
}
