package hotset

import (
	"strings"
	"testing"

	"ringmaster/megakernel/kernel"
)

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

// run gives the last decision and the number of changes.
func run(t *testing.T, cfg Config, s State, steps ...step) (last Decision, changes int, _ State) {
	t.Helper()
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, p := range steps {
		o := p.observation()
		for range p.launches {
			last, s = Decide(cfg, s, o)
			if last.Changed {
				changes++
			}
		}
	}
	return last, changes, s
}

func set(opcodes ...int) (s kernel.OpcodeSet) {
	for _, o := range opcodes {
		s |= 1 << o
	}
	return s
}

func TestSmallestSetWithTheShareIsPromotedAfterTheDwell(t *testing.T) {
	cfg := DefaultConfig()
	load := step{15, map[int]uint32{1: 600, 2: 300, 3: 60, 4: 40}}
	d, changes, s := run(t, cfg, State{}, load)
	if d.Set != 0 || changes != 0 || d.Rule != RuleDwell || !d.Held {
		t.Errorf("before the dwell: %+v", d)
	}
	load.launches = 1
	d, changes, _ = run(t, cfg, s, load)
	if d.Set != set(1, 2, 3) || changes != 1 || d.Rule != RuleShare || d.Held {
		t.Errorf("after it: %+v, want opcodes 1, 2 and 3", d)
	}
	if d.CoverBps < 9590 || d.CoverBps > 9600 {
		t.Errorf("reasons: %+v", d)
	}
}

func TestSetStaysInsideTheBandAndLeavesBelowIt(t *testing.T) {
	cfg := DefaultConfig()
	d, _, s := run(t, cfg, State{}, step{20, map[int]uint32{1: 96, 2: 4}})
	if d.Set != set(1) {
		t.Fatalf("start: %+v", d)
	}
	d, changes, s := run(t, cfg, s, step{1000, map[int]uint32{1: 91, 2: 9}})
	if d.Set != set(1) || changes != 0 || d.Rule != RuleHeld || !d.Held {
		t.Errorf("91 %%: %+v, %d changes, want it held", d, changes)
	}
	d, changes, _ = run(t, cfg, s, step{200, map[int]uint32{1: 89, 2: 11}})
	if d.Set != set(1, 2) || changes != 1 {
		t.Errorf("89 %%: %+v, %d changes, want both opcodes", d, changes)
	}
}

func TestManyEqualOpcodesKeepTheInterpreter(t *testing.T) {
	load := map[int]uint32{}
	for o := range 12 {
		load[o] = 100
	}
	d, changes, s := run(t, DefaultConfig(), State{}, step{500, load})
	if d.Set != 0 || changes != 0 || d.Rule != RuleBelow {
		t.Errorf("%+v, want the interpreter: 8 of 12 have two thirds", d)
	}
	d, _, s = run(t, DefaultConfig(), s, step{200, map[int]uint32{3: 1000}})
	if d.Set != set(3) {
		t.Fatalf("one opcode: %+v", d)
	}
	d, changes, _ = run(t, DefaultConfig(), s, step{500, load})
	if d.Set != 0 || changes > 2 || d.Rule != RuleBelow {
		t.Errorf("%+v, %d changes, want back to the interpreter, by way of a larger set at most", d, changes)
	}
}

func TestOpcodeThatNoLongerRunsIsDropped(t *testing.T) {
	_, _, s := run(t, DefaultConfig(), State{}, step{30, map[int]uint32{1: 50, 2: 50}})
	d, changes, _ := run(t, DefaultConfig(), s, step{300, map[int]uint32{1: 100}})
	if d.Set != set(1) || changes != 1 {
		t.Errorf("%+v, %d changes, want opcode 1 alone", d, changes)
	}
}

func TestOpcodeThatCannotBeFusedIsNeverWanted(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Fusable &^= 1 << 7
	d, changes, _ := run(t, cfg, State{}, step{100, map[int]uint32{7: 100, 1: 10}})
	if d.Set.Has(7) || changes > 1 {
		t.Errorf("%+v", d)
	}
}

func TestLaunchThatExecutedNothingChangesNothing(t *testing.T) {
	cfg := DefaultConfig()
	d, s := Decide(cfg, State{}, &Counts{})
	if d.Set != 0 || d.Rule != RuleNothing || d.Changed || d.Held || s != (State{}) {
		t.Errorf("at the start: %+v", d)
	}
	_, _, s = run(t, cfg, State{}, step{40, map[int]uint32{5: 10}})
	d, changes, after := run(t, cfg, s, step{1000, nil})
	if d.Set != set(5) || changes != 0 || d.Rule != RuleNothing || after != s {
		t.Errorf("after work: %+v, %d changes", d, changes)
	}
}

func TestConfigReportsEveryProblem(t *testing.T) {
	err := (&Config{ShareBps: 20_000, LeaveBps: 30_000, StaleBps: 1}).Validate()
	for _, want := range []string{"ShareBps", "LeaveBps", "MaxHot", "DecayShift"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

func TestRulesHaveNames(t *testing.T) {
	for r := RuleNothing; r <= RuleDwell; r++ {
		if r.String() == "unknown" || r.String() == "" {
			t.Errorf("rule %d has no name", r)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	cfg, s := DefaultConfig(), State{}
	o := step{1, map[int]uint32{1: 600, 2: 300, 3: 60, 4: 40}}.observation()
	b.ReportAllocs()
	for b.Loop() {
		_, s = Decide(cfg, s, o)
	}
}
