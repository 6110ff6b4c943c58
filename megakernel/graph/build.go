package graph

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// Edges is a list of edges in any order.
type Edges struct {
	Nodes    uint32   // nodes are 0 to Nodes-1
	From, To []uint32 // of equal length
	Weights  []uint32 // nil: none
	IDs      []uint64 // the file's names of the nodes, ascending; nil: their numbers
}

// Options say how Build treats a list of edges.
type Options struct {
	Directed   bool // an edge leads from From to To only; otherwise both ways
	Loops      bool // keep edges from a node to itself; otherwise they are dropped
	Duplicates bool // keep edges that are there more than once; otherwise the one of least weight stays
}

// Build makes a graph and its reverse from a list of edges.
func Build(e Edges, o Options) (Pair, error) {
	if err := e.check(); err != nil {
		return Pair{}, err
	}
	out, err := e.rows(o, false)
	if err != nil {
		return Pair{}, err
	}
	if !o.Directed {
		return Pair{Out: out, In: out}, nil
	}
	in, err := e.rows(o, true)
	return Pair{Out: out, In: in}, err
}

func (e *Edges) check() error {
	switch {
	case e.Nodes > MaxNodes:
		return fmt.Errorf("%w: %d nodes", ErrTooLarge, e.Nodes)
	case len(e.From) != len(e.To):
		return fmt.Errorf("%w: %d tails and %d heads", ErrMalformed, len(e.From), len(e.To))
	case e.Weights != nil && len(e.Weights) != len(e.From):
		return fmt.Errorf("%w: %d weights for %d edges", ErrMalformed, len(e.Weights), len(e.From))
	case e.IDs != nil && len(e.IDs) != int(e.Nodes):
		return fmt.Errorf("%w: %d names for %d nodes", ErrMalformed, len(e.IDs), e.Nodes)
	}
	var bad atomic.Int64
	parts(len(e.From), func(first, end int) {
		from, to := e.From[first:end], e.To[first:end]
		for i := range from {
			if from[i] >= e.Nodes || to[i] >= e.Nodes {
				bad.Store(int64(first+i) + 1)
				return
			}
		}
	})
	if i := bad.Load(); i > 0 {
		return fmt.Errorf("%w: edge %d leads from node %d to node %d of %d", ErrMalformed, i-1, e.From[i-1], e.To[i-1], e.Nodes)
	}
	return nil
}

// Reverse reverses every edge.
func Reverse(g *Graph) (*Graph, error) {
	e := Edges{Nodes: uint32(g.Nodes()), From: tails(g), To: g.Targets, Weights: g.Weights, IDs: g.IDs}
	return e.rows(Options{Directed: true, Loops: true, Duplicates: true}, true)
}

// rows sorts the edges by tail, head and weight. With reverse, heads are tails.
func (e *Edges) rows(o Options, reverse bool) (*Graph, error) {
	from, to := e.From, e.To
	if reverse {
		from, to = to, from
	}
	directed := func(yield func(tail, key uint64) bool) {
		for i := range from {
			u, v, w := uint64(from[i]), uint64(to[i]), uint64(0)
			if u == v && !o.Loops {
				continue
			}
			if e.Weights != nil {
				w = uint64(e.Weights[i])
			}
			if !yield(u, v<<32|w) || !o.Directed && u != v && !yield(v, u<<32|w) {
				return
			}
		}
	}
	starts := make([]int, int(e.Nodes)+1) // of the rows in keys, and the end
	for tail := range directed {
		starts[tail+1]++
	}
	for v := range e.Nodes {
		starts[v+1] += starts[v]
	}
	keys, next := make([]uint64, starts[e.Nodes]), slices.Clone(starts)
	for tail, key := range directed {
		keys[next[tail]] = key
		next[tail]++
	}
	g := &Graph{Offsets: sortRows(keys, starts, o), IDs: e.IDs}
	total := uint64(0)
	for v := range e.Nodes {
		total += uint64(g.Offsets[v+1])
		g.Offsets[v+1] = uint32(total)
	}
	if total > MaxEdges {
		return nil, fmt.Errorf("%w: %d edges", ErrTooLarge, total)
	}
	g.takeKeys(keys, starts, e.Weights != nil)
	return g, nil
}

// sortRows sorts each row of keys, leaves out duplicates unless they are wanted, and returns how
// many are left of row v, at v+1.
func sortRows(keys []uint64, starts []int, o Options) (lengths []uint32) {
	lengths = make([]uint32, len(starts))
	parts(len(starts)-1, func(first, end int) {
		for v := first; v < end; v++ {
			row := keys[starts[v]:starts[v+1]]
			slices.Sort(row)
			if !o.Duplicates { // the lightest comes first and stays
				row = slices.CompactFunc(row, func(a, b uint64) bool { return a>>32 == b>>32 })
			}
			lengths[v+1] = uint32(len(row))
		}
	})
	return lengths
}

// takeKeys fills targets and weights, where offsets say how many of each row of keys there are.
func (g *Graph) takeKeys(keys []uint64, starts []int, weighted bool) {
	nodes := len(starts) - 1
	g.Targets = make([]uint32, g.Offsets[nodes])
	if weighted {
		g.Weights = make([]uint32, g.Offsets[nodes])
	}
	parts(nodes, func(first, end int) {
		for v := first; v < end; v++ {
			at := g.Offsets[v]
			for i, key := range keys[starts[v]:][:g.Offsets[v+1]-at] {
				g.Targets[int(at)+i] = uint32(key >> 32)
				if g.Weights != nil {
					g.Weights[int(at)+i] = uint32(key)
				}
			}
		}
	})
}

// Undirected makes every edge lead both ways. Loops and duplicates are dropped.
func Undirected(p Pair) (Pair, error) {
	if !p.Directed() {
		return p, nil
	}
	g := p.Out
	e := Edges{Nodes: uint32(g.Nodes()), From: tails(g), To: g.Targets, Weights: g.Weights, IDs: g.IDs}
	return Build(e, Options{})
}

// tails lists the tails of the edges, as Targets does the heads.
func tails(g *Graph) []uint32 {
	from := make([]uint32, len(g.Targets))
	parts(g.Nodes(), func(first, end int) {
		for v := first; v < end; v++ {
			row := from[g.Offsets[v]:g.Offsets[v+1]]
			for i := range row {
				row[i] = uint32(v)
			}
		}
	})
	return from
}
