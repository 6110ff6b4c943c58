package actors

// memory is what a stage of the decision remembers. Decisions are made from
// issued, so that several decisions during one flight build on each other and
// do not flap; committed is what the last successful launch ran with.
type memory[T comparable] struct {
	issued, committed mark[T]
	newest            uint64 // decision issued last
	taken             uint64 // newest, when a failure last took issued back
}

// mark is a state and the decision that left it behind; 0 is "before any".
type mark[T any] struct {
	state    T
	decision uint64
}

// issue records the state after a decision.
func (m *memory[T]) issue(decision uint64, after T, commit bool) {
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
func (m *memory[T]) settle(decision uint64, ok bool, state T) (reverted bool) {
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
