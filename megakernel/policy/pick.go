package policy

import "math"

// AgeLaunches is how many launches a queue waits until its age outweighs the
// whole spread of priorities.
const AgeLaunches = 16

// Candidate is one queue of a worker, as the choice of the next launch sees it.
type Candidate struct {
	Priority float64 // after diffusion; NaN counts as the lowest
	Waited   uint64  // launches of the worker since this queue last ran
	Pending  int     // slots to run that no launch under way takes; 0 also while no more may begin
	InFlight int     // most launches of it under way at a time; see InFlightNow
}

// PickQueue returns the index of the candidate to launch next, or -1 if none
// has work pending.
//
// The score of a candidate is
//
//	(priority - lowest) / (highest - lowest) + waited / AgeLaunches
//
// over those with work: priorities are compared by where they lie between the
// lowest and the highest, so their scale does not matter, and AgeLaunches
// launches of waiting are worth the whole spread. The highest score wins, then
// the longest wait, then the first.
//
// Nobody starves: among n candidates one with work waits at most
// AgeLaunches + n - 1 launches. For once it has waited AgeLaunches + k
// launches, only candidates that have themselves waited at least k can score
// higher, so the k candidates launched meanwhile are all different.
func PickQueue(candidates []Candidate) int {
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range candidates {
		if c := &candidates[i]; c.Pending > 0 && !math.IsNaN(c.Priority) {
			p := c.halved()
			lo, hi = min(lo, p), max(hi, p)
		}
	}
	best, bestScore := -1, 0.0
	for i := range candidates {
		c := &candidates[i]
		if c.Pending <= 0 {
			continue
		}
		score := float64(c.Waited) / AgeLaunches
		if hi > lo && !math.IsNaN(c.Priority) {
			score += (c.halved() - lo) / (hi - lo)
		}
		if best < 0 || score > bestScore || score == bestScore && c.Waited > candidates[best].Waited {
			best, bestScore = i, score
		}
	}
	return best
}

// halved is half the priority, so that the spread of two finite values is
// finite. Infinities compare like the largest numbers.
func (c *Candidate) halved() float64 {
	return min(max(c.Priority/2, -math.MaxFloat64/2), math.MaxFloat64/2)
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
