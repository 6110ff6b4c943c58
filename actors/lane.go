package actors

import (
	"time"

	"ringmaster/megakernel/policy"
)

// lane is the work of one queue at its worker.
type lane struct {
	family   *family
	open     map[string]*batch // taken by the engine and not finished, by id
	pending  int               // slots the engine still has to run
	waited   uint64            // launches of the worker while this queue had work
	failures int               // launches that failed in a row
	stalls   int               // launches in a row that ran and moved nothing
	paused   *time.Timer       // until the next attempt, nil if none is due
	stopped  uint64            // edition of the plan that was given up, 0 if none
}

// candidate is the lane as the choice of the next launch sees it. Without a
// plan, in a pause and when stopped it has nothing to offer.
func (l *lane) candidate(priorities map[string]float64) policy.Candidate {
	c := policy.Candidate{Priority: DefaultPriority, Waited: l.waited}
	if p, ok := priorities[l.family.name]; ok {
		c.Priority = p
	}
	if plan := l.family.planned.Load(); plan != nil && l.paused == nil && plan.edition != l.stopped {
		c.Pending = l.pending
	}
	return c
}

// setPending notes how many slots are left, where status rows read it too.
func (l *lane) setPending(slots int) {
	l.pending = max(slots, 0)
	l.family.pending.Store(int64(l.pending))
}
