package hotset

import (
	"testing"

	"pgregory.net/rapid"

	"ringmaster/megakernel/kernel"
)

func anyObservation(t *rapid.T) *Counts {
	o := &Counts{}
	for range rapid.IntRange(0, 12).Draw(t, "opcodes") {
		o[rapid.IntRange(0, Opcodes-1).Draw(t, "opcode")] = rapid.OneOf(
			rapid.Uint32Range(0, 1000), rapid.Uint32()).Draw(t, "count")
	}
	return o
}

func TestDecisionsAreDeterministicAndBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fusable := kernel.OpcodeSet(rapid.Uint64().Draw(t, "fusable"))
		var a, b State
		sinceChange := uint32(0)
		for range rapid.IntRange(1, 60).Draw(t, "launches") {
			o := anyObservation(t)
			before := a.Set
			a, b = Decide(fusable, a, o), Decide(fusable, b, o)
			if a != b {
				t.Fatalf("%+v and %+v", a, b)
			}
			if a.Set&^fusable != 0 || a.Set.Len() > maxHot {
				t.Fatalf("set %x of at most %d, fusable %x", a.Set, maxHot, fusable)
			}
			if *o != (Counts{}) {
				sinceChange++
			}
			if a.Set != before {
				if cover := a.cover(a.Set, a.total(every)); cover > full || a.Set != 0 && cover < shareBps {
					t.Fatalf("changed to %x with %d of %d", a.Set, cover, shareBps)
				}
				if sinceChange < minDwell {
					t.Fatalf("changed after %d launches, the dwell is %d", sinceChange, minDwell)
				}
				sinceChange = 0
			}
		}
	})
}

// TestSteadyInputSettles: whatever the state, equal launches bring a last change
// and none after it.
func TestSteadyInputSettles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fusable := kernel.OpcodeSet(rapid.Uint64().Draw(t, "fusable"))
		var s State
		for range rapid.IntRange(0, 40).Draw(t, "launches before") {
			s = Decide(fusable, s, anyObservation(t))
		}
		o := anyObservation(t)
		// 40 bits of weight that decay by 1/16 a launch are gone after 28 x 16 launches.
		for range 600 {
			s = Decide(fusable, s, o)
		}
		for i := range 200 {
			before := s.Set
			if s = Decide(fusable, s, o); s.Set != before {
				t.Fatalf("changed to %x at launch %d of the same", s.Set, i)
			}
		}
	})
}

// TestNoChangeInsideTheBand: noise that leaves the set between leave and enter
// never changes it.
func TestNoChangeInsideTheBand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s State
		var warm Counts
		warm[9] = 970
		warm[3] = 30
		for range 40 {
			s = Decide(every, s, &warm)
		}
		if s.Set != 1<<9 {
			t.Fatalf("set %x", s.Set)
		}
		for range rapid.IntRange(1, 300).Draw(t, "launches") {
			// 90.1 to 99 % of each launch, the rest on two others.
			var o Counts
			hot := rapid.Uint32Range(9010, 9900).Draw(t, "hot")
			part := rapid.Uint32Range(0, 10_000-hot).Draw(t, "part")
			o[9], o[3], o[4] = hot, part, 10_000-hot-part
			if s = Decide(every, s, &o); s.Set != 1<<9 {
				t.Fatalf("changed to %x", s.Set)
			}
		}
	})
}
