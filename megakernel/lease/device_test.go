package lease

import (
	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
)

// slot is a slot of an opcode.
func slot(op kernel.Opcode, priority uint32, args ...uint32) ring.Slot {
	s := ring.Slot{Opcode: uint32(op), Priority: priority}
	copy(s.Args[:], args)
	return s
}
