package policy

// addReason adds a reason to the recommendation, for the caller to fill in. It
// is filled in place: a Reason that is built apart and copied makes the processor
// wait, which cannot read wide what was just written narrow.
func (rec *Recommendation) addReason() *Reason {
	r := &rec.Reasons[rec.ReasonCount]
	rec.ReasonCount++
	return r
}

// crosses explains a rule that applies from its threshold on.
func (r *Reason) crosses(rule Rule, value, threshold uint64) {
	r.Rule, r.Value, r.Threshold = rule, value, threshold
	if value < threshold {
		r.Distance = threshold - value
	} else {
		r.Distance = value - threshold + 1
	}
}

// leavesBelow explains an outcome that stands while value >= edge.
func (r *Reason) leavesBelow(rule Rule, value, edge uint64) {
	r.Rule, r.Value, r.Threshold, r.Distance = rule, value, edge, sub(value+1, edge)
}

// leavesAbove explains an outcome that stands while value <= edge.
func (r *Reason) leavesAbove(rule Rule, value, edge uint64) {
	r.Rule, r.Value, r.Threshold, r.Distance = rule, value, edge, sub(edge+1, value)
}

// leavesRange explains an outcome that stands while lo <= value <= hi, by the
// end that is nearer; lo, if both are as near.
func (r *Reason) leavesRange(rule Rule, value, lo, hi uint64) {
	if sub(hi+1, value) < sub(value+1, lo) {
		r.leavesAbove(rule, value, hi)
	} else {
		r.leavesBelow(rule, value, lo)
	}
}

// follows explains an outcome that stands and falls with another.
func (r *Reason) follows(rule Rule, other *Reason) {
	r.Rule, r.Held, r.Value, r.Threshold, r.Distance = rule, other.Held, other.Value, other.Threshold, other.Distance
}

// below is the lower end of the band around a threshold, at least 0.
func below(threshold, band uint16) uint64 { return sub(uint64(threshold), uint64(band)) }

// above is the upper end of the band around a threshold.
func above(threshold, band uint16) uint64 { return uint64(threshold) + uint64(band) }

// sub is a-b, or 0 if that is negative.
func sub(a, b uint64) uint64 { return a - min(a, b) }
