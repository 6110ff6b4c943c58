package policy

import (
	"math"
	"math/bits"
)

// mode says which kernel runs a launch of so many slots: with ByCost the one that takes less
// time, once both were measured; until then what the queue's length, its hot code and its walk
// suggest. What it returns differs from that only where a launch is made to learn what the
// other kernel takes.
func mode(cfg *Config, req *Request, sig *Classification, slots uint32, idle bool, state *PlanState, rec *Recommendation) Mode {
	why := rec.addReason()
	if cfg.ByCost && req.Interpreted.known() && req.Compiled.known() {
		state.Mode = modeByCost(cfg, req, slots, idle, state, why)
		return state.Mode
	}
	state.Mode = modeByLength(cfg, req, sig, idle, state, rec, why)
	if cfg.ByCost && !idle && rec.LaunchMode == LaunchWave {
		return learnedMode(req, slots, state.Mode, why)
	}
	return state.Mode
}

// modeByCost takes the compiled kernel when it is cheaper, and leaves it when the interpreter is
// clearly cheaper, each for enough decisions in a row. Between the two the compiled kernel stays:
// it is built, and what it gains grows with the launch. The reason tells what a launch takes on
// the compiled kernel, and when that is left or taken.
func modeByCost(cfg *Config, req *Request, slots uint32, idle bool, state *PlanState, why *Reason) Mode {
	interpreted, compiled := req.Interpreted.Ns(slots), req.Compiled.Ns(slots)
	mode := state.Mode
	switch {
	case state.WorkgroupSizeX == 0:
		mode = ModeInterpreter
		if compiled < interpreted {
			mode = ModeJIT
		}
	case mode == ModeJIT && cfg.otherIsCheaper(compiled, interpreted, idle, &state.ModeAsked):
		mode = ModeInterpreter
	case mode == ModeInterpreter && !idle && cfg.persists(compiled < interpreted, &state.ModeAsked):
		mode = ModeJIT
	}
	cfg.explainCost(RuleModeCost, mode == ModeJIT, compiled, interpreted, interpreted, why)
	return mode
}

// learnedMode is the kernel of a launch that another rule has chosen a kernel for. If only that
// one was measured and the other is at hand, the launch learns the other. Whoever measures
// forgets what has not run for long, so this comes again, seldom.
func learnedMode(req *Request, slots uint32, chosen Mode, why *Reason) Mode {
	known, other, at := &req.Interpreted, &req.Compiled, req.CompiledReady
	if chosen == ModeJIT {
		known, other, at = other, known, true
	}
	if !at || !known.known() || other.known() || !req.learns() {
		return chosen
	}
	*why = Reason{Rule: RuleModeLearn, Value: known.Ns(slots)}
	return ModeInterpreter + ModeJIT - chosen
}

// learns says whether a launch may be made to learn what it takes: where there are slots, and
// they are not wanted by the clock.
func (r *Request) learns() bool { return r.QueueLen != 0 && r.TargetMs == 0 }

// otherIsCheaper says whether a way of running launches is left for another: when that takes
// less by CostHysteresisBps, for enough decisions in a row.
func (c *Config) otherIsCheaper(present, other uint64, idle bool, asked *uint8) bool {
	return !idle && c.persists(other <= c.clearlyBelow(present), asked)
}

// clearlyBelow is ns less CostHysteresisBps of it.
func (c *Config) clearlyBelow(ns uint64) uint64 {
	hi, lo := bits.Mul64(ns, uint64(FullBps-c.CostHysteresisBps))
	below, _ := bits.Div64(hi, lo, FullBps)
	return below
}

// explainCost explains a choice between two ways, of which the first takes ns and is taken
// below some time. It is left when the other is clearly below it.
func (c *Config) explainCost(rule Rule, first bool, ns, other, taken uint64, why *Reason) {
	why.Held = first != (ns < other)
	if !first {
		why.leavesBelow(rule, ns, taken)
		return
	}
	edge := uint64(math.MaxUint64) // ns, from which on other is clearly below
	if hi, lo := bits.Mul64(other, FullBps); hi < uint64(FullBps-c.CostHysteresisBps) {
		quotient, rest := bits.Div64(hi, lo, uint64(FullBps-c.CostHysteresisBps))
		edge = quotient + min(rest, 1)
	}
	why.leavesAbove(rule, ns, sub(edge, 1))
}

// modeByLength compiles for long queues, for hot code and for fused walks, and
// interprets otherwise. With FullHysteresis a queue that has become shorter
// keeps a compiled kernel within the band, and with Steady either is kept until
// enough decisions in a row ask for the other, or twice the threshold is queued.
func modeByLength(cfg *Config, req *Request, sig *Classification, idle bool, state *PlanState, rec *Recommendation, why *Reason) Mode {
	queue, threshold := uint64(req.QueueLen), uint64(cfg.JITQueueLenThreshold)
	band := uint64(0)
	if cfg.FullHysteresis {
		band = uint64(cfg.JITQueueLenHysteresis)
	}
	opcodeBand, windowBand := hotBands(cfg)
	near := queue >= threshold && queue < 2*threshold && !rec.PromoteHotOpcodes && !rec.PromoteHotWindows && sig.Topology != TopologyFused
	switch {
	case near && state.interprets() && !cfg.persists(true, &state.ModeAsked):
		why.Rule, why.Value, why.Threshold, why.Held = RuleModeQueueLen, queue, threshold, true
		return ModeInterpreter
	case queue >= threshold:
		why.leavesBelow(RuleModeQueueLen, queue, sub(threshold, band))
	case rec.PromoteHotOpcodes:
		why.leavesBelow(RuleModeHotOpcodes, uint64(req.HotOpcodeCount), sub(uint64(cfg.HotOpcodeThreshold), opcodeBand))
		why.Held = !sig.PromoteHotOpcodes
	case rec.PromoteHotWindows:
		why.leavesBelow(RuleModeHotWindows, uint64(req.HotWindowCount), sub(uint64(cfg.HotWindowThreshold), windowBand))
		why.Held = !sig.PromoteHotWindows
	case rec.Topology == TopologyFused:
		why.follows(RuleModeFused, &sig.Reason)
	case state.Mode == ModeJIT && (idle || !cfg.persists(queue+band < threshold, &state.ModeAsked)):
		why.leavesBelow(RuleModeQueueLen, queue, sub(threshold, band))
		why.Held = true
		return ModeJIT
	default:
		why.crosses(RuleModeQueueLen, queue, threshold)
		state.ModeAsked = 0
		return ModeInterpreter
	}
	state.ModeAsked = 0
	return ModeJIT
}

// interprets says whether there was a plan, and that one interpreted.
func (s *PlanState) interprets() bool { return s.WorkgroupSizeX != 0 && s.Mode == ModeInterpreter }
