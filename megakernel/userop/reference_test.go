package userop

import (
	"math"
	"slices"
	"testing"
)

func TestTheFirstViolationEndsASlot(t *testing.T) {
	s := Slot{Window: []uint32{1, 2, 3}, Steps: 2}
	s.Store(2, 30)
	if s.Load(3) != 0 || s.Violation != OutsideWindow {
		t.Errorf("a load outside: %v", s.Violation)
	}
	s.Fail(5)
	s.Store(0, 9)
	s.AtomicAdd(1, 9)
	if s.Violation != OutsideWindow || s.Load(0) != 0 || s.Step() {
		t.Errorf("the slot goes on after its end: %+v", s)
	}
	if !slices.Equal(s.Window, []uint32{1, 2, 30}) {
		t.Errorf("window %v", s.Window)
	}
}

func TestStepsEnd(t *testing.T) {
	s := Slot{Window: []uint32{0}, Steps: 2}
	turns := 0
	for s.Step() {
		turns++
	}
	if turns != 2 || s.Violation != TooManySteps {
		t.Errorf("%d turns, %+v", turns, s)
	}
}

func TestASlotThatDeclaresTooManyStepsDoesNothing(t *testing.T) {
	op := examples(t)[0]
	s := Slot{Window: make([]uint32, 300)}
	s.Args[1] = op.MaxSteps + 1
	if !op.Run(&s) || s.Violation != TooManySteps || slices.Max(s.Window) != 0 {
		t.Errorf("violation %v", s.Violation)
	}
	if op.Steps(&s.Args) != 0 || op.Steps(&[12]uint32{1: 77}) != 77 {
		t.Error("steps do not follow the operand")
	}
}

func TestAnOpcodeWithoutReferenceSaysSo(t *testing.T) {
	op := Opcode{StepsOperand: NoOperand}
	if op.Run(&Slot{}) {
		t.Error("ran")
	}
}

func TestVectorsTakeTheStepsOfAllTheirLoops(t *testing.T) {
	for _, c := range []struct {
		op   Opcode
		want uint32
	}{
		{Opcode{}, 0},
		{Opcode{Loops: 1}, 10},
		{Opcode{Loops: 3}, 30},
		{Opcode{Loops: 40}, 160},
		{Opcode{Loops: 2, Nested: true}, 160},
	} {
		if got := c.op.VectorSteps(10); got != c.want {
			t.Errorf("%d loops, nested %v: %d, want %d", c.op.Loops, c.op.Nested, got, c.want)
		}
	}
}

func TestReferencesOfTheExamples(t *testing.T) {
	ops := examples(t)
	window := make([]uint32, 1024)
	window[0] = 'a' | ' '<<8 | 'b'<<16 | 'c'<<24
	run := func(op int, args ...uint32) *Slot {
		s := &Slot{Window: window}
		copy(s.Args[:], args)
		if !ops[op].Run(s) || s.Ended() {
			t.Fatalf("%s: %+v", ops[op].Name, s)
		}
		return s
	}
	run(0, 0, 4, 16)
	if window[16+'a'] != 1 || window[16+' '] != 1 || window[16+'c'] != 1 || window[16+'d'] != 0 {
		t.Error("histogram miscounts")
	}
	for c := range uint32(256) {
		if letter := c >= 'a' && c <= 'z'; letter {
			window[300+c], window[556+c] = 1|matchBit, 1
		}
	}
	whole := run(1, 0, 4, 300, 0, 900)
	if window[900] != 2 || whole.Word != 1 {
		t.Errorf("two words are %d, the last state is %d", window[900], whole.Word)
	}
	if run(1, 3, 1, 300, 0, 901); window[901] != 0 {
		t.Error("a piece within a word begins a word")
	}
	window[100], window[101] = math.Float32bits(1.5), math.Float32bits(2)
	if run(2, math.Float32bits(3), 100, 101, 1); math.Float32frombits(window[101]) != 6.5 {
		t.Error("saxpy miscalculates")
	}
}
