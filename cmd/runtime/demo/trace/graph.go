package trace

import (
	"bytes"
	_ "embed"
	"fmt"

	"ringmaster/megakernel/graph"
)

//go:embed data/ego-facebook.el.gz
var graphData []byte

// SocialGraph reads the bundled graph, which is undirected.
func SocialGraph() (graph.Pair, error) {
	g, _, err := graph.Read(bytes.NewReader(graphData), graph.Options{}, graph.Limits{})
	if err != nil {
		return graph.Pair{}, fmt.Errorf("trace: bundled graph: %w", err)
	}
	return g, nil
}

// Frontier is one level of a breadth-first search.
type Frontier struct {
	Level        int
	Nodes        []uint32 // valid until the next call of Walk.Next
	OutDegreeSum uint64   // edges leaving the frontier, each direction counted
	Unexplored   uint64   // edges leaving nodes that are not reached yet
}

// Walk yields breadth-first levels for ever: after the last level of one
// source it begins again at the next one.
type Walk struct {
	graph    *graph.Graph
	source   uint32
	level    int
	reached  []bool
	current  []uint32
	next     []uint32
	explored uint64
}

// sourceStride is odd and coprime to the bundled graph's 4,039 nodes (a prime
// is not needed), so that successive sources lie in different circles.
const sourceStride = 977

// NewWalk starts at node 0 of an undirected graph.
func NewWalk(g *graph.Graph) *Walk {
	w := &Walk{graph: g, reached: make([]bool, g.Nodes())}
	w.restart()
	return w
}

func (w *Walk) restart() {
	clear(w.reached)
	w.level, w.explored = 0, uint64(w.graph.Degree(w.source))
	w.reached[w.source] = true
	w.current = append(w.current[:0], w.source)
}

// Next returns the current level and moves on to the next one.
func (w *Walk) Next() Frontier {
	if len(w.current) == 0 {
		w.source = (w.source + sourceStride) % uint32(w.graph.Nodes())
		w.restart()
	}
	f := Frontier{Level: w.level, Nodes: w.current}
	w.next = w.next[:0]
	for _, u := range w.current {
		f.OutDegreeSum += uint64(w.graph.Degree(u))
	}
	f.Unexplored = uint64(w.graph.Edges()) - w.explored
	for _, u := range w.current {
		for _, v := range w.graph.Out(u) {
			if !w.reached[v] {
				w.reached[v] = true
				w.explored += uint64(w.graph.Degree(v))
				w.next = append(w.next, v)
			}
		}
	}
	w.current, w.next = w.next, w.current
	w.level++
	return f
}
