package megakernel

import (
	"testing"

	"ringmaster/megakernel/kernelcache/hotset"
	"ringmaster/ring"
)

func TestHotOpcodesAreThoseWithTheShare(t *testing.T) {
	cfg := promotionConfig(BuiltIn())
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	var p promotion
	if p.hot() != 0 {
		t.Errorf("before anything ran: %x", p.hot())
	}
	var counts [ring.OpcodeBins]uint32
	counts[OpAdd], counts[OpStore], counts[OpCopy] = 700, 280, 20
	for range cfg.MinDwell {
		p.settle(cfg, &counts, nil)
	}
	if p.hot() != NewOpcodeSet(OpAdd, OpStore) {
		t.Errorf("hot %x", p.hot())
	}
}

func TestFencesAndFaultsAreNeverHot(t *testing.T) {
	cfg := promotionConfig(BuiltIn())
	var p promotion
	var counts [ring.OpcodeBins]uint32
	counts[OpFence], counts[OpFault] = 1000, 1000
	for range 100 {
		p.settle(cfg, &counts, nil)
	}
	if p.decision.Set != 0 {
		t.Errorf("hot set %x", p.decision.Set)
	}
}

// TestRoutesGroupSlotsByTenantTicketAndOpcode: equal tickets of different tenants are
// different windows.
func TestRoutesGroupSlotsByTenantTicketAndOpcode(t *testing.T) {
	var r routes
	for range 2 { // the second launch has the same and nothing of the first
		r.begin()
		for _, s := range []struct {
			tenant, ticket, ahead uint32
			op                    Opcode
		}{
			{1, 7, 0, OpAdd}, {1, 7, 1, OpAdd}, {1, 7, 2, OpAdd}, {2, 7, 0, OpAdd}, {1, 7, 0, OpStore},
		} {
			r.add(s.tenant, &ring.Slot{Opcode: uint32(s.op), Args: [ring.ArgWords]uint32{s.ticket, s.ahead}})
		}
	}
	want := []hotset.Window{
		{Tenant: 1, Ticket: 7, Opcode: uint32(OpAdd), Required: 1, Lookahead: 2},
		{Tenant: 2, Ticket: 7, Opcode: uint32(OpAdd), Required: 1},
		{Tenant: 1, Ticket: 7, Opcode: uint32(OpStore), Required: 1},
	}
	if len(r.windows) != len(want) {
		t.Fatalf("windows %+v", r.windows)
	}
	for i, w := range want {
		if r.windows[i] != w {
			t.Errorf("window %d: %+v, want %+v", i, r.windows[i], w)
		}
	}
}

func TestHotWindowsPromoteTheOpcodesOfTheirTickets(t *testing.T) {
	cfg := promotionConfig(BuiltIn())
	var p promotion
	var counts [ring.OpcodeBins]uint32
	for _, op := range BuiltIn().All().Opcodes() {
		counts[op] = 100 // so many that no set of eight has the share
	}
	cfg.MaxHot = 3
	var r routes
	for ticket := range uint32(5) {
		for i := range uint32(4) {
			r.add(0, &ring.Slot{Opcode: uint32(OpLoad), Args: [ring.ArgWords]uint32{ticket, i & 1}})
		}
	}
	for range 100 {
		p.settle(cfg, &counts, r.windows)
	}
	if !OpcodeSet(p.decision.Set).Has(OpLoad) || p.decision.HotWindows != 5 {
		t.Errorf("%+v", p.decision)
	}
}
