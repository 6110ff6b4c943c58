package megakernel

import (
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/kernelcache/hotset"
	"ringmaster/ring"
)

// promotion is what a queue's launches say about the kernel it deserves.
type promotion struct {
	tenant   uint32 // of the queue; another one starts from nothing
	state    hotset.State
	decision hotset.Decision
}

// promotionConfig has the thresholds for a catalog. Fences, which no kernel executes, and
// faults, which are not work, are never fused.
func promotionConfig(c *Catalog) hotset.Config {
	cfg := hotset.DefaultConfig()
	cfg.Fusable = uint64(c.All() & kernel.Fusable)
	return cfg
}

// promotionOf is the promotion of a flight's queue. Called with mu held.
func (e *Engine) promotionOf(f *flight) *promotion {
	w := f.wave.Window()
	p := &e.promotions[w.Number()]
	if p.tenant != w.Tenant {
		*p = promotion{tenant: w.Tenant}
	}
	return p
}

// settle takes in what a launch executed.
func (p *promotion) settle(cfg hotset.Config, counts *[ring.OpcodeBins]uint32) {
	p.decision, p.state = hotset.Decide(cfg, p.state, (*hotset.Counts)(counts))
}

// hot are the opcodes that deserve a fused kernel; none if the interpreter does.
func (p *promotion) hot() OpcodeSet { return OpcodeSet(p.decision.Set) }
