package policy

// otherReason fills in why the topology is what it is, where neither density
// nor edges decided it: the queue is empty, memory is short, or a counter that
// has cooled keeps a walk fused. Bounds saturate: they explain, they do not
// decide.
func otherReason(cfg *Config, req *Request, sig *Signals, topology Topology, r *Reason) {
	switch {
	case topology == TopologyEmpty:
		r.Rule, r.Threshold, r.Distance = RuleQueueEmpty, 1, 1
	case topology == TopologyMemoryConstrained:
		r.Rule = RuleConstrained
		r.leavesBelow(uint64(sig.MemoryPressureBps), sub(uint64(cfg.MemoryPressureBps), uint64(cfg.MemoryHysteresisBps)))
	case sig.WarmOpcodes:
		r.Rule = RuleFusedHotOpcodes
		r.leavesBelow(uint64(req.HotOpcodeCount), sub(uint64(cfg.HotOpcodeThreshold), uint64(cfg.HotOpcodeHysteresis)))
	default:
		r.Rule = RuleFusedHotWindows
		r.leavesBelow(uint64(req.HotWindowCount), sub(uint64(cfg.HotWindowThreshold), uint64(cfg.HotWindowHysteresis)))
	}
}

// The methods below fill a zero Reason in place, field by field: a Reason
// built apart and then copied stalls the processor, which cannot forward the
// narrow stores to the wide loads of the copy.

// crosses explains a rule that applies from its threshold on.
func (r *Reason) crosses(rule Rule, value, threshold uint64) {
	r.Rule, r.Value, r.Threshold = rule, value, threshold
	distance, under := value-threshold+1, threshold-value
	if value < threshold {
		distance = under
	}
	r.Distance = distance
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
	return a - min(a, b)
}
