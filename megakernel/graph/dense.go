package graph

import (
	"fmt"
	"maps"
	"slices"
)

// dense numbers the nodes of a text in the order of their names and makes a list of its edges.
func dense(pieces []*piece) (Edges, error) {
	numbers := make(map[uint64]uint32)
	for _, p := range pieces {
		for _, id := range p.ends {
			numbers[id] = 0
		}
	}
	if len(numbers) == 0 {
		return Edges{}, nil
	}
	ids := slices.Sorted(maps.Keys(numbers))
	for v, id := range ids {
		numbers[id] = uint32(v)
	}
	if len(ids) > MaxNodes {
		return Edges{}, fmt.Errorf("%w: %d nodes", ErrTooLarge, len(ids))
	}
	e := join(pieces, func(id uint64) uint32 { return numbers[id] })
	e.Nodes = uint32(len(ids))
	if ids[len(ids)-1] != uint64(len(ids)-1) {
		e.IDs = ids // else they are 0 to n-1
	}
	return e, nil
}

// join makes one list from the pieces, and releases them as it goes.
func join(pieces []*piece, index func(uint64) uint32) Edges {
	starts := make([]int, len(pieces)+1)
	weighed := false
	for i, p := range pieces {
		starts[i+1] = starts[i] + len(p.ends)/2
		weighed = weighed || p.weighed
	}
	edges := starts[len(pieces)]
	e := Edges{From: make([]uint32, edges), To: make([]uint32, edges)}
	if weighed {
		e.Weights = make([]uint32, edges)
	}
	parallel(len(pieces), func(i int) {
		from, to := e.From[starts[i]:starts[i+1]], e.To[starts[i]:starts[i+1]]
		for j := range from {
			from[j], to[j] = index(pieces[i].ends[2*j]), index(pieces[i].ends[2*j+1])
		}
		if weighed {
			copy(e.Weights[starts[i]:starts[i+1]], pieces[i].weights)
		}
		pieces[i] = nil
	})
	return e
}
