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
	why, was := rec.addReason(), state.Mode
	if cfg.ByCost && req.Interpreted.known() && req.Compiled.known() {
		// A compiled kernel is taken when it is cheaper at all, or as good as: it is built, and what
		// it gains grows with the launch. Where one long slot of a short launch is all that either
		// waits for they take the same, and the next burst needs the compiled one.
		// They are compared at no more slots than both were measured with: beyond those a cost is
		// only an upper bound, see Costs.Estimate, and the higher one that of the shorter launches.
		if req.WaveSlots != 0 {
			slots = min(slots, req.WaveSlots)
		}
		interpreted := req.Interpreted.Ns(slots)
		of := contest{RuleModeCost, req.Compiled.Ns(slots), interpreted, addSaturating(interpreted, interpreted/tieOf), &state.ModeAsked}
		state.Mode = ModeInterpreter
		if cfg.first(of, was == ModeJIT, idle, state, why) {
			state.Mode = ModeJIT
		}
		return state.Mode
	}
	state.Mode = modeByLength(cfg, req, sig, idle, state, rec, why)
	if cfg.ByCost && rec.LaunchMode == LaunchWave {
		return learnedMode(req, slots, state.Mode, why)
	}
	return state.Mode
}

// tieOf is the part of a launch's time within which two kernels count as equal. Estimates of 16
// launches that are each a fifth off are 5 % off.
const tieOf = 16

// contest is the choice between two ways of running launches, by what a launch takes each way, in
// nanoseconds.
type contest struct {
	rule          Rule
	first, second uint64
	taken         uint64 // the second way is left when the first takes less than this
	asked         *uint8 // decisions in a row that asked for the other way
}

// prefersFirst is the choice of a queue that was run neither way.
func (of *contest) prefersFirst() bool { return of.first < max(of.second, of.taken) }

// first says whether launches run the first way, where they have run so until now or not. A
// queue without a plan takes the way that takes less, or the first where that is as good. Then a
// way is left when the other one asks for it in enough decisions in a row, the first only when the
// second is clearly cheaper. The reason tells what the first takes, and when it is left or taken.
func (c *Config) first(of contest, was, idle bool, state *PlanState, why *Reason) bool {
	is := was
	switch {
	case state.WorkgroupSizeX == 0:
		is = of.prefersFirst()
	case idle:
	case was:
		is = !c.persists(of.second < of.first && of.second <= c.clearlyBelow(of.first), of.asked)
	default:
		is = c.persists(of.first < of.taken, of.asked)
	}
	c.explainCost(&of, is, why)
	return is
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

// clearlyBelow is ns less CostHysteresisBps of it.
func (c *Config) clearlyBelow(ns uint64) uint64 {
	hi, lo := bits.Mul64(ns, uint64(FullBps-c.CostHysteresisBps))
	below, _ := bits.Div64(hi, lo, FullBps)
	return below
}

// explainCost says when the first way is left, which is when the second is clearly below it, or
// when it is taken.
func (c *Config) explainCost(of *contest, first bool, why *Reason) {
	why.Held = first != of.prefersFirst()
	if !first {
		why.leavesBelow(of.rule, of.first, of.taken)
		return
	}
	edge := uint64(math.MaxUint64) // of.first, from which on the second is clearly below
	if hi, lo := bits.Mul64(of.second, FullBps); hi < uint64(FullBps-c.CostHysteresisBps) {
		quotient, rest := bits.Div64(hi, lo, uint64(FullBps-c.CostHysteresisBps))
		edge = quotient + min(rest, 1)
	}
	why.leavesAbove(of.rule, of.first, sub(edge, 1))
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

// promote flags hot opcodes and windows. With FullHysteresis what is promoted
// stays so within the band.
func promote(cfg *Config, sig *Classification, state *PlanState, rec *Recommendation) {
	rec.PromoteHotOpcodes, rec.PromoteHotWindows = sig.PromoteHotOpcodes, sig.PromoteHotWindows
	if cfg.FullHysteresis {
		rec.PromoteHotOpcodes = sig.PromoteHotOpcodes || state.PromoteHotOpcodes && sig.WarmOpcodes
		rec.PromoteHotWindows = sig.PromoteHotWindows || state.PromoteHotWindows && sig.WarmWindows
	}
	state.PromoteHotOpcodes, state.PromoteHotWindows = rec.PromoteHotOpcodes, rec.PromoteHotWindows
}
