package megakernel

import "ringmaster/ring"

// selfContained tells whether running a batch again, on a heap of zeros, does
// what it would have done: whether no slot of it reads the heap. Then it can run
// again as a whole after the device's memory was lost; otherwise what it read, or
// would have read, is gone with the memory.
//
// The rule goes by the opcode alone. A batch that reads only words which it wrote
// itself before a fence would be self-contained too, and is taken for dependent:
// failing it is honest, running it again on other contents is not. Operators'
// opcodes count as readers, and so does a packed slot, whatever its parts.
func selfContained(slots []ring.Slot) bool {
	for i := range slots {
		switch Opcode(slots[i].Opcode) {
		case OpNop, OpStore, OpFault, OpFence, OpPrint, OpYield:
		default:
			return false
		}
	}
	return true
}
