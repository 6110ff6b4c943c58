package ring

import (
	"flag"
	"os"
	"testing"
	"unsafe"
)

var update = flag.Bool("update", false, "write golden files")

func TestSlotIsSixteenWordsInDocumentedOrder(t *testing.T) {
	var s Slot
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"Opcode", unsafe.Offsetof(s.Opcode), 0},
		{"Tenant", unsafe.Offsetof(s.Tenant), 4},
		{"Priority", unsafe.Offsetof(s.Priority), 8},
		{"Sequence", unsafe.Offsetof(s.Sequence), 12},
		{"Args", unsafe.Offsetof(s.Args), 16},
		{"size", unsafe.Sizeof(s), SlotBytes},
		{"words", SlotWords * WordBytes, SlotBytes},
		{"arguments", unsafe.Sizeof(s.Args), ArgWords * WordBytes},
	} {
		if c.got != c.want {
			t.Errorf("Slot.%s: %d, want %d", c.name, c.got, c.want)
		}
	}
}

func TestControlBlockOffsets(t *testing.T) {
	var c Control
	for i, field := range []struct {
		name string
		got  uintptr
	}{
		{"Ticket", unsafe.Offsetof(c.Ticket)},
		{"Executed", unsafe.Offsetof(c.Executed)},
		{"Faulted", unsafe.Offsetof(c.Faulted)},
		{"Unreached", unsafe.Offsetof(c.Unreached)},
		{"Again", unsafe.Offsetof(c.Again)},
		{"Chunks", unsafe.Offsetof(c.Chunks)},
		{"LocalSize", unsafe.Offsetof(c.LocalSize)},
		{"Groups", unsafe.Offsetof(c.Groups)},
		{"Chunk", unsafe.Offsetof(c.Chunk)},
		{"ClaimBudget", unsafe.Offsetof(c.ClaimBudget)},
		{"StepBudget", unsafe.Offsetof(c.StepBudget)},
		{"Cold", unsafe.Offsetof(c.Cold)},
		{"ColdTicket", unsafe.Offsetof(c.ColdTicket)},
		{"ColdDispatch", unsafe.Offsetof(c.ColdDispatch)},
	} {
		if field.got != uintptr(4*i) {
			t.Errorf("Control.%s at %d, want %d", field.name, field.got, 4*i)
		}
	}
	if got := unsafe.Offsetof(c.ColdDispatch); got != ColdDispatchOffset {
		t.Errorf("Control.ColdDispatch at %d, want %d", got, ColdDispatchOffset)
	}
	if got := unsafe.Offsetof(c.OpcodeCounts); got != 64 {
		t.Errorf("Control.OpcodeCounts at %d, want 64", got)
	}
	if got := unsafe.Sizeof(c); got != ControlWords*WordBytes {
		t.Errorf("size %d, want %d", got, ControlWords*WordBytes)
	}
}

func TestPreludeMatchesGolden(t *testing.T) {
	const golden = "testdata/prelude.glsl"
	if *update {
		if err := os.WriteFile(golden, []byte(Prelude()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := Prelude(); got != string(want) {
		t.Errorf("the prelude changed; if that is meant, run go test -update. Now:\n%s", got)
	}
}

func TestEntryHoldsEveryPageAndCount(t *testing.T) {
	for _, page := range []uint32{0, 1, 255, 256, MaxPages - 1} {
		for _, count := range []int{1, 255, 256} {
			if e := NewEntry(page, count); e.Page() != page || e.Count() != count {
				t.Errorf("NewEntry(%d, %d) is page %d, count %d", page, count, e.Page(), e.Count())
			}
		}
	}
}
