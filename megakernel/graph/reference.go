package graph

import (
	"container/heap"
	"slices"
)

// BFS is breadth-first search: the number of edges on a shortest path from source to
// each node, Unreached where there is none.
func BFS(g *Graph, source uint32) []uint32 {
	levels := slices.Repeat([]uint32{Unreached}, g.Nodes())
	levels[source] = 0
	frontier := []uint32{source}
	for level := uint32(1); len(frontier) > 0; level++ {
		var next []uint32
		for _, u := range frontier {
			for _, v := range g.Out(u) {
				if levels[v] == Unreached {
					levels[v] = level
					next = append(next, v)
				}
			}
		}
		frontier = next
	}
	return levels
}

// SSSP is shortest paths by Dijkstra's algorithm: the least sum of weights on a path
// from source to each node. A sum of Unreached or more is Unreached.
func SSSP(g *Graph, source uint32) []uint32 {
	distance := slices.Repeat([]uint32{Unreached}, g.Nodes())
	distance[source] = 0
	queue := &nearest{{node: source}}
	for queue.Len() > 0 {
		at := heap.Pop(queue).(reached)
		if at.distance > distance[at.node] {
			continue // a shorter way was found meanwhile
		}
		for e := g.Offsets[at.node]; e < g.Offsets[at.node+1]; e++ {
			sum := uint64(at.distance) + uint64(g.Weight(e))
			if v := g.Targets[e]; sum < uint64(distance[v]) {
				distance[v] = uint32(sum)
				heap.Push(queue, reached{v, uint32(sum)})
			}
		}
	}
	return distance
}

type reached struct{ node, distance uint32 }

// nearest is a heap of nodes by distance.
type nearest []reached

func (q nearest) Len() int           { return len(q) }
func (q nearest) Less(i, j int) bool { return q[i].distance < q[j].distance }
func (q nearest) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *nearest) Push(x any)        { *q = append(*q, x.(reached)) }
func (q *nearest) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// Components labels each node with the least node that it is connected with,
// whichever way the edges lead.
func Components(p Pair) []uint32 {
	labels := slices.Repeat([]uint32{Unreached}, p.Out.Nodes())
	for least := range uint32(len(labels)) {
		if labels[least] != Unreached {
			continue
		}
		labels[least] = least
		for stack := []uint32{least}; len(stack) > 0; {
			u := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, g := range []*Graph{p.Out, p.In} {
				for _, v := range g.Out(u) {
					if labels[v] == Unreached {
						labels[v] = least
						stack = append(stack, v)
					}
				}
			}
		}
	}
	return labels
}

// Reach is reachability from several sources at once: bit i modulo 32 of a
// node's value says that sources[i], or another of the same bit, reaches it.
func Reach(g *Graph, sources []uint32) []uint32 {
	in := make([]uint32, g.Nodes())
	for i, s := range sources {
		in[s] |= 1 << (i % 32)
	}
	return Flow(g, in, nil, nil)
}

// Flow solves a forward bit-vector dataflow problem whose join is a union: the least
// values for which
//
//	value[v] = in[v] | (value[u] &^ kill[u] | gen[u]) for every edge from u to v.
//
// gen and kill may be nil, which means zeros.
func Flow(g *Graph, in, gen, kill []uint32) []uint32 {
	values := slices.Clone(in)
	var work []uint32
	for v := range uint32(g.Nodes()) {
		work = append(work, v)
	}
	for len(work) > 0 {
		u := work[0]
		work = work[1:]
		leaves := values[u]
		if kill != nil {
			leaves &^= kill[u]
		}
		if gen != nil {
			leaves |= gen[u]
		}
		for _, v := range g.Out(u) {
			if values[v]|leaves != values[v] {
				values[v] |= leaves
				work = append(work, v)
			}
		}
	}
	return values
}
