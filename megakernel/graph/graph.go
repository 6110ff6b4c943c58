package graph

import (
	"errors"
	"fmt"
	"slices"
)

// Unreached is the level, distance or label of a node that nothing reached.
const Unreached = 1<<32 - 1

// MaxNodes and MaxEdges bound a graph: a node's number and an edge's position
// fit 32 bits, and the highest value stays free for Unreached.
const (
	MaxNodes = 1<<32 - 2
	MaxEdges = 1<<32 - 2
)

// ErrTooLarge says that a graph has more nodes or edges than 32 bits number.
var ErrTooLarge = errors.New("graph: more nodes or edges than 32 bits number")

// ErrMalformed says that arrays or bytes do not describe a graph.
var ErrMalformed = errors.New("graph: malformed")

// Graph is a directed graph in compressed sparse row form.
type Graph struct {
	Offsets []uint32 // nodes+1 positions in Targets, ascending, from 0 to len(Targets)
	Targets []uint32 // heads of the edges, row by row; within a row ascending, and of equal ones the lightest first
	Weights []uint32 // of the edges, as Targets; nil: every edge weighs 1
	IDs     []uint64 // the file's names of the nodes, ascending; nil: the numbers themselves
}

// Nodes is the number of nodes.
func (g *Graph) Nodes() int { return max(0, len(g.Offsets)-1) }

// Edges is the number of directed edges: each undirected edge counts twice, an undirected self-loop once.
func (g *Graph) Edges() int { return len(g.Targets) }

// Out lists the heads of v's out-edges.
func (g *Graph) Out(v uint32) []uint32 { return g.Targets[g.Offsets[v]:g.Offsets[v+1]] }

// Degree is the number of v's out-edges.
func (g *Graph) Degree(v uint32) uint32 { return g.Offsets[v+1] - g.Offsets[v] }

// Weight is the weight of the edge at a position in Targets.
func (g *Graph) Weight(edge uint32) uint32 {
	if g.Weights == nil {
		return 1
	}
	return g.Weights[edge]
}

// ID is the file's name of node v.
func (g *Graph) ID(v uint32) uint64 {
	if g.IDs == nil {
		return uint64(v)
	}
	return g.IDs[v]
}

// Node finds the node that a file calls id.
func (g *Graph) Node(id uint64) (uint32, bool) {
	if g.IDs == nil {
		return uint32(id), id < uint64(g.Nodes())
	}
	v, ok := slices.BinarySearch(g.IDs, id)
	return uint32(v), ok
}

// Bytes is the size of the arrays that a traversal reads: offsets, targets and weights.
func (g *Graph) Bytes() uint64 {
	return 4 * (uint64(len(g.Offsets)) + uint64(len(g.Targets)) + uint64(len(g.Weights)))
}

// Check says whether the arrays describe a graph: offsets that ascend from 0 to
// the number of edges, targets that are nodes, weights for all edges or none,
// names in ascending order for all nodes or none.
func (g *Graph) Check() error {
	n, m := g.Nodes(), len(g.Targets)
	switch {
	case n > MaxNodes || m > MaxEdges:
		return fmt.Errorf("%w: %d nodes, %d edges", ErrTooLarge, n, m)
	case len(g.Offsets) == 0 && m > 0:
		return fmt.Errorf("%w: %d edges and no offsets", ErrMalformed, m)
	case g.Weights != nil && len(g.Weights) != m:
		return fmt.Errorf("%w: %d weights for %d edges", ErrMalformed, len(g.Weights), m)
	case g.IDs != nil && len(g.IDs) != n:
		return fmt.Errorf("%w: %d names for %d nodes", ErrMalformed, len(g.IDs), n)
	case len(g.Offsets) > 0 && (g.Offsets[0] != 0 || int64(g.Offsets[n]) != int64(m)):
		return fmt.Errorf("%w: offsets run from %d to %d for %d edges", ErrMalformed, g.Offsets[0], g.Offsets[n], m)
	}
	for v := range n {
		if g.Offsets[v] > g.Offsets[v+1] {
			return fmt.Errorf("%w: the offset of node %d is %d, that of the node behind it %d", ErrMalformed, v, g.Offsets[v], g.Offsets[v+1])
		}
	}
	for e, t := range g.Targets {
		if int64(t) >= int64(n) {
			return fmt.Errorf("%w: edge %d leads to node %d of %d", ErrMalformed, e, t, n)
		}
	}
	for v := 1; v < len(g.IDs); v++ {
		if g.IDs[v-1] >= g.IDs[v] {
			return fmt.Errorf("%w: node %d is called %d, the node behind it %d: names have to ascend", ErrMalformed, v-1, g.IDs[v-1], g.IDs[v])
		}
	}
	return nil
}

// Pair is a graph and its reverse. In an undirected graph they are the same.
type Pair struct {
	Out, In *Graph
}

// Directed says whether the reverse is another graph.
func (p Pair) Directed() bool { return p.Out != p.In }

// Edges is the number of edges as a person counts them: an undirected edge once.
func (p Pair) Edges() uint64 {
	return p.Traversed(func(uint32) bool { return true })
}

// Traversed counts the edges that leave the nodes for which reached is true, an
// undirected edge once. Over the nodes that a search reached, these are the
// traversed edges of its rate, as Graph500 and GAP count them.
func (p Pair) Traversed(reached func(v uint32) bool) uint64 {
	var entries, loops uint64
	for v := range uint32(p.Out.Nodes()) {
		if !reached(v) {
			continue
		}
		entries += uint64(p.Out.Degree(v))
		if !p.Directed() {
			for _, t := range p.Out.Out(v) {
				if t == v {
					loops++
				}
			}
		}
	}
	if p.Directed() {
		return entries
	}
	return (entries-loops)/2 + loops
}

// Bytes is the size of the arrays of both directions; an undirected graph counts once.
func (p Pair) Bytes() uint64 {
	if !p.Directed() {
		return p.Out.Bytes()
	}
	return p.Out.Bytes() + p.In.Bytes()
}
