package lease

import "sync/atomic"

// counters count what a lease did.
type counters struct {
	rounds, slots, starts, resubmitted atomic.Uint64
	missed                             atomic.Uint64 // of the resubmitted, see timeRounds
	ends                               [reasons]atomic.Uint64
}

func (c *counters) reset() {
	for _, n := range []*atomic.Uint64{&c.rounds, &c.slots, &c.starts, &c.resubmitted, &c.missed} {
		n.Store(0)
	}
	for i := range c.ends {
		c.ends[i].Store(0)
	}
}

// Stats are a lease's counts since it was opened, its self-test left out.
type Stats struct {
	Rounds      uint64          // rounds answered
	Slots       uint64          // their slots
	Starts      uint64          // kernels dispatched
	Resubmitted uint64          // rounds that one kernel ended without and the next one found
	Ends        [reasons]uint64 // kernels that ended, by Reason
}

// Stats returns the counts. A kernel that has ended is counted once the device
// has said so.
func (l *Lease) Stats() Stats {
	c := &l.counters
	s := Stats{Rounds: c.rounds.Load(), Slots: c.slots.Load(), Starts: c.starts.Load(), Resubmitted: c.resubmitted.Load()}
	for i := range s.Ends {
		s.Ends[i] = c.ends[i].Load()
	}
	return s
}
