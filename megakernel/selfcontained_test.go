package megakernel

import (
	"slices"
	"testing"

	"ringmaster/ring"
)

func TestOnlyBatchesThatDoNotReadTheHeapAreSelfContained(t *testing.T) {
	of := func(ops ...Opcode) (slots []ring.Slot) {
		for _, op := range ops {
			slots = append(slots, ring.Slot{Opcode: uint32(op)})
		}
		return slots
	}
	blind := []Opcode{OpNop, OpStore, OpFault, OpFence, OpPrint, OpYield}
	if !selfContained(of(blind...)) || !selfContained(nil) {
		t.Errorf("%v reads no heap", blind)
	}
	// Every other number does, or has a meaning that only a catalog knows.
	for op := range Opcode(64) {
		if slices.Contains(blind, op) {
			continue
		}
		if selfContained(of(OpStore, op, OpNop)) {
			t.Errorf("a batch with opcode %d counts as self-contained", op)
		}
	}
	if selfContained(of(1 << 31)) {
		t.Error("a batch with an opcode that does not exist counts as self-contained")
	}
}
