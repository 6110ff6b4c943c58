package ledger

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ringmaster/ring"
)

func slotsAlone(slots []ring.Slot) ([]ring.Slot, []Run) { return slots, nil }

// runsOf are the same slots as runs. An argument that all slots of a run have in common
// is a value, another one words.
func runsOf(slots []ring.Slot) (none []ring.Slot, runs []Run) {
	for len(slots) > 0 {
		first := &slots[0]
		n := 1
		for n < len(slots) && slots[n].Opcode == first.Opcode && slots[n].Priority == first.Priority {
			n++
		}
		run := Run{Opcode: first.Opcode, Priority: first.Priority, Count: n}
		for a := range run.Args {
			run.Args[a].Value = first.Args[a]
			for i := range slots[:n] {
				if slots[i].Args[a] != first.Args[a] {
					run.Args[a] = wordsOf(slots[:n], a)
					break
				}
			}
		}
		runs = append(runs, run)
		slots = slots[n:]
	}
	return nil, runs
}

func wordsOf(slots []ring.Slot, a int) (arg Arg) {
	for i := range slots {
		arg.Words = binary.LittleEndian.AppendUint32(arg.Words, slots[i].Args[a])
	}
	return arg
}

// TestRunsAreWrittenLikeSlots compares what reaches the device of a batch of slots, of
// the same as runs, and of the same as slots and runs.
func TestRunsAreWrittenLikeSlots(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var slots []ring.Slot
		for range 1 + random.IntN(5) {
			s := ring.Slot{Opcode: random.Uint32N(testFence + 1), Priority: random.Uint32N(2)}
			for range 1 + random.IntN(400) {
				s.Args[random.IntN(3)] = random.Uint32()
				slots = append(slots, s)
			}
		}
		slots = slots[:min(len(slots), 1000)]
		listed := random.IntN(len(slots) + 1)
		_, all := runsOf(slots)
		_, rest := runsOf(slots[listed:])
		want := written(t, Batch{Slots: slices.Clone(slots)})
		for _, b := range []Batch{{Runs: all}, {Slots: slices.Clone(slots[:listed]), Runs: rest}} {
			if got := written(t, b); !slices.Equal(got, want) {
				t.Fatalf("%d slots, %d listed: what is written differs", len(slots), len(b.Slots))
			}
		}
	}
}

// written runs a batch and returns its slots in the order in which they were written.
func written(t *testing.T, work Batch) (out []ring.Slot) {
	t.Helper()
	l, err := New(testConfig())
	if err != nil {
		t.Fatal(err)
	}
	work.ID = "b"
	if err := l.Check(&work); err != nil {
		t.Fatal(err)
	}
	entry, err := l.NewEntry(work, Profile{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1000, 0)
	extents, err := l.Submit(now, nil, "q", entry)
	if err != nil {
		t.Fatal(err)
	}
	gather := make([]ring.Slot, 0, ring.PageSlots)
	write := func(extents []Extent) {
		for i := range extents {
			out = append(out, l.Slots(&extents[i], gather)...)
		}
		l.Publish(now, extents)
	}
	write(extents)
	for w := new(Wave); ; {
		if err := l.Begin(now, w, "q", 0); err != nil {
			t.Fatal(err)
		}
		write(l.Reserve(nil, w))
		if l.Plan(w); w.Slots == 0 {
			l.Return(now, w)
			back := l.Finished("q")[0].Slots
			if len(back) != len(work.Slots) || len(back) > 0 && &back[0] != &work.Slots[0] {
				t.Error("the batch's slots are not given back")
			}
			return out
		}
		checkEach(t, w, out)
		w.CopyStatuses()
		var c ring.Control
		w.Each(func(at int, _ *ring.Slot, _ ring.Status) {
			w.Statuses[at] = ring.NewStatus(ring.Done)
			c.Executed++
		})
		if err := w.Collect(&c); err != nil {
			t.Fatal(err)
		}
		if err := l.Settle(now, w); err != nil {
			t.Fatal(err)
		}
	}
}

// checkEach checks that a lease is given the slots that were written.
func checkEach(t *testing.T, w *Wave, written []ring.Slot) {
	t.Helper()
	bySequence := make(map[uint32]ring.Slot)
	for _, s := range written {
		bySequence[s.Sequence] = s
	}
	w.Each(func(_ int, s *ring.Slot, _ ring.Status) {
		if bySequence[s.Sequence] != *s {
			t.Fatalf("slot %+v, %+v was written", *s, bySequence[s.Sequence])
		}
	})
}

func TestRunsThatCannotBeFilledAreRefused(t *testing.T) {
	l, err := New(testConfig())
	if err != nil {
		t.Fatal(err)
	}
	words := func(n int) (args [ring.ArgWords]Arg) {
		args[3].Words = make([]byte, n)
		return args
	}
	for name, runs := range map[string][]Run{
		"no slots":            {{Count: 0}},
		"a negative count":    {{Count: -1}, {Count: 2}},
		"too many":            {{Count: 4001}},
		"too many together":   {{Count: 4000}, {Count: 1}},
		"counts that wrap":    {{Count: 1 << 62}, {Count: 1 << 62}, {Count: 1 << 62}, {Count: 1<<62 + 1}},
		"an unknown priority": {{Count: 1, Priority: ring.Priorities}},
		"a word too few":      {{Count: 2, Args: words(4)}},
		"half a word more":    {{Count: 2, Args: words(10)}},
		"no words":            {{Count: 2, Args: words(0)}},
	} {
		if err := l.Check(&Batch{ID: "b", Runs: runs}); !errors.Is(err, ErrBatch) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
