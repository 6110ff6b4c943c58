package actors

import (
	"fmt"
	"testing"

	"ringmaster/telemetry"
)

func TestRecordsKeptForRepeatsHaveABound(t *testing.T) {
	f := finishedBatches{byKey: make(map[batchKey]*finishedBatch)}
	family := &family{name: "q"}
	const results = 64 << 10
	n := maxKeptWords/results + 10
	for i := range n {
		b := &batch{family: family, work: telemetry.Work{Batch: fmt.Sprint("b", i)}}
		b.done = &telemetry.Done{Batch: b.work.Batch, Executed: results, Results: make([]uint32, results)}
		f.add(b)
		ran := f.byKey[b.key()]
		f.delivered(ran)
		f.delivered(ran) // a repeat: its record is kept once
		if f.words > maxKeptWords {
			t.Fatalf("%d words are kept", f.words)
		}
	}
	for i := range n {
		d := f.byKey[batchKey{"q", fmt.Sprint("b", i)}].done
		if want := i >= 10; (d.Results != nil) != want || d.Executed != results {
			t.Fatalf("batch %d of %d: %d results, executed %d", i, n, len(d.Results), d.Executed)
		}
	}
	if len(f.heavy) != n-10 || f.words != maxKeptWords {
		t.Errorf("%d records, %d words", len(f.heavy), f.words)
	}
}
