package lease

import (
	"testing"

	"pgregory.net/rapid"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
)

func TestRecordOfAnotherRoundOrPartlyOldIsNoticed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.Uint32(), 7, 7).Draw(t, "words")
		tail := rapid.Uint32Min(1<<kernel.TailCountBits).Draw(t, "tail")
		sum := kernel.MailSum(tail, words...)
		if other := rapid.Uint32().Draw(t, "other"); other != tail && kernel.MailSum(other, words...) == sum {
			t.Fatalf("tails %#x and %#x have check %#x", tail, other, sum)
		}
		at := rapid.IntRange(0, len(words)-1).Draw(t, "at")
		if old := rapid.Uint32().Draw(t, "old"); old != words[at] {
			words[at] = old
			if kernel.MailSum(tail, words...) == sum {
				t.Fatalf("word %d as %#x has check %#x too", at, old, sum)
			}
		}
		if kernel.MailSum(tail, make([]uint32, 7)...) == 0 {
			t.Fatalf("a cleared record is one of tail %#x", tail)
		}
	})
}

func TestRecordsAreClearedWhenRoundNumbersBeginAnew(t *testing.T) {
	d := newModelDevice(64)
	l := openModel(t, d, nil)
	run := func(n int) {
		t.Helper()
		slots := make([]ring.Slot, n)
		if err := l.Do(Window{Length: 64}, slots, published(n), make([]uint32, n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.End(); err != nil {
		t.Fatal(err)
	}
	l.tail = (kernel.TailRounds - 1) << kernel.TailCountBits
	run(5)
	load := func() kernel.MailRecord {
		records := make([]kernel.MailRecord, 1)
		d.LoadMapped(modelMailbox, kernel.MailRecordsAt+4*kernel.MailRecordWords*ring.WordBytes, gpu.Bytes(records))
		return records[0]
	}
	if fifth := load(); fifth.Check != fifth.Sum(l.tail) {
		t.Fatalf("%+v is no record of %#x", fifth, l.tail)
	}
	run(1)
	if l.tail != 1<<kernel.TailCountBits|1 {
		t.Errorf("tail %#x, want the first round's", l.tail)
	}
	if r := load(); r != (kernel.MailRecord{}) {
		t.Errorf("%+v is left", r)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if d.broken.Load() {
		t.Error("a call or a record has a wrong check")
	}
}
