package ring

import "testing"

func TestStatusFieldsDoNotOverlap(t *testing.T) {
	fields := []uint32{
		StatusStateMask,
		StatusFaultMask << StatusFaultShift,
		StatusAttemptMask << StatusAttemptShift,
		StatusAgeMask << StatusAgeShift,
	}
	var all uint32
	for i, f := range fields {
		if all&f != 0 {
			t.Errorf("field %d overlaps an earlier one", i)
		}
		all |= f
	}
	if all != ^uint32(0) {
		t.Errorf("fields cover %#x", all)
	}
	if uint32(states) > StatusStateMask+1 {
		t.Errorf("%d states do not fit the mask", states)
	}
	if uint32(FaultUser)+UserFaults-1 != StatusFaultMask {
		t.Errorf("the last user fault is %d, the mask ends at %d", uint32(FaultUser)+UserFaults-1, StatusFaultMask)
	}
}

func TestStatusKeepsTheOtherFields(t *testing.T) {
	s := NewStatus(Published).Attempted().Attempted().Aged()
	s = s.WithFault(FaultUser + 7)
	if s.State() != Fault || s.Fault() != FaultUser+7 || s.Attempts() != 2 || s.Age() != 1 {
		t.Errorf("got %s", s)
	}
	s = s.With(Empty)
	if s.State() != Empty || s.Fault() != FaultNone || s.Attempts() != 2 || s.Age() != 1 {
		t.Errorf("got %s", s)
	}
}

func TestAttemptsAndAgeSaturate(t *testing.T) {
	s := NewStatus(Published)
	for range 300 {
		s = s.Attempted().Aged()
	}
	if s.Attempts() != StatusAttemptMask || s.Age() != StatusAgeMask || s.State() != Published || s.Fault() != FaultNone {
		t.Errorf("got %s", s)
	}
}

func TestTransitions(t *testing.T) {
	legal := map[State][]State{
		Empty:     {Published},
		Published: {Claimed, Done, Yielded, Requeued, Fault},
		Claimed:   {Published, Done, Yielded, Requeued, Fault},
		Done:      {Empty},
		Yielded:   {Published},
		Requeued:  {Published},
		Fault:     {Empty},
	}
	for from := range State(StatusStateMask + 1) {
		for to := range State(StatusStateMask + 1) {
			want := false
			for _, s := range legal[from] {
				want = want || s == to
			}
			if got := from.CanBecome(to); got != want {
				t.Errorf("%s to %s: %t, want %t", from, to, got, want)
			}
		}
	}
}

func TestEveryStateAndFaultHasAName(t *testing.T) {
	seen := map[string]bool{}
	for s := range states {
		seen[s.String()] = true
	}
	if len(seen) != int(states) || seen[""] {
		t.Errorf("states: %v", seen)
	}
	seen = map[string]bool{}
	for f := range faults {
		seen[f.String()] = true
	}
	if len(seen) != int(faults) || seen[""] {
		t.Errorf("faults: %v", seen)
	}
}
