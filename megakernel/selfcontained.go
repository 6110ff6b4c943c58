package megakernel

import "ringmaster/ring"

// selfContained tells whether running a batch again, on a heap of zeros, does
// what it would have done: whether no slot of it reads the heap. Then it can run
// again as a whole after the device's memory was lost; otherwise what it read, or
// would have read, is gone with the memory.
//
// The rule goes by opcodes only. A batch that reads only words which it wrote itself
// before a fence would be self-contained too, but counts as dependent: its submitter can
// handle a failure, but not a result computed from other contents. A packed slot counts
// as a reader, whatever its parts, and so does an operator's opcode whose body uses an
// accessor that returns a word of the window.
func (c *Catalog) selfContained(slots []ring.Slot) bool {
	for i := range slots {
		switch op := Opcode(slots[i].Opcode); op {
		case OpNop, OpStore, OpFault, OpFence, OpPrint, OpYield:
		default:
			if u := c.userOpcode(op); u == nil || u.Reads {
				return false
			}
		}
	}
	return true
}
