package megakernel

import (
	"ringmaster/megakernel/kernelcache/hotset"
	"ringmaster/ring"
)

// promotion is what a queue's launches say about the kernel it deserves. The zero value
// is a queue that has run nothing.
type promotion struct {
	state    hotset.State
	decision hotset.Decision
}

// promotionConfig is the thresholds for a catalog. Fences, which no kernel executes,
// and faults, which are no work, are not worth a body.
func promotionConfig(c *Catalog) hotset.Config {
	cfg := hotset.DefaultConfig()
	cfg.Fusable = uint64(c.All() &^ NewOpcodeSet(OpFence, OpFault))
	return cfg
}

// settle takes in what a launch executed.
func (p *promotion) settle(cfg hotset.Config, counts *[ring.OpcodeBins]uint32, windows []hotset.Window) {
	p.decision, p.state = hotset.Decide(cfg, p.state, &hotset.Observation{Counts: *counts, Windows: windows})
}

// kernel is the kernel that a launch of a geometry wants: a fused one if fusing is
// allowed and the queue has a hot set that fits the geometry, else the interpreter.
func (p *promotion) kernel(g Geometry, fuse bool) Kernel {
	if fuse {
		if k, ok := FusedKernel(g, OpcodeSet(p.decision.Set)); ok {
			return k
		}
	}
	return Kernel{Kind: Interpreter, Width: g.Width}
}

// routes counts the slots of a launch by their route: slots of routed opcodes name a
// ticket in their first argument and in the second whether somebody waits for them
// (0) or they were sent ahead of need (anything else).
type routes struct {
	routed  OpcodeSet
	windows []hotset.Window
	index   map[route]int
}

type route struct{ tenant, ticket, opcode uint32 }

// begin forgets the launch before.
func (r *routes) begin(routed OpcodeSet) {
	r.routed, r.windows = routed, r.windows[:0]
	if r.index == nil {
		r.index = make(map[route]int)
	}
	clear(r.index)
}

// add takes in a slot.
func (r *routes) add(tenant uint32, s *ring.Slot) {
	if !r.routed.Has(Opcode(s.Opcode)) {
		return
	}
	key := route{tenant, s.Args[0], s.Opcode}
	at, known := r.index[key]
	if !known {
		at = len(r.windows)
		r.index[key] = at
		r.windows = append(r.windows, hotset.Window{Tenant: tenant, Ticket: s.Args[0], Opcode: s.Opcode})
	}
	if s.Args[1] == 0 {
		r.windows[at].Required++
	} else {
		r.windows[at].Lookahead++
	}
}
