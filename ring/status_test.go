package ring

import "testing"

func TestStatusFieldsDoNotOverlap(t *testing.T) {
	fields := []uint32{
		StatusStateMask,
		StatusFaultMask << StatusFaultShift,
		StatusAttemptMask << StatusAttemptShift,
	}
	var all uint32
	for i, f := range fields {
		if all&f != 0 {
			t.Errorf("field %d overlaps an earlier one", i)
		}
		all |= f
	}
	if uint32(states) > StatusStateMask+1 {
		t.Errorf("%d states do not fit the mask", states)
	}
	if uint32(FaultUser)+UserFaults-1 != StatusFaultMask {
		t.Errorf("the last user fault is %d, the mask ends at %d", uint32(FaultUser)+UserFaults-1, StatusFaultMask)
	}
}

func TestStatusKeepsTheOtherFields(t *testing.T) {
	s := NewStatus(Published).Attempted().Attempted()
	s = s.WithFault(FaultUser + 7)
	if s.State() != Fault || s.Fault() != FaultUser+7 || s.Attempts() != 2 {
		t.Errorf("got %s", s)
	}
	s = s.With(Empty)
	if s.State() != Empty || s.Fault() != FaultNone || s.Attempts() != 2 {
		t.Errorf("got %s", s)
	}
}

func TestAttemptsSaturate(t *testing.T) {
	s := NewStatus(Published)
	for range 300 {
		s = s.Attempted()
	}
	if s.Attempts() != StatusAttemptMask || s.State() != Published || s.Fault() != FaultNone {
		t.Errorf("got %s", s)
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
