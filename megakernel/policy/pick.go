package policy

import "math"

const (
	// PriorityWeight is how many times the device time of a queue of the lowest priority
	// one of the highest gets while both have work.
	PriorityWeight = 16
	// AgeLaunches is how many launches of the worker, for each queue with work, a queue
	// waits at most before it is taken whatever the times say. Queues of equal priority
	// whose launches take from 1 to 16 times as long as each other's still share by time.
	AgeLaunches = 16
	// LeadNs is how far a queue whose slots are due may run ahead of its share, in
	// nanoseconds of virtual time: ten turns of Standard. It is what others may wait for
	// beyond their share, once, however soon a queue says that its slots are due.
	LeadNs = 20_000_000
)

// Candidate is one queue of a worker, as the choice of the next launch sees it.
type Candidate struct {
	Priority float64 // after diffusion; NaN counts as the lowest
	Served   float64 // virtual time, see PickQueue
	Waited   uint64  // launches of the worker since this queue last ran
	Pending  int     // slots to run that no launch under way takes; 0 also while no more may begin
	InFlight int     // most launches of it under way at a time; see InFlightNow
	Full     bool    // as many are under way, and it may have more to run when one of them ends

	// As far as the cost of its launches is known, what its next launch takes and what all
	// that is pending takes; and, if HasDue, how long it is until the first of its slots is
	// due, less than 0 if that has passed. In nanoseconds.
	LaunchNs, PendingNs uint64
	HostNs              uint64 // for how long the host has to do with a launch, see Measured; 0: not known
	HasDue              bool
	DueNs               int64
}

// PickQueue returns the index of the candidate to launch next, or -1 if none
// has work pending, and its weight.
//
// Queues share the device's time, not its launches: this is start-time fair queueing
// (Goyal, Vin, Cheng, IEEE/ACM Transactions on Networking 5, 1997). Each queue has a virtual
// time, Served: the nanoseconds that its launches took, each divided by the queue's weight
// then. The least virtual time is next, then the highest priority, then the longest wait,
// then the first. The weight is
//
//	1 + (PriorityWeight - 1) × (priority - lowest) / (highest - lowest)
//
// over those with work: priorities are compared by where they lie between the
// lowest and the highest, so their scale does not matter. Equal ones weigh the same.
//
// A queue whose slots are due, by its latency target or their deadlines, goes before its turn
// when it would be late otherwise: if what is pending and the longest launch of all, which may
// be under way, would take it past that time. Among several the first that is due is next. It does so only
// up to LeadNs ahead of the least virtual time, so a queue that is always late gets its share
// and LeadNs more in all: over any time in which two queues have work, what they get differs
// by at most their two longest launches and LeadNs, each divided by the weight.
//
// Nobody starves, whatever the times say: among n candidates one with work waits at most
// n × AgeLaunches + n - 1 launches. For once it has waited for n × AgeLaunches of them, only
// those that have waited for longer come before it.
func PickQueue(candidates []Candidate) (next int, weight float64) {
	lo, hi, working := math.Inf(1), math.Inf(-1), uint64(0)
	sum := shares{least: math.Inf(1)}
	for i := range candidates {
		c := &candidates[i]
		if c.Pending <= 0 {
			continue
		}
		working++
		sum.least, sum.longest = min(sum.least, c.Served), max(sum.longest, c.LaunchNs)
		if !math.IsNaN(c.Priority) {
			p := c.halved()
			lo, hi = min(lo, p), max(hi, p)
		}
	}
	next, sum.aged = -1, working*AgeLaunches
	for i := range candidates {
		c := &candidates[i]
		if c.Pending > 0 && (next < 0 || c.before(&candidates[next], &sum)) {
			next = i
		}
	}
	if next < 0 {
		return next, 0
	}
	weight = 1
	if c := &candidates[next]; hi > lo && !math.IsNaN(c.Priority) {
		weight += (PriorityWeight - 1) * ((c.halved() - lo) / (hi - lo))
	}
	return next, weight
}

// shares is what the choice needs to know of all candidates with work.
type shares struct {
	least   float64 // virtual time
	longest uint64  // launch, nanoseconds
	aged    uint64  // launches that one waits at most
}

// late says whether a candidate misses a time unless it goes before its turn, and may.
func (c *Candidate) late(s *shares) bool {
	return c.HasDue && float64(c.DueNs) <= float64(c.PendingNs)+float64(s.longest) && c.Served-s.least <= LeadNs
}

// before says whether a candidate comes before one that is earlier in the list.
func (c *Candidate) before(other *Candidate, s *shares) bool {
	if c.Waited >= s.aged || other.Waited >= s.aged {
		return c.Waited > other.Waited
	}
	if late := c.late(s); late != other.late(s) {
		return late
	} else if late && c.DueNs != other.DueNs {
		return c.DueNs < other.DueNs
	}
	if c.Served != other.Served {
		return c.Served < other.Served
	}
	if c.Priority != other.Priority && !(math.IsNaN(c.Priority) && math.IsNaN(other.Priority)) {
		return c.Priority > other.Priority || math.IsNaN(other.Priority)
	}
	return c.Waited > other.Waited
}

// halved is half the priority, so that the spread of two finite values is
// finite. Infinities compare like the largest numbers.
func (c *Candidate) halved() float64 {
	return min(max(c.Priority/2, -math.MaxFloat64/2), math.MaxFloat64/2)
}

// VirtualTime is the virtual time of a worker from the launch on that is chosen from the
// candidates: the least of the queues that have work, and never less than it was. A queue
// whose own is behind begins there, so that nobody saves up time while he has no work; and it
// comes before the queue of that launch, which is charged for it.
func VirtualTime(was float64, candidates []Candidate) float64 {
	least := math.Inf(1)
	for i := range candidates {
		if c := &candidates[i]; c.Pending > 0 || c.Full {
			least = min(least, c.Served)
		}
	}
	if math.IsInf(least, 1) {
		return was
	}
	return max(was, least)
}

// WorkerInFlight is how many launches of all its queues a worker may have under way:
// the largest number that any of its queues may have. If every queue is shallow, each
// launch finds a free device. Beside a deep queue, the launches of others join its
// pipeline; otherwise they would have to wait for it to run dry, or it for them.
func WorkerInFlight(candidates []Candidate) int {
	most := 1
	for i := range candidates {
		most = max(most, candidates[i].InFlight)
	}
	return most
}

// InFlightNow is how many launches of a queue may be under way at a worker: as many as
// the plan allows, but one while launches fail. What a failed launch took back is then
// decided anew before more is built on it, and a device that refuses one launch is not
// given three.
func InFlightNow(allowed uint32, failures int) int {
	if failures > 0 {
		return 1
	}
	return max(int(allowed), 1)
}
