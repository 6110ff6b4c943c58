package policy

// topologyReason fills in why the topology is what it is, unless edges decided
// it, and the edge at
// which it is left again. Bounds saturate here: they explain, they do not decide.
func topologyReason(cfg *Config, sig *Signals, c *Classification) {
	r := &c.Reason
	density := uint64(sig.FrontierDensityBps)
	width := uint64(cfg.FrontierHysteresisBps)
	switch c.Topology {
	case TopologyEmpty:
		r.Rule, r.Threshold, r.Distance = RuleQueueEmpty, 1, 1
	case TopologyMemoryConstrained:
		r.Rule = RuleConstrained
		r.leavesBelow(uint64(sig.MemoryPressureBps), sub(uint64(cfg.MemoryPressureBps), uint64(cfg.MemoryHysteresisBps)))
	case TopologySparse:
		r.Rule = RuleSparse
		r.leavesAbove(density, uint64(cfg.SparseFrontierBps)+width)
	case TopologyHybrid:
		r.Rule = RuleHybrid
		lower := sub(uint64(cfg.SparseFrontierBps), width)
		upper := uint64(cfg.DenseFrontierBps) + width
		if sub(density+1, lower) <= sub(upper+1, density) {
			r.leavesBelow(density, lower)
		} else {
			r.leavesAbove(density, upper)
		}
	case TopologyDense:
		r.Rule = RuleDense
		r.leavesBelow(density, sub(uint64(cfg.DenseFrontierBps), width))
	case TopologyFused:
		r.Rule = RuleFused
		r.leavesBelow(density, sub(uint64(cfg.DenseFrontierBps), width))
	}
}

// warmReason says how far the counter that keeps a walk fused is from letting
// go of it.
func warmReason(cfg *Config, req *Request, sig *Signals, r *Reason) {
	if sig.WarmOpcodes {
		r.Rule = RuleFusedHotOpcodes
		r.leavesBelow(uint64(req.HotOpcodeCount), sub(uint64(cfg.HotOpcodeThreshold), uint64(cfg.HotOpcodeHysteresis)))
		return
	}
	r.Rule = RuleFusedHotWindows
	r.leavesBelow(uint64(req.HotWindowCount), sub(uint64(cfg.HotWindowThreshold), uint64(cfg.HotWindowHysteresis)))
}

// The methods below fill a zero Reason in place, field by field: a Reason
// built apart and then copied stalls the processor, which cannot forward the
// narrow stores to the wide loads of the copy.

// crosses explains a rule that applies from its threshold on.
func (r *Reason) crosses(rule Rule, value, threshold uint64) {
	r.Rule, r.Value, r.Threshold = rule, value, threshold
	if value >= threshold {
		r.Distance = value - threshold + 1
	} else {
		r.Distance = threshold - value
	}
}

// leavesBelow explains an outcome that stands while value >= edge.
func (r *Reason) leavesBelow(value, edge uint64) {
	r.Value, r.Threshold, r.Distance = value, edge, sub(value+1, edge)
}

// keeps explains what a rule has gained and keeps while value >= edge.
func (r *Reason) keeps(rule Rule, held bool, value, edge uint64) {
	r.Rule, r.Held = rule, held
	r.leavesBelow(value, edge)
}

// leavesAbove explains an outcome that stands while value <= edge.
func (r *Reason) leavesAbove(value, edge uint64) {
	r.Value, r.Threshold, r.Distance = value, edge, sub(edge+1, value)
}

// follows explains an outcome that stands and falls with the one of by.
func (r *Reason) follows(rule Rule, by *Reason) {
	r.Rule, r.Held = rule, by.Held
	r.Value, r.Threshold, r.Distance = by.Value, by.Threshold, by.Distance
}

// tuned says whether the ceiling leaves room for the groups that the tuner wants.
func (r *Reason) tuned(s *Sizing, wanted, ceiling uint32) {
	r.Rule = RuleTuned
	r.Value, r.Threshold = uint64(wanted), uint64(min(ceiling, max(s.MaxDispatchWorkgroups, 1)))
	if r.Distance = sub(r.Threshold+1, r.Value); r.Distance == 0 {
		r.Distance = r.Value - r.Threshold
	}
}

// sub is a-b, or 0 if that is negative.
func sub(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}
