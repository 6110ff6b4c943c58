package kernel

import (
	"errors"
	"fmt"

	"ringmaster/ring"
)

// PackedMax is the most parts of a packed slot.
const PackedMax = 8

// ErrPacked says that parts do not make a packed slot.
var ErrPacked = errors.New("malformed packed slot")

// Part is one of the operations of a packed slot: a nop, store, add, load or
// compare-swap with its arguments. The parts run in their order, all by one
// invocation; the slot's result is that of its last load or compare-swap. If
// any part would fault, the slot faults and none of them has run.
//
// The arguments of a packed slot are bytes, low byte of a word first: the number of
// parts, the number of argument words they share, then for each part its opcode and
// where among those words its own begin; padded to a whole word, and
// after it the shared argument words.
type Part struct {
	Opcode Opcode
	Args   []uint32 // as many as the opcode reads
}

// Pack is the arguments of a slot with the given parts. Parts whose arguments
// are the same words share them.
func Pack(parts ...Part) (args [ring.ArgWords]uint32, err error) {
	if len(parts) < 1 || len(parts) > PackedMax {
		return args, fmt.Errorf("%d parts, want 1..%d: %w", len(parts), PackedMax, ErrPacked)
	}
	var words []uint32
	var offsets []int
	for i, part := range parts {
		n, ok := part.Opcode.packable()
		if !ok || n != len(part.Args) {
			return args, fmt.Errorf("part %d is %s with %d arguments: %w", i, part.Opcode, len(part.Args), ErrPacked)
		}
		at := place(words, part.Args)
		words = append(words, part.Args[min(len(words)-at, n):]...)
		offsets = append(offsets, at)
	}
	head := packedHead(len(parts))
	if head+len(words) > ring.ArgWords {
		return args, fmt.Errorf("%d parts take %d words, a slot has %d: %w", len(parts), head+len(words), ring.ArgWords, ErrPacked)
	}
	set := func(at int, value uint32) { args[at/4] |= value << (at % 4 * 8) }
	set(0, uint32(len(parts)))
	set(1, uint32(len(words)))
	for i, part := range parts {
		set(2+2*i, uint32(part.Opcode))
		set(3+2*i, uint32(offsets[i]))
	}
	copy(args[head:], words)
	return args, nil
}

// place is the first offset at which args stand in words or could be
// continued behind them.
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

// packedHead is the words before the shared arguments of n parts.
func packedHead(n int) int { return (2 + 2*n + 3) / 4 }

// packedParts is the number of parts of a packed slot, or false if it is malformed.
func packedParts(a *[ring.ArgWords]uint32) (parts int, ok bool) {
	parts = int(a[0] & 0xFF)
	for i := range max(min(parts, PackedMax), 1) {
		if _, _, ok := packedPartAt(a, i); !ok {
			return 0, false
		}
	}
	return parts, true
}

// packedPart is a part's opcode and where among the shared words its own begin.
func packedPart(a *[ring.ArgWords]uint32, i int) (Opcode, int) {
	pair := a[(2+2*i)/4] >> ((2 + 2*i) % 4 * 8)
	return Opcode(pair & 0xFF), int(pair >> 8 & 0xFF)
}

// A packed slot is checked by the rows of its parts, which its own row cannot refer to.
func init() {
	rows[OpPacked].fault = func(a *args) ring.FaultCode {
		_, ok := packedParts(a)
		return faultIf(!ok, ring.FaultBadPacked)
	}
}

// PartsOf is the opcodes of the parts of a packed slot that CheckSlot accepts.
func PartsOf(s *ring.Slot) (set OpcodeSet) {
	parts, _ := packedParts(&s.Args)
	for i := range parts {
		op, _ := packedPart(&s.Args, i)
		set |= 1 << op
	}
	return set
}

// packedSteps is what a packed slot takes of the step budget.
func packedSteps(a *args) uint32 {
	parts, _ := packedParts(a)
	for i := range parts {
		if op, _ := packedPart(a, i); op.row().steps(a) > 0 {
			return 1
		}
	}
	return 0
}

// packable is how many arguments an opcode reads as a part of a packed slot, and whether
// it may be one.
func (o Opcode) packable() (args int, ok bool) {
	if packable.Has(o) {
		return len(o.row().operands), true
	}
	return 0, false
}
