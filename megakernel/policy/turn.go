package policy

import (
	"math"
	"math/bits"
)

// What a launch may take while others wait for it, with Config.BoundLaunches. A launch that
// runs cannot be interrupted, so the longest launch of any queue is what everybody may wait
// for: the queues of the worker that have work, or had some lately, and the queue's own next
// slots, where a target or a deadline says how soon they are wanted. A queue that is alone and
// has none is not bounded.

const (
	// startsOfTurn is how many times its own start a launch may take at least: cut
	// shorter, the starts would take a larger share of the device than 1/startsOfTurn.
	startsOfTurn = 4
	// targetShare is the share of a latency target that a launch may take. What comes waits
	// for the launch under way and then for its own, which is half of the target; the other
	// half is for the bus, and for one more launch between the two.
	targetShare = 4
	// firstSlots are the most slots of the first launch of a queue beside others, from which
	// its cost is learned: a page of the ring.
	firstSlots = 256
	// turnsAhead is how many launches of a queue may be under way beside other queues. With
	// two, others wait for both, and a software renderer's time of a launch has that of the
	// launch before it in it, so that costs are not what they seem.
	turnsAhead = 1
	// togetherShare is the share of a turn that launches of several queues may take which are
	// under way at a time.
	togetherShare = 2
)

// UnderWay are launches that a device runs one after the other.
type UnderWay struct {
	Launches int
	Ns       uint64 // that all of them are expected to take; the most there is if nobody knows that of one
	LeftNs   uint64 // the same without what the first of them has had already
}

// Begin adds a launch that is expected to take so many nanoseconds, 0 if nobody knows, and, if it is the
// first, has had some of them.
func (u *UnderWay) Begin(ns, hadNs uint64) {
	if ns == 0 {
		ns, hadNs = math.MaxUint64, 0
	}
	if u.Launches > 0 {
		hadNs = 0
	}
	u.Launches++
	u.Ns, u.LeftNs = addSaturating(u.Ns, ns), addSaturating(u.LeftNs, sub(ns, hadNs))
}

// Until is in how many nanoseconds no more than so many are left.
func (u *UnderWay) Until(leftNs uint64) uint64 { return sub(u.LeftNs, leftNs) }

// Joins says whether a launch of one queue may begin while those of others are under way.
// Launches leave the device idle while the host takes the results of one queue and brings the
// next one's there: on an H200 a wave of 25 us takes 230 us of the host. So it may if all
// together are expected to take no more than half a turn, so that whoever comes waits
// for less than for one long launch; and if those under way are expected to end before the host
// could have brought the next one there. Sooner than that it would keep what comes meanwhile
// from going first, and slots of its own queue from being in it.
func (c *Config) Joins(next *Candidate, under *UnderWay) bool {
	if !c.BoundLaunches || under.Launches >= int(c.Sizing.MaxInFlight) || next.LaunchNs == 0 {
		return false
	}
	most := uint64(c.Sizing.TurnUs) * 1_000 / togetherShare
	return addSaturating(under.Ns, next.LaunchNs) <= most || next.HostNs != 0 && under.LeftNs <= next.HostNs
}

// IsJoined says whether a launch that is expected to take so long is to be followed by one of another
// queue before it ends: the device has it for longer than the host has to do with a launch.
func (c *Config) IsJoined(req *Request, ns, hostNs uint64) bool {
	return c.BoundLaunches && req.OtherQueues != 0 && hostNs != 0 && ns > hostNs
}

// takesTurns says whether the queue's launches are bounded: somebody waits for them, and
// their cost is known or is to be learned.
func (c *Config) takesTurns(req *Request) bool {
	return c.BoundLaunches && req.OtherQueues|req.TargetMs != 0 && (req.Cost.known() || c.isFirst(req))
}

// isFirst says whether the launch is the first of a queue beside others.
func (c *Config) isFirst(req *Request) bool {
	return req.Unmeasured && req.OtherQueues != 0 && !req.Cost.known()
}

// turnNs is what a launch of known cost may take, and the rule that says so.
func turnNs(cfg *Config, req *Request) (ns uint64, rule Rule) {
	ns, rule = math.MaxUint64, RuleTurn
	if req.OtherQueues != 0 {
		ns = uint64(cfg.Sizing.TurnUs) * 1_000
	}
	if share := uint64(req.TargetMs) * 1_000_000 / targetShare; share != 0 && share < ns {
		ns, rule = share, RuleTarget
	}
	hi, starts := bits.Mul64(req.Cost.LaunchNs, startsOfTurn)
	if hi != 0 {
		starts = math.MaxUint64
	}
	return max(ns, starts), rule
}

// turnSlots is the most slots of a launch, a power of two, 2^32-1 for no bound. It is kept
// while what the cost says is from five eighths to twice as much, so that the noise of
// measurements changes no plan: a cost that is a fifth off says two thirds, less what whole
// slots round off. Kept to three times as much it was a trap: where a launch of twice the
// slots takes as long, the cost of short launches alone never asks for longer ones.
// On a described device it is at least what runs side by side, whatever the cost says.
func turnSlots(cfg *Config, req *Request, state *PlanState) uint32 {
	switch {
	case !cfg.takesTurns(req):
		state.TurnSlots = 0
		return math.MaxUint32
	case cfg.isFirst(req):
		state.TurnSlots = firstSlots
		return firstSlots
	}
	turn, _ := turnNs(cfg, req)
	slots, kept := uint64(max(req.Cost.slotsIn(turn), cfg.sideBySide(&req.Limits))), uint64(state.TurnSlots)
	if kept == 0 || 8*slots < 5*kept || slots >= 2*kept {
		state.TurnSlots = 1 << (bits.Len64(slots) - 1)
	}
	return state.TurnSlots
}

// turnReason says what a launch of all that waits would take, and what it may take.
func turnReason(cfg *Config, req *Request, waiting uint32, r *Reason) {
	if cfg.isFirst(req) {
		r.crosses(RuleFirstLaunch, uint64(waiting), firstSlots)
		return
	}
	turn, rule := turnNs(cfg, req)
	r.crosses(rule, req.Cost.Ns(waiting), turn)
}

// spareTimes is how many times as long as expected a launch may take at which the tuner tries
// out another geometry: the worst of a sweep's are far slower, those that it tries seldom so.
const spareTimes = 4

// Spares says whether a launch of so many slots may take several times as long as expected and
// nobody who waits for it waits for longer than a turn.
func (c *Config) Spares(req *Request, slots uint32) bool {
	if req.OtherQueues|req.TargetMs == 0 {
		return true
	}
	turn, _ := turnNs(c, req)
	return req.Cost.SlotPs != 0 && req.Cost.Ns(slots) <= turn/spareTimes
}

// PlannedLaunch is the most slots of the next decision's launch, as far as the queue's
// length, the policy's own depth and what a launch may take bound it. The tuner is asked
// about that many.
func (c *Config) PlannedLaunch(req *Request, prev *PlanState) uint32 {
	state := *prev
	return min(plannedLength(c, req.QueueLen, &state), c.BatchDepth(&req.Limits), turnSlots(c, req, &state))
}
