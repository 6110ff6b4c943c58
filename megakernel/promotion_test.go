package megakernel

import (
	"testing"

	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
)

func TestHotOpcodesAreThoseWithTheShare(t *testing.T) {
	cfg := promotionConfig(kernel.BuiltIn())
	var p promotion
	if p.hot() != 0 {
		t.Errorf("before anything ran: %x", p.hot())
	}
	var counts [ring.OpcodeBins]uint32
	counts[kernel.OpAdd], counts[kernel.OpStore], counts[kernel.OpCopy] = 700, 280, 20
	for range cfg.MinDwell {
		p.settle(cfg, &counts)
	}
	if p.hot() != kernel.NewOpcodeSet(kernel.OpAdd, kernel.OpStore) {
		t.Errorf("hot %x", p.hot())
	}
}

func TestFencesAndFaultsAreNeverHot(t *testing.T) {
	cfg := promotionConfig(kernel.BuiltIn())
	var p promotion
	var counts [ring.OpcodeBins]uint32
	counts[kernel.OpFence], counts[kernel.OpFault] = 1000, 1000
	for range 100 {
		p.settle(cfg, &counts)
	}
	if p.hot() != 0 {
		t.Errorf("hot set %x", p.hot())
	}
}
