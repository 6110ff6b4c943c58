package hotset

import (
	"testing"

	"ringmaster/megakernel/kernel"
)

// every is all opcodes.
const every = ^kernel.OpcodeSet(0)

// step is a number of equal launches.
type step struct {
	launches int
	counts   map[int]uint32
}

func (p step) observation() *Counts {
	o := &Counts{}
	for opcode, n := range p.counts {
		o[opcode] = n
	}
	return o
}

// run gives the state after the steps and the number of changes.
func run(fusable kernel.OpcodeSet, s State, steps ...step) (_ State, changes int) {
	for _, p := range steps {
		o := p.observation()
		for range p.launches {
			before := s.Set
			if s = Decide(fusable, s, o); s.Set != before {
				changes++
			}
		}
	}
	return s, changes
}

func set(opcodes ...int) (s kernel.OpcodeSet) {
	for _, o := range opcodes {
		s |= 1 << o
	}
	return s
}

func TestSmallestSetWithTheShareIsPromotedAfterTheDwell(t *testing.T) {
	load := step{15, map[int]uint32{1: 600, 2: 300, 3: 60, 4: 40}}
	s, changes := run(every, State{}, load)
	if s.Set != 0 || changes != 0 {
		t.Errorf("before the dwell: %x", s.Set)
	}
	load.launches = 1
	s, changes = run(every, s, load)
	if s.Set != set(1, 2, 3) || changes != 1 {
		t.Errorf("after it: %x, want opcodes 1, 2 and 3", s.Set)
	}
}

func TestSetStaysInsideTheBandAndLeavesBelowIt(t *testing.T) {
	s, _ := run(every, State{}, step{20, map[int]uint32{1: 96, 2: 4}})
	if s.Set != set(1) {
		t.Fatalf("start: %x", s.Set)
	}
	s, changes := run(every, s, step{1000, map[int]uint32{1: 91, 2: 9}})
	if s.Set != set(1) || changes != 0 {
		t.Errorf("91 %%: %x, %d changes, want it held", s.Set, changes)
	}
	s, changes = run(every, s, step{200, map[int]uint32{1: 89, 2: 11}})
	if s.Set != set(1, 2) || changes != 1 {
		t.Errorf("89 %%: %x, %d changes, want both opcodes", s.Set, changes)
	}
}

func TestManyEqualOpcodesKeepTheInterpreter(t *testing.T) {
	load := map[int]uint32{}
	for o := range 12 {
		load[o] = 100
	}
	s, changes := run(every, State{}, step{500, load})
	if s.Set != 0 || changes != 0 {
		t.Errorf("%x, want the interpreter: 8 of 12 have two thirds", s.Set)
	}
	s, _ = run(every, s, step{200, map[int]uint32{3: 1000}})
	if s.Set != set(3) {
		t.Fatalf("one opcode: %x", s.Set)
	}
	s, changes = run(every, s, step{500, load})
	if s.Set != 0 || changes > 2 {
		t.Errorf("%x, %d changes, want back to the interpreter, by way of a larger set at most", s.Set, changes)
	}
}

func TestOpcodeThatNoLongerRunsIsDropped(t *testing.T) {
	s, changes := run(every, State{}, step{30, map[int]uint32{1: 50, 2: 50}}, step{300, map[int]uint32{1: 100}})
	if s.Set != set(1) || changes != 2 {
		t.Errorf("%x, %d changes, want both opcodes, then opcode 1 alone", s.Set, changes)
	}
}

func TestOpcodeThatCannotBeFusedIsNeverWanted(t *testing.T) {
	s, changes := run(every&^(1<<7), State{}, step{100, map[int]uint32{7: 100, 1: 10}})
	if s.Set.Has(7) || changes > 1 {
		t.Errorf("%x, %d changes", s.Set, changes)
	}
}

func TestLaunchThatExecutedNothingChangesNothing(t *testing.T) {
	if s := Decide(every, State{}, &Counts{}); s != (State{}) {
		t.Errorf("at the start: %+v", s)
	}
	s, _ := run(every, State{}, step{40, map[int]uint32{5: 10}})
	if after, _ := run(every, s, step{1000, nil}); s.Set != set(5) || after != s {
		t.Errorf("after work: %+v, want %+v", after, s)
	}
}

func BenchmarkDecide(b *testing.B) {
	var s State
	o := step{1, map[int]uint32{1: 600, 2: 300, 3: 60, 4: 40}}.observation()
	b.ReportAllocs()
	for b.Loop() {
		s = Decide(every, s, o)
	}
}
