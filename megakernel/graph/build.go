package graph

import (
	"fmt"
	"math/bits"
	"runtime"
	"sync"
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
	parts(len(e.From), func(_, first, end int) {
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

// Buckets of the first pass: enough that one fits a core's cache, few enough
// that a processor keeps an open line for each.
const (
	maxBuckets  = 1024
	bucketEdges = 1 << 14
)

// rows sorts the edges by tail and head: a stable pass into buckets of
// neighbouring tails, then each bucket in cache, and the rows are its result.
// With reverse, heads are tails.
func (e *Edges) rows(o Options, reverse bool) (*Graph, error) {
	s := sorter{from: e.From, to: e.To, weights: e.Weights, nodes: e.Nodes, options: o}
	if reverse {
		s.from, s.to = e.To, e.From
	}
	g := &Graph{Offsets: make([]uint32, int(e.Nodes)+1), IDs: e.IDs}
	s.degrees = g.Offsets[1:]
	s.partition()
	s.sortBuckets()
	total := 0
	for b := range s.kept {
		s.kept[b], total = total, total+s.kept[b]
	}
	if total > MaxEdges {
		return nil, fmt.Errorf("%w: %d edges", ErrTooLarge, total)
	}
	g.Targets = make([]uint32, total)
	if e.Weights != nil {
		g.Weights = make([]uint32, total)
	}
	s.gather(g, total)
	return g, nil
}

// sorter is the state of one rows.
type sorter struct {
	from, to, weights []uint32
	nodes             uint32
	options           Options
	shift             int // tails of a bucket agree above it

	keys    []uint64 // tail<<32 | head, bucket by bucket
	loads   []uint32 // weights of the keys; nil without
	starts  []int    // where buckets begin in keys, and the end
	kept    []int    // edges of a bucket that stay
	degrees []uint32 // by tail
}

// partition moves the edges into buckets, in the order in which they were given.
func (s *sorter) partition() {
	tailBits := bits.Len32(max(1, s.nodes) - 1)
	buckets := 1
	for buckets < maxBuckets && buckets*bucketEdges < len(s.from) && buckets < int(s.nodes) {
		buckets *= 2
	}
	s.shift = max(0, tailBits-bits.Len(uint(buckets-1)))
	workers := workersFor(len(s.from))
	counts := make([][maxBuckets]int, workers)
	parts(len(s.from), func(w, first, end int) {
		c := &counts[w]
		for i := first; i < end; i++ {
			u, v := s.from[i], s.to[i]
			if u == v && !s.options.Loops {
				continue
			}
			c[u>>s.shift]++
			if !s.options.Directed && u != v {
				c[v>>s.shift]++
			}
		}
	})
	s.starts = make([]int, buckets+1)
	total := 0
	for b := range buckets {
		s.starts[b] = total
		for w := range counts {
			counts[w][b], total = total, total+counts[w][b]
		}
	}
	s.starts[buckets] = total
	s.keys = make([]uint64, total)
	if s.weights != nil {
		s.loads = make([]uint32, total)
	}
	parts(len(s.from), func(w, first, end int) { s.scatter(&counts[w], first, end) })
}

// scatter places a part of the edges at the positions that next says.
func (s *sorter) scatter(next *[maxBuckets]int, first, end int) {
	for i := first; i < end; i++ {
		u, v := s.from[i], s.to[i]
		if u == v && !s.options.Loops {
			continue
		}
		at := next[u>>s.shift]
		next[u>>s.shift]++
		s.keys[at] = uint64(u)<<32 | uint64(v)
		if s.loads != nil {
			s.loads[at] = s.weights[i]
		}
		if s.options.Directed || u == v {
			continue
		}
		at = next[v>>s.shift]
		next[v>>s.shift]++
		s.keys[at] = uint64(v)<<32 | uint64(u)
		if s.loads != nil {
			s.loads[at] = s.weights[i]
		}
	}
}

// sortBuckets sorts each bucket, drops duplicates and counts degrees.
func (s *sorter) sortBuckets() {
	buckets := len(s.starts) - 1
	s.kept = make([]int, buckets)
	headBits := bits.Len32(max(1, s.nodes) - 1)
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(workersFor(len(s.keys)), buckets) {
		wait.Go(func() {
			var r radix
			for b := int(next.Add(1) - 1); b < buckets; b = int(next.Add(1) - 1) {
				keys := s.keys[s.starts[b]:s.starts[b+1]]
				var loads []uint32
				if s.loads != nil {
					loads = s.loads[s.starts[b]:s.starts[b+1]]
				}
				r.sort(keys, loads, headBits, s.shift)
				s.kept[b] = s.reduce(keys, loads)
			}
		})
	}
	wait.Wait()
}

// reduce drops the duplicates of sorted keys, counts degrees, and says how many are left.
func (s *sorter) reduce(keys []uint64, loads []uint32) int {
	n := 0
	for i, k := range keys {
		if !s.options.Duplicates && n > 0 && keys[n-1] == k {
			if loads != nil {
				loads[n-1] = min(loads[n-1], loads[i])
			}
			continue
		}
		keys[n] = k
		if loads != nil {
			loads[n] = loads[i]
		}
		n++
		s.degrees[k>>32]++
	}
	return n
}

// gather turns degrees into offsets and copies the edges that were kept. kept says where
// each bucket's edges begin.
func (s *sorter) gather(g *Graph, total int) {
	sum := uint32(0)
	for v := range g.Offsets {
		sum += g.Offsets[v]
		g.Offsets[v] = sum
	}
	buckets := len(s.kept)
	parts(buckets, func(_, first, end int) {
		for b := first; b < end; b++ {
			limit := total
			if b+1 < buckets {
				limit = s.kept[b+1]
			}
			targets := g.Targets[s.kept[b]:limit]
			for i, k := range s.keys[s.starts[b] : s.starts[b]+len(targets)] {
				targets[i] = uint32(k)
			}
			if g.Weights != nil {
				copy(g.Weights[s.kept[b]:limit], s.loads[s.starts[b]:])
			}
		}
	})
}

// workersFor is the number of goroutines that are worthwhile for n items.
func workersFor(n int) int {
	return max(1, min(runtime.GOMAXPROCS(0), 64, n/(1<<12)))
}

// parts calls fn for the parts of 0 to n-1, one goroutine each, and waits.
// Part w of two calls with the same n is the same.
func parts(n int, fn func(w, first, end int)) {
	workers := workersFor(n)
	if workers == 1 {
		fn(0, 0, n)
		return
	}
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() { fn(w, n*w/workers, n*(w+1)/workers) })
	}
	wait.Wait()
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
	parts(g.Nodes(), func(_, first, end int) {
		for v := first; v < end; v++ {
			row := from[g.Offsets[v]:g.Offsets[v+1]]
			for i := range row {
				row[i] = uint32(v)
			}
		}
	})
	return from
}
