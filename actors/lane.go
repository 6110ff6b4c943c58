package actors

import (
	"slices"
	"time"

	"ringmaster/megakernel/policy"
)

// lane is the work of one queue at its worker.
type lane struct {
	family   *family
	open     map[string]*batch // taken by the engine and not finished, by id
	pending  int               // slots the engine still has to run
	flights  int               // launches under way
	taking   int               // slots that they take at most
	narrow   bool              // a launch found nothing that those before it had left
	waited   uint64            // launches of the worker while this queue had work
	failures int               // launches that failed in a row
	known    uint64            // the last launch begun before a failure was counted
	stalls   int               // launches in a row that ran and moved nothing
	paused   *time.Timer       // until the next attempt, nil if none is due
	stopped  uint64            // edition of the plan that was given up, 0 if none
}

// candidate is the lane as policy.PickQueue sees it. Without a plan, in a pause, or
// stopped after failed launches or panics, it has nothing to offer.
func (l *lane) candidate(priorities map[string]float64) policy.Candidate {
	c := policy.Candidate{Priority: DefaultPriority, Waited: l.waited}
	if p, ok := priorities[l.family.name]; ok {
		c.Priority = p
	}
	plan := l.family.planned.Load()
	if plan == nil || l.paused != nil || plan.edition == l.stopped || l.family.stopped.Load() != nil {
		return c
	}
	c.InFlight = policy.InFlightNow(plan.plan.InFlight, l.failures)
	if l.narrow {
		c.InFlight = 1
	}
	if l.flights < c.InFlight {
		c.Pending = max(l.pending-l.taking, 0)
	}
	return c
}

// setPending notes how many slots are left, also where status rows read it, and
// keeps the lane in the list of those with work if there are any.
func (w *workerActor) setPending(l *lane, slots int) {
	was := l.pending
	l.pending = max(slots, 0)
	l.family.pending.Store(int64(l.pending))
	switch {
	case was == 0 && l.pending > 0:
		w.ready = append(w.ready, l)
	case was > 0 && l.pending == 0:
		w.ready = slices.DeleteFunc(w.ready, func(other *lane) bool { return other == l })
	}
}

// blank reports whether the lane remembers nothing that a new one would not.
func (l *lane) blank() bool {
	return len(l.open) == 0 && l.pending == 0 && l.flights == 0 && l.failures == 0 && l.stalls == 0 && l.paused == nil && l.stopped == 0
}
