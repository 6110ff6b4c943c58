package graph

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync/atomic"
)

// dense numbers the nodes of a text in the order of their names and makes a list of its edges.
func dense(pieces []*piece) (Edges, error) {
	most, ends := uint64(0), 0
	for _, p := range pieces {
		ends += len(p.ends)
		for _, id := range p.ends {
			most = max(most, id)
		}
	}
	if ends == 0 {
		return Edges{}, nil
	}
	var ids []uint64
	var index func(uint64) uint32
	if most < 2*uint64(ends)+1024 {
		ids, index = ranked(pieces, most)
	} else {
		ids, index = hashed(pieces)
	}
	if len(ids) > MaxNodes {
		return Edges{}, fmt.Errorf("%w: %d nodes", ErrTooLarge, len(ids))
	}
	e := join(pieces, index)
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

// ranked numbers names up to most, of which there are not many more than names
// that occur: a bit for each, and a name's number is the number of bits below it.
func ranked(pieces []*piece, most uint64) ([]uint64, func(uint64) uint32) {
	set := make([]uint64, most/64+1)
	parallel(len(pieces), func(i int) {
		for _, id := range pieces[i].ends {
			bit := uint64(1) << (id % 64)
			if atomic.LoadUint64(&set[id/64])&bit == 0 {
				atomic.OrUint64(&set[id/64], bit)
			}
		}
	})
	below := make([]uint32, len(set))
	count := 0
	for w := range set {
		below[w] = uint32(count)
		count += bits.OnesCount64(set[w])
	}
	ids := make([]uint64, 0, count)
	for w, rest := range set {
		for ; rest != 0; rest &= rest - 1 {
			ids = append(ids, uint64(w)*64+uint64(bits.TrailingZeros64(rest)))
		}
	}
	return ids, func(id uint64) uint32 {
		return below[id/64] + uint32(bits.OnesCount64(set[id/64]&(1<<(id%64)-1)))
	}
}

// hashed numbers any names. It sorts them and finds them again through a hash table with
// a random seed, so that no file can make them collide.
func hashed(pieces []*piece) ([]uint64, func(uint64) uint32) {
	sorted := make([][]uint64, len(pieces))
	parallel(len(pieces), func(i int) {
		sorted[i] = slices.Clone(pieces[i].ends)
		slices.Sort(sorted[i])
		sorted[i] = slices.Clip(slices.Compact(sorted[i]))
	})
	for len(sorted) > 1 {
		half := make([][]uint64, (len(sorted)+1)/2)
		parallel(len(half), func(i int) {
			half[i] = sorted[2*i]
			if 2*i+1 < len(sorted) {
				half[i] = union(sorted[2*i], sorted[2*i+1])
			}
		})
		sorted = half
	}
	ids := sorted[0]
	seed, mask := rand.Uint64(), uint64(1)<<bits.Len(uint(2*len(ids)))-1
	table := make([]uint32, mask+1) // number + 1
	for i, id := range ids {
		at := mix(id^seed) & mask
		for table[at] != 0 {
			at = (at + 1) & mask
		}
		table[at] = uint32(i) + 1
	}
	return ids, func(id uint64) uint32 {
		at := mix(id^seed) & mask
		for ids[table[at]-1] != id {
			at = (at + 1) & mask
		}
		return table[at] - 1
	}
}

// union merges two ascending lists without repeats.
func union(a, b []uint64) []uint64 {
	all := make([]uint64, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		least := min(a[0], b[0])
		all = append(all, least)
		if a[0] == least {
			a = a[1:]
		}
		if b[0] == least {
			b = b[1:]
		}
	}
	return append(append(all, a...), b...)
}
