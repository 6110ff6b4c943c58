package actors

import "ringmaster/megakernel/policy"

// hysteresis is what a stage of the decision remembers. Decisions are made from
// issued, so that several decisions during one flight build on each other and
// do not flap; committed is what the last successful launch ran with.
type hysteresis[T comparable] struct {
	issued, committed mark[T]
	newest            uint64 // decision issued last
	taken             uint64 // newest, when a failure last took issued back
}

// mark is a state and the decision that left it behind; 0 is "before any".
type mark[T any] struct {
	state    T
	decision uint64
}

// issue records the state after a decision. That of a worker elsewhere which has never
// reported a launch is committed at once: nothing else will commit it.
func (m *hysteresis[T]) issue(decision uint64, after T, commit bool) {
	m.issued = mark[T]{after, decision}
	m.newest = decision
	if commit {
		m.committed = m.issued
	}
}

// settle records how a launch of a decision ended; state is what that decision left
// behind.
//
// A failure returns issued to committed, unless an earlier failure has taken that
// decision back already: of several launches in flight, the first that fails does so
// for all that were decided before the failure was known, and later decisions do not
// build on them. A success commits what ran, taken back or not, and issued follows
// unless a newer decision stands. reverted reports whether a failure changed issued.
func (m *hysteresis[T]) settle(decision uint64, ok bool, state T) (reverted bool) {
	if !ok {
		if decision <= m.taken {
			return false
		}
		reverted = m.issued.state != m.committed.state
		m.issued, m.taken = m.committed, m.newest
		return reverted
	}
	m.committed = mark[T]{state, decision}
	if m.issued.decision <= decision {
		m.issued = m.committed
	}
	return false
}

// maxRecent is how many runs of decisions of a remote worker's queue are remembered.
const maxRecent = 128

// recentDecisions remembers what the newest decisions of a remote worker's queue left
// behind, until its launch reports name them. Decisions in a row that left the same behind
// share a run, so a queue in a steady state needs one.
type recentDecisions []run

type run struct {
	first, last uint64
	state       policy.State
}

func (r *recentDecisions) add(decision uint64, after policy.State) {
	runs := *r
	if n := len(runs); n > 0 && runs[n-1].last+1 == decision && runs[n-1].state == after {
		runs[n-1].last = decision
		return
	}
	if len(runs) == maxRecent {
		runs = runs[:copy(runs, runs[1:])]
	}
	*r = append(runs, run{decision, decision, after})
}

func (r recentDecisions) find(decision uint64) (policy.State, bool) {
	for _, one := range r {
		if one.first <= decision && decision <= one.last {
			return one.state, true
		}
	}
	return policy.State{}, false
}
