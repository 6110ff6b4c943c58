package edgework

import (
	"errors"
	"fmt"
)

// Unreached is the depth of a vertex to which no path leads from the source.
const Unreached = ^uint32(0)

// ScanVertices is how many vertices one word of a pull's scan covers.
const ScanVertices = 64

// Errors of Search.
var (
	ErrRows   = errors.New("edgework: the rows of the two directions differ in number")
	ErrSource = errors.New("edgework: the source is no vertex")
)

// Rows are compressed sparse rows: the neighbours of vertex v are
// Targets[Offsets[v]:Offsets[v+1]]. Offsets has one entry more than there are
// vertices; offsets never fall and the last is the number of edges.
type Rows struct {
	Offsets []uint32
	Targets []uint32
}

// Vertices is the number of rows.
func (r Rows) Vertices() int { return max(len(r.Offsets)-1, 0) }

// Edges is the number of edges stored; an undirected edge is stored twice.
func (r Rows) Edges() uint64 { return uint64(len(r.Targets)) }

func (r Rows) degree(v uint32) uint64 { return uint64(r.Offsets[v+1] - r.Offsets[v]) }

func (r Rows) neighbours(v uint32) []uint32 { return r.Targets[r.Offsets[v]:r.Offsets[v+1]] }

// Level is one level of a search: what its telemetry says before it runs, and the
// cost of both ways to walk it.
type Level struct {
	Vertices   uint32 // in the frontier
	OutEdges   uint64 // edges that leave the frontier
	Unexplored uint64 // edges that leave vertices neither reached nor in the frontier
	Push       uint64 // edges looked at by a push, equal to OutEdges
	Pull       uint64 // edges and words of the scan looked at by a pull
}

// Search walks a graph from a source, and returns the levels from the source on and
// the depth of every vertex. For an undirected graph out and in are the same rows.
// The time is linear in vertices and edges, however many levels there are: an edge
// that enters a vertex of depth d comes from depth d-1 or deeper, so that every pull
// before level d-1 looks at all edges that enter the vertex, and the pull at level
// d-1 ends at the first from depth d-1.
//
// ErrRows and ErrSource are the only errors.
func Search(out, in Rows, source uint32) ([]Level, []uint32, error) {
	n := out.Vertices()
	if in.Vertices() != n {
		return nil, nil, fmt.Errorf("%w: %d out, %d in", ErrRows, n, in.Vertices())
	}
	if int64(source) >= int64(n) {
		return nil, nil, fmt.Errorf("%w: %d of %d", ErrSource, source, n)
	}
	levels, depth := push(out, source)
	countPulls(in, levels, depth)
	return levels, depth, nil
}

// push searches, and fills in everything except the cost of the pulls.
func push(out Rows, source uint32) ([]Level, []uint32) {
	depth := make([]uint32, out.Vertices())
	for v := range depth {
		depth[v] = Unreached
	}
	depth[source] = 0
	unexplored := out.Edges()
	var levels []Level
	var next []uint32
	for frontier := []uint32{source}; len(frontier) > 0; frontier, next = next, frontier[:0] {
		l := Level{Vertices: uint32(len(frontier))}
		d := uint32(len(levels)) + 1
		for _, v := range frontier {
			l.OutEdges += out.degree(v)
			for _, u := range out.neighbours(v) {
				if depth[u] == Unreached {
					depth[u] = d
					next = append(next, u)
				}
			}
		}
		unexplored -= l.OutEdges
		l.Unexplored, l.Push = unexplored, l.OutEdges
		levels = append(levels, l)
	}
	return levels, depth
}

// countPulls fills in what pulling costs at every level.
func countPulls(in Rows, levels []Level, depth []uint32) {
	// ends[d] counts the edges into depth d at which the pull that reaches it looks,
	// whole[d] all edges that enter depth d, at which each earlier pull looks.
	ends, whole := make([]uint64, len(levels)), make([]uint64, len(levels))
	var never uint64
	for v, d := range depth {
		switch {
		case d == Unreached:
			never += in.degree(uint32(v))
		case d > 0:
			whole[d] += in.degree(uint32(v))
			ends[d] += firstParent(in.neighbours(uint32(v)), depth, d-1)
		}
	}
	deeper := never
	scan := uint64(len(depth)+ScanVertices-1) / ScanVertices
	for l := len(levels) - 1; l >= 0; l-- {
		levels[l].Pull = scan + deeper
		if l+1 < len(levels) {
			levels[l].Pull += ends[l+1]
			deeper += whole[l+1] // for the pulls before this one
		}
	}
}

// firstParent is the number of sources looked at up to the first of depth d.
func firstParent(sources, depth []uint32, d uint32) uint64 {
	for i, u := range sources {
		if depth[u] == d {
			return uint64(i) + 1
		}
	}
	return uint64(len(sources))
}
