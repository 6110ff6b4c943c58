package policy

// topologyReason fills in why the topology is what it is, and the edge at
// which it is left again. Bounds saturate here: they explain, they do not decide.
func topologyReason(cfg *Config, o *Observation, c *Classification) {
	r := &c.Reason
	r.Held = c.Topology != c.Raw
	density := uint64(o.FrontierDensityBps)
	width := uint64(cfg.FrontierHysteresisBps)
	switch c.Topology {
	case TopologyEmpty:
		r.Rule, r.Threshold, r.Distance = RuleQueueEmpty, 1, 1
	case TopologyMemoryConstrained:
		r.Rule = RuleConstrained
		r.leavesBelow(uint64(o.MemoryPressureBps), sub(uint64(cfg.MemoryPressureBps), uint64(cfg.MemoryHysteresisBps)))
	case TopologySparse:
		r.Rule = RuleSparse
		r.leavesAbove(density, uint64(cfg.SparseFrontierBps)+width)
	case TopologyHybrid:
		r.Rule = RuleHybrid
		r.leavesAbove(density, uint64(cfg.DenseFrontierBps)+width)
		lower := Reason{Rule: RuleHybrid, Held: r.Held}
		lower.leavesBelow(density, sub(uint64(cfg.SparseFrontierBps), width))
		if lower.Distance <= r.Distance {
			*r = lower
		}
	case TopologyDense:
		r.Rule = RuleDense
		r.leavesBelow(density, sub(uint64(cfg.DenseFrontierBps), width))
	case TopologyFused:
		r.Rule = RuleFused
		r.leavesBelow(density, sub(uint64(cfg.DenseFrontierBps), width))
	}
}

// memoryReason says on which side of the pressure threshold the request is.
func memoryReason(cfg *Config, o *Observation) Reason {
	return crossing(RuleMemoryPressure, uint64(o.MemoryPressureBps), uint64(cfg.MemoryPressureBps))
}

// crossing is the reason of a rule that applies from its threshold on.
func crossing(rule Rule, value, threshold uint64) Reason {
	r := Reason{Rule: rule, Threshold: threshold, Value: value}
	if value >= threshold {
		r.Distance = value - threshold + 1
	} else {
		r.Distance = threshold - value
	}
	return r
}

// leavesBelow: the outcome stands while value >= edge.
func (r *Reason) leavesBelow(value, edge uint64) {
	r.Threshold, r.Value, r.Distance = edge, value, sub(value+1, edge)
}

// leavesAbove: the outcome stands while value <= edge.
func (r *Reason) leavesAbove(value, edge uint64) {
	r.Threshold, r.Value, r.Distance = edge, value, sub(edge+1, value)
}

// sub is a-b, or 0 if that is negative.
func sub(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}
