package policy

import (
	"math"
	"math/bits"
)

// What a launch may take while other queues of the worker have work, or had some lately,
// with Config.BoundLaunches. A launch that runs cannot be interrupted, so the longest launch
// of any queue is what all others may wait for. A queue that is alone is not bounded.

const (
	// startsOfTurn is how many times its own start a launch may take at least: cut
	// shorter, the starts would take a larger share of the device than 1/startsOfTurn.
	startsOfTurn = 4
	// turnsAhead is how many launches of a queue may be under way beside other queues. With
	// two, others wait for both, and a software renderer's time of a launch has that of the
	// launch before it in it, so that costs are not what they seem.
	turnsAhead = 1
)

// takesTurns says whether the queue's launches are bounded.
func (c *Config) takesTurns(req *Request) bool {
	return c.BoundLaunches && req.OtherQueues != 0 && req.Cost.SlotPs != 0
}

// turnNs is what a launch may take.
func turnNs(cfg *Config, req *Request) uint64 {
	hi, starts := bits.Mul64(req.Cost.LaunchNs, startsOfTurn)
	if hi != 0 {
		starts = math.MaxUint64
	}
	return max(uint64(cfg.Sizing.TurnUs)*1_000, starts)
}

// turnSlots is the most slots of a launch, a power of two, 2^32-1 for no bound. It is kept
// while what the cost says is from two thirds to three times as much, so that the noise of
// measurements changes no plan.
func turnSlots(cfg *Config, req *Request, state *PlanState) uint32 {
	if !cfg.takesTurns(req) {
		state.TurnSlots = 0
		return math.MaxUint32
	}
	slots, kept := uint64(req.Cost.slotsIn(turnNs(cfg, req))), uint64(state.TurnSlots)
	if kept == 0 || 3*slots < 2*kept || slots >= 3*kept {
		state.TurnSlots = 1 << (bits.Len64(slots) - 1)
	}
	return state.TurnSlots
}

// turnReason says what a launch of all that waits would take, and what it may take.
func turnReason(cfg *Config, req *Request, waiting uint32, r *Reason) {
	r.crosses(RuleTurn, req.Cost.Ns(waiting), turnNs(cfg, req))
}

// PlannedLaunch is the most slots of the next decision's launch, as far as the queue's
// length and the other queues bound it. The tuner is asked about that many.
func (c *Config) PlannedLaunch(req *Request, prev *PlanState) uint32 {
	state := *prev
	return min(plannedLength(c, req.QueueLen, &state), turnSlots(c, req, &state))
}
