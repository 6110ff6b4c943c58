package megakernel

import (
	"testing"

	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
)

func TestFencesAndFaultsAreNeverHot(t *testing.T) {
	c := kernel.BuiltIn()
	var p promotion
	for _, step := range []struct {
		counts map[kernel.Opcode]uint32
		want   kernel.OpcodeSet
	}{
		{map[kernel.Opcode]uint32{kernel.OpAdd: 700, kernel.OpStore: 280, kernel.OpCopy: 20}, kernel.NewOpcodeSet(kernel.OpAdd, kernel.OpStore)},
		{map[kernel.Opcode]uint32{kernel.OpFence: 1000, kernel.OpFault: 1000}, 0},
	} {
		var counts [ring.OpcodeBins]uint32
		for op, n := range step.counts {
			counts[op] = n
		}
		for range 100 {
			p.settle(c, &counts)
		}
		if p.hot() != step.want {
			t.Errorf("%v: hot %x, want %x", step.counts, p.hot(), step.want)
		}
	}
}
