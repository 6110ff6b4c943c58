package kernel

import "ringmaster/ring"

// PackedMax is the most parts of a packed slot. A part is one operation: a nop, store, add,
// load or compare-swap with its arguments. The parts run in their order, all by one
// invocation; the slot's result is that of its last load or compare-swap. If any part would
// fault, the slot faults and none of them has run.
//
// The arguments of a packed slot are bytes, low byte of a word first: the number of parts,
// the number of argument words they share, then for each part its opcode and where among
// those words its own begin; padded to a whole word, and after it the shared argument words.
const PackedMax = 8

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
