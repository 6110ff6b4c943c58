package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"strings"
)

//go:embed data/ego-facebook.el.gz
var graphData []byte

// Graph is an undirected graph in compressed sparse rows: the neighbours of
// node n are Targets[Offsets[n]:Offsets[n+1]].
type Graph struct {
	Offsets []uint32
	Targets []uint32
}

// Nodes is the number of nodes.
func (g *Graph) Nodes() uint32 { return uint32(len(g.Offsets) - 1) }

// Edges is the number of undirected edges.
func (g *Graph) Edges() uint32 { return uint32(len(g.Targets) / 2) }

// Bytes is the size of the rows as they would lie in device memory.
func (g *Graph) Bytes() uint64 { return uint64(len(g.Offsets)+len(g.Targets)) * 4 }

func (g *Graph) degree(n uint32) uint64 { return uint64(g.Offsets[n+1] - g.Offsets[n]) }

// SocialGraph reads the bundled graph.
func SocialGraph() (*Graph, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(graphData))
	if err != nil {
		return nil, fmt.Errorf("trace: bundled graph: %w", err)
	}
	return readEdgeList(unzipped)
}

func readEdgeList(from io.Reader) (*Graph, error) {
	var edges [][2]uint32
	var nodes uint32
	lines := bufio.NewScanner(from)
	for number := 1; lines.Scan(); number++ {
		text := lines.Text()
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		var u, v uint32
		if _, err := fmt.Sscanf(text, "%d %d", &u, &v); err != nil {
			return nil, fmt.Errorf("trace: graph line %d: want two node ids, got %q", number, text)
		}
		edges = append(edges, [2]uint32{u, v})
		nodes = max(nodes, u+1, v+1)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("trace: graph: %w", err)
	}
	return buildRows(nodes, edges), nil
}

func buildRows(nodes uint32, edges [][2]uint32) *Graph {
	g := &Graph{Offsets: make([]uint32, nodes+1), Targets: make([]uint32, 2*len(edges))}
	for _, e := range edges {
		g.Offsets[e[0]+1]++
		g.Offsets[e[1]+1]++
	}
	for n := range nodes {
		g.Offsets[n+1] += g.Offsets[n]
	}
	next := append([]uint32(nil), g.Offsets...)
	for _, e := range edges {
		g.Targets[next[e[0]]] = e[1]
		g.Targets[next[e[1]]] = e[0]
		next[e[0]]++
		next[e[1]]++
	}
	return g
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
	graph    *Graph
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

// NewWalk starts at node 0.
func NewWalk(g *Graph) *Walk {
	w := &Walk{graph: g, reached: make([]bool, g.Nodes())}
	w.restart()
	return w
}

func (w *Walk) restart() {
	clear(w.reached)
	w.level, w.explored = 0, w.graph.degree(w.source)
	w.reached[w.source] = true
	w.current = append(w.current[:0], w.source)
}

// Next returns the current level and moves on to the next one.
func (w *Walk) Next() Frontier {
	if len(w.current) == 0 {
		w.source = (w.source + sourceStride) % w.graph.Nodes()
		w.restart()
	}
	f := Frontier{Level: w.level, Nodes: w.current}
	w.next = w.next[:0]
	for _, u := range w.current {
		f.OutDegreeSum += w.graph.degree(u)
	}
	f.Unexplored = uint64(len(w.graph.Targets)) - w.explored
	for _, u := range w.current {
		for _, v := range w.graph.Targets[w.graph.Offsets[u]:w.graph.Offsets[u+1]] {
			if !w.reached[v] {
				w.reached[v] = true
				w.explored += w.graph.degree(v)
				w.next = append(w.next, v)
			}
		}
	}
	w.current, w.next = w.next, w.current
	w.level++
	return f
}
