package stage

import "ringmaster/megakernel/policy"

// Hysteresis is what a stage of the decision remembers. Decisions are made from
// Issued, so that several decisions during one flight build on each other and
// do not flap; Committed is what the last successful launch ran with.
type Hysteresis[T comparable] struct {
	Issued    Mark[T] `json:"issued,omitzero"`
	Committed Mark[T] `json:"committed,omitzero"`
	Newest    uint64  `json:"newest,omitzero"` // decision issued last
	Taken     uint64  `json:"taken,omitzero"`  // Newest, when a failure last took Issued back
}

// Mark is a state and the decision that left it behind; 0 is "before any".
type Mark[T any] struct {
	State    T      `json:"state,omitzero"`
	Decision uint64 `json:"decision,omitzero"`
}

// Issue records the state after a decision. That of a worker elsewhere which has never
// reported a launch is committed at once: nothing else will commit it.
func (m *Hysteresis[T]) Issue(decision uint64, after T, commit bool) {
	m.Issued = Mark[T]{after, decision}
	m.Newest = decision
	if commit {
		m.Committed = m.Issued
	}
}

// Settle records how a launch of a decision ended; state is what that decision left
// behind.
//
// A failure returns issued to committed, unless an earlier failure has taken that
// decision back already: of several launches in flight, the first that fails does so
// for all that were decided before the failure was known, and later decisions do not
// build on them. A success commits what ran, taken back or not, and issued follows
// unless a newer decision stands. reverted reports whether a failure changed issued.
func (m *Hysteresis[T]) Settle(decision uint64, ok bool, state T) (reverted bool) {
	if !ok {
		if decision <= m.Taken {
			return false
		}
		reverted = m.Issued.State != m.Committed.State
		m.Issued, m.Taken = m.Committed, m.Newest
		return reverted
	}
	m.Committed = Mark[T]{state, decision}
	if m.Issued.Decision <= decision {
		m.Issued = m.Committed
	}
	return false
}

// Within says that nothing in it comes from a decision after a certain one.
func (m *Hysteresis[T]) Within(decision uint64) bool {
	return max(m.Issued.Decision, m.Committed.Decision, m.Newest, m.Taken) <= decision
}

// MaxRecent is how many runs of decisions of a remote worker's queue are remembered.
const MaxRecent = 128

// Recent remembers what the newest decisions of a remote worker's queue left
// behind, until its launch reports name them. Decisions in a row that left the same behind
// share a run, so a queue in a steady state needs one.
type Recent []Run

// Run is decisions in a row that left the same behind.
type Run struct {
	First uint64       `json:"first"`
	Last  uint64       `json:"last"`
	State policy.State `json:"state,omitzero"`
}

// Add remembers what a decision left behind.
func (r *Recent) Add(decision uint64, after policy.State) {
	runs := *r
	if n := len(runs); n > 0 && runs[n-1].Last+1 == decision && runs[n-1].State == after {
		runs[n-1].Last = decision
		return
	}
	if len(runs) == MaxRecent {
		runs = runs[:copy(runs, runs[1:])]
	}
	*r = append(runs, Run{decision, decision, after})
}

// Find says what a decision left behind, if that is still remembered.
func (r Recent) Find(decision uint64) (policy.State, bool) {
	for _, one := range r {
		if one.First <= decision && decision <= one.Last {
			return one.State, true
		}
	}
	return policy.State{}, false
}
