package graph

// BFS is breadth-first search: the number of edges on a shortest way from source
// to each node, Unreached where there is none.
func BFS(g *Graph, source uint32) []uint32 {
	levels := make([]uint32, g.Nodes())
	for v := range levels {
		levels[v] = Unreached
	}
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
