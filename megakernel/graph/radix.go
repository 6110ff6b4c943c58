package graph

// radixBits is the width of a pass of the radix sort.
const radixBits = 11

// radix sorts keys within a cache; it keeps its scratch memory between calls.
type radix struct {
	keys  []uint64
	loads []uint32
}

// sort sorts keys, and loads with them, by the low headBits bits of their lower
// half and the low tailBits bits of their upper half; it is stable.
func (r *radix) sort(keys []uint64, loads []uint32, headBits, tailBits int) {
	if len(keys) < 2 {
		return
	}
	if len(r.keys) < len(keys) {
		r.keys = make([]uint64, len(keys)*5/4)
		if loads != nil {
			r.loads = make([]uint32, len(r.keys))
		}
	}
	a, b := keys, r.keys[:len(keys)]
	la, lb := loads, loads
	if loads != nil {
		lb = r.loads[:len(keys)]
	}
	pass := func(shift, width int) {
		radixPass(a, b, la, lb, shift, width)
		a, b, la, lb = b, a, lb, la
	}
	for shift := 0; shift < headBits; shift += radixBits {
		pass(shift, min(radixBits, headBits-shift))
	}
	for shift := 0; shift < tailBits; shift += radixBits {
		pass(32+shift, min(radixBits, tailBits-shift))
	}
	if &a[0] != &keys[0] {
		copy(keys, a)
		copy(loads, la)
	}
}

func radixPass(from, to []uint64, loadsFrom, loadsTo []uint32, shift, width int) {
	var count [1 << radixBits]int
	mask := uint64(1)<<width - 1
	for _, k := range from {
		count[k>>shift&mask]++
	}
	at := 0
	for d := range mask + 1 {
		count[d], at = at, at+count[d]
	}
	if loadsFrom == nil {
		for _, k := range from {
			d := k >> shift & mask
			to[count[d]] = k
			count[d]++
		}
		return
	}
	for i, k := range from {
		d := k >> shift & mask
		to[count[d]], loadsTo[count[d]] = k, loadsFrom[i]
		count[d]++
	}
}
