package graph

import (
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func TestGeneratorsAreTheSameForASeedAndAnyNumberOfProcessors(t *testing.T) {
	for _, spec := range []string{"kronecker:12", "uniform:12:8", "grid:30x20", "path:9", "star:9"} {
		many, err := Generate(spec)
		if err != nil {
			t.Fatal(err)
		}
		before := runtime.GOMAXPROCS(1)
		one, _ := Generate(spec)
		runtime.GOMAXPROCS(before)
		if !reflect.DeepEqual(one, many) {
			t.Errorf("%s: one processor generates another graph", spec)
		}
	}
	a, _ := Kronecker(10, 16, 1)
	b, _ := Kronecker(10, 16, 2)
	if reflect.DeepEqual(a, b) {
		t.Error("two seeds generate one graph")
	}
}

// The expected share of edges whose tail's highest bit is 0 is A+B in each
// level; without the shuffle that shows in the numbers. With it, the shares of
// the quadrants show in how uneven degrees are: in a Kronecker graph of scale 14
// the node of most edges has several hundred, in a uniform one about 60.
func TestKroneckerGraphsHaveHubsAndUniformOnesHaveNone(t *testing.T) {
	most := func(spec string) uint32 {
		e, err := Generate(spec)
		if err != nil {
			t.Fatal(err)
		}
		g, err := Build(e, Options{})
		if err != nil {
			t.Fatal(err)
		}
		top := uint32(0)
		for v := range uint32(g.Out.Nodes()) {
			top = max(top, g.Out.Degree(v))
		}
		return top
	}
	if k, u := most("kronecker:14"), most("uniform:14"); k < 1000 || u > 80 {
		t.Errorf("most edges of a node: Kronecker %d, want over 1000; uniform %d, want under 80", k, u)
	}
}

func TestKroneckerQuadrantsHaveTheirShares(t *testing.T) {
	e, err := Kronecker(1, 1<<16, 5)
	if err != nil {
		t.Fatal(err)
	}
	// The larger of the two diagonal quadrants is A, the other one D, however nodes are shuffled.
	var count [4]int
	for i := range e.From {
		count[e.From[i]*2+e.To[i]]++
	}
	share := func(n int) float64 { return float64(n) / float64(len(e.From)) }
	a, d := share(max(count[0], count[3])), share(min(count[0], count[3]))
	for name, got := range map[string][2]float64{"A": {a, .57}, "B": {share(count[1]), .19}, "C": {share(count[2]), .19}, "D": {d, .05}} {
		if got[0] < got[1]-.005 || got[0] > got[1]+.005 {
			t.Errorf("quadrant %s has a share of %.3f, want %.2f", name, got[0], got[1])
		}
	}
}

func TestRegularGraphsHaveTheirEdges(t *testing.T) {
	for spec, want := range map[string][2]int{
		"grid:3x4": {12, 17}, "grid:1x1": {1, 0}, "path:5": {5, 4}, "path:1": {1, 0}, "path:0": {0, 0}, "star:6": {6, 5}, "star:0": {0, 0},
		"kronecker:0:4": {1, 4}, "uniform:3:2:9": {8, 16},
	} {
		e, err := Generate(spec)
		if err != nil || int(e.Nodes) != want[0] || len(e.From) != want[1] {
			t.Errorf("%s: %d nodes, %d edges (%v), want %d and %d", spec, e.Nodes, len(e.From), err, want[0], want[1])
		}
		if _, err := Build(e, Options{}); err != nil {
			t.Errorf("%s: %v", spec, err)
		}
	}
	grid, _ := Generate("grid:40x50")
	g, _ := Build(grid, Options{})
	levels := BFS(g.Out, 0)
	for v, level := range levels {
		if want := uint32(v%40 + v/40); level != want {
			t.Fatalf("node %d is at level %d of the grid, want %d", v, level, want)
		}
	}
}

func TestGenerateSaysWhatItUnderstands(t *testing.T) {
	for _, spec := range []string{"", "ring:5", "grid:5", "grid:5x5x5", "path:-1", "kronecker", "kronecker:", "kronecker:31", "kronecker:20:70000", "star:4294967295", "grid:100000x100000"} {
		_, err := Generate(spec)
		if err == nil {
			t.Errorf("%q was generated", spec)
		} else if !strings.Contains(err.Error(), "grid") && !strings.Contains(err.Error(), "32 bits") {
			t.Errorf("%q: the error does not help: %v", spec, err)
		}
	}
}

func TestWeighGivesBothDirectionsOneWeight(t *testing.T) {
	e := Edges{Nodes: 100}
	for u := range uint32(99) {
		e.From, e.To = append(e.From, u, u+1), append(e.To, u+1, u)
	}
	e.Weigh(10, 4)
	seen := map[uint32]bool{}
	for i := 0; i < len(e.From); i += 2 {
		if e.Weights[i] != e.Weights[i+1] || e.Weights[i] < 1 || e.Weights[i] > 10 {
			t.Fatalf("edge %d weighs %d, its reverse %d; want the same of 1 to 10", i, e.Weights[i], e.Weights[i+1])
		}
		seen[e.Weights[i]] = true
	}
	if len(seen) < 8 {
		t.Errorf("only %d different weights", len(seen))
	}
}

func BenchmarkGenerateKronecker20(b *testing.B) {
	for b.Loop() {
		if _, err := Kronecker(20, 16, 1); err != nil {
			b.Fatal(err)
		}
	}
}
