package actors

import (
	"fmt"
	"testing"

	"ringmaster/telemetry"
)

// ranBatch is a batch of a queue that ran, with some words of results.
func ranBatch(queue, id string, results int) *batch {
	b := &batch{family: &family{name: queue}, work: telemetry.Work{Batch: id}}
	b.done = &telemetry.Done{Batch: id, Executed: uint32(results), Results: make([]uint32, results)}
	return b
}

func TestRecordsKeptForRepeatsHaveABound(t *testing.T) {
	f := newFinishedBatches()
	const results = 64 << 10
	n := maxKeptWords/results + 10
	for i := range n {
		b := ranBatch("q", fmt.Sprint("b", i), results)
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
	if q := f.byQueue["q"]; len(q.heavy) != n-10 || f.words != maxKeptWords || q.words.n != f.words {
		t.Errorf("%d records, %d words, %d of the queue", len(q.heavy), f.words, q.words.n)
	}
}

// Each queue's batches are pushed out by its own, or where the worker's bound is reached by those of
// all queues that have more.
func TestBatchesThatRanAreForgottenByTheQueueThatHasMost(t *testing.T) {
	f := newFinishedBatches()
	add := func(queue string, batches, results int) {
		for i := range batches {
			b := ranBatch(queue, fmt.Sprint(i), results)
			f.add(b)
			f.delivered(f.byKey[b.key()])
		}
	}
	add("victim", 100, 64)
	const large = maxKeptWords / 64
	add("flood", maxFinished+100, 0)
	add("large", 100, large)
	queues := 0
	for ; queues < maxFinished/100; queues++ {
		add(fmt.Sprint("other", queues), 101, 0)
	}
	if len(f.byKey) != maxFinished {
		t.Errorf("%d batches are remembered, %d is the bound", len(f.byKey), maxFinished)
	}
	for i := range 95 { // the share of each is less than 100 by now
		ran := f.byKey[batchKey{"victim", fmt.Sprint(99 - i)}]
		if ran == nil {
			t.Fatalf("the victim's batch %d is forgotten", 99-i)
		}
		if len(ran.done.Results) != 64 {
			t.Fatalf("the results of the victim's batch %d are forgotten", 99-i)
		}
	}
	if f.words > maxKeptWords || f.byQueue["large"].words.n != f.words-f.byQueue["victim"].words.n {
		t.Errorf("%d words, %d of the large records' queue", f.words, f.byQueue["large"].words.n)
	}
	for name, q := range f.byQueue {
		if q.batches.n != len(q.order) || f.most[q.batches.place] != &q.batches {
			t.Errorf("queue %s has %d batches and is booked with %d", name, len(q.order), q.batches.n)
		}
	}
	for len(f.most) > 0 {
		f.forget(f.most[0].queue)
	}
	if len(f.byKey) != 0 || len(f.byQueue) != 0 || f.words != 0 || len(f.largest) != 0 {
		t.Errorf("%d batches, %d queues, %d words are left", len(f.byKey), len(f.byQueue), f.words)
	}
}

// A batch that is sent again after a flood of another queue's is answered and does not run.
func TestABatchAgainAfterAnotherQueuesFloodDoesNotRun(t *testing.T) {
	pub := newCountingPublisher()
	s := newSystem(t, pub)
	defer s.Close()
	must(t, s.AttachEngine("gpu0", testLimits, 0, &promptEngine{pending: make(map[string][]telemetry.Done)}))
	outcomes := make(chan telemetry.Outcome, maxFinished+1)
	submit := func(queue string, batch int) {
		w := telemetry.Work{Batch: fmt.Sprint(batch), Slots: make([]telemetry.Slot, 1)}
		s.Submit("gpu0", "gpu0", queue, &w, 0, func(o telemetry.Outcome, err error) {
			if err != nil {
				t.Errorf("batch %d of %s: %v", batch, queue, err)
			}
			outcomes <- o
		})
	}
	submit("victim", 0)
	<-outcomes
	for batch := range maxFinished + 1 {
		submit("flood", batch)
	}
	for range maxFinished + 1 {
		<-outcomes
	}
	ran := s.Stats().SlotsExecuted
	submit("victim", 0)
	if o := <-outcomes; o != telemetry.OutcomeDuplicate || s.Stats().SlotsExecuted != ran {
		t.Errorf("outcome %v, %d slots more; want a duplicate and none", o, s.Stats().SlotsExecuted-ran)
	}
}
