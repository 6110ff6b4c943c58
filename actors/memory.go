package actors

// memory is what a stage of the decision remembers. Decisions are made from
// issued, so that several decisions during one flight build on each other and
// do not flap; committed is what the last successful launch ran with.
type memory[T comparable] struct {
	issued, committed mark[T]
}

// mark is a state and the decision that left it behind; 0 is "before any".
type mark[T any] struct {
	state    T
	decision uint64
}

// issue records the state after a decision.
func (m *memory[T]) issue(decision uint64, after T, commit bool) {
	m.issued = mark[T]{after, decision}
	if commit {
		m.committed = m.issued
	}
}

// settle records how a launch of a decision ended, state being what that
// decision left behind. A failure returns issued to committed. A success
// commits, and issued follows unless a newer decision was issued meanwhile.
// reverted reports whether issued is another state than before for a failure.
func (m *memory[T]) settle(decision uint64, ok bool, state T) (reverted bool) {
	if !ok {
		reverted = m.issued.state != m.committed.state
		m.issued = m.committed
		return reverted
	}
	m.committed = mark[T]{state, decision}
	if m.issued.decision <= decision {
		m.issued = m.committed
	}
	return false
}
