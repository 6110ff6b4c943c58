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

// promotionConfig has the thresholds for a catalog. Fences, which no kernel executes, and
// faults, which are not work, are never fused.
func promotionConfig(c *Catalog) hotset.Config {
	cfg := hotset.DefaultConfig()
	cfg.Fusable = uint64(c.All() &^ NewOpcodeSet(OpFence, OpFault))
	return cfg
}

// settle takes in what a launch executed.
func (p *promotion) settle(cfg hotset.Config, counts *[ring.OpcodeBins]uint32, windows []hotset.Window) {
	p.decision, p.state = hotset.Decide(cfg, p.state, &hotset.Observation{Counts: *counts, Windows: windows})
}

// hot are the opcodes that deserve a fused kernel; none if the interpreter does.
func (p *promotion) hot() OpcodeSet { return OpcodeSet(p.decision.Set) }

// Routed are the opcodes whose slots name a route ticket: an operator's opcode is one
// if its first two operands are called ticket and lookahead. Slots of one tenant with
// the same ticket and opcode are a window. Somebody waits for those whose
// lookahead is 0; others were sent ahead of need.
func (c *Catalog) Routed() (set OpcodeSet) {
	for i := range c.user {
		if o := c.user[i].Operands; len(o) >= 2 && o[0] == "ticket" && o[1] == "lookahead" {
			set |= 1 << c.user[i].ID
		}
	}
	return set
}

// routes groups the slots of a launch by their tickets.
type routes struct {
	windows []hotset.Window
	index   map[route]int
}

type route struct{ tenant, ticket, opcode uint32 }

// begin forgets the launch before.
func (r *routes) begin() {
	r.windows = r.windows[:0]
	clear(r.index)
}

// add takes in a slot of a routed opcode.
func (r *routes) add(tenant uint32, s *ring.Slot) {
	if r.index == nil {
		r.index = make(map[route]int)
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

// route collects the windows of a flight. Called with mu held, after its slots are
// published.
func (e *Engine) route(f *flight) {
	for _, entry := range f.entries {
		if e.pages[entry.Page()].opcodes&e.routed == 0 {
			continue
		}
		base := int(entry.Page()) * ring.PageSlots
		for i := base; i < base+entry.Count(); i++ {
			o := e.owners[i]
			if e.pool.Status(i).State() != ring.Published || e.batches[o.batch] == nil {
				continue
			}
			if s := &e.batches[o.batch].Slots[o.index]; e.routed.Has(Opcode(s.Opcode)) {
				f.routes.add(f.queue.tenant, s)
			}
		}
	}
}
