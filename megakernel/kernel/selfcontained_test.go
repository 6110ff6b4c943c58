package kernel

import (
	"slices"
	"testing"

	"ringmaster/megakernel/userop"
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
	if !BuiltIn().SelfContained(of(blind...)) || !BuiltIn().SelfContained(nil) {
		t.Errorf("%v reads no heap", blind)
	}
	// Every other number does, or has a meaning that only a catalog knows.
	for op := range Opcode(64) {
		if slices.Contains(blind, op) {
			continue
		}
		if BuiltIn().SelfContained(of(OpStore, op, OpNop)) {
			t.Errorf("a batch with opcode %d counts as self-contained", op)
		}
	}
	catalog, err := NewCatalog([]userop.Opcode{{ID: 20, Name: "blind"}, {ID: 21, Name: "reader", Reads: true}})
	if err != nil {
		t.Fatal(err)
	}
	if !catalog.SelfContained(of(OpStore, 20)) || catalog.SelfContained(of(20, 21)) {
		t.Error("an operator's opcode counts by something else than whether it reads")
	}
	if BuiltIn().SelfContained(of(1 << 31)) {
		t.Error("a batch with an opcode that does not exist counts as self-contained")
	}
}
