package kerneltest

import "ringmaster/ring"

// Part is an operation of a packed slot: its opcode and its arguments.
type Part struct {
	Opcode uint32
	Args   []uint32
}

// Pack is the arguments of a slot with the given parts, and whether a slot has room for
// them. Parts whose arguments are the same words share them. It packs whatever it is
// given, also what a kernel refuses.
func Pack(parts ...Part) (args [ring.ArgWords]uint32, ok bool) {
	var words []uint32
	var offsets []int
	for _, part := range parts {
		at := place(words, part.Args)
		words = append(words, part.Args[min(len(words)-at, len(part.Args)):]...)
		offsets = append(offsets, at)
	}
	head := (2 + 2*len(parts) + 3) / 4 // words before the shared arguments
	if head+len(words) > ring.ArgWords {
		return args, false
	}
	set := func(at int, value uint32) { args[at/4] |= value << (at % 4 * 8) }
	set(0, uint32(len(parts)))
	set(1, uint32(len(words)))
	for i, part := range parts {
		set(2+2*i, part.Opcode)
		set(3+2*i, uint32(offsets[i]))
	}
	copy(args[head:], words)
	return args, true
}

// place is the first offset at which args stand in words or could be continued behind them.
func place(words, args []uint32) int {
	for at := range words {
		n := min(len(words)-at, len(args))
		same := true
		for i := range n {
			same = same && words[at+i] == args[i]
		}
		if same {
			return at
		}
	}
	return len(words)
}
