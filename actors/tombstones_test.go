package actors

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ringmaster/telemetry"
)

func TestTombstonesAreBoundedInNumberAndTime(t *testing.T) {
	now := time.Unix(1000, 0)
	s := newTombstones()
	key := func(queue string, i int) batchKey { return batchKey{queue, fmt.Sprint(i)} }
	for i := range maxQueueTombstones {
		must(t, s.add(key("q", i), false, now))
	}
	if err := s.add(key("q", -1), true, now); !errors.Is(err, ErrCancellations) {
		t.Errorf("one too many of a queue: %v", err)
	}
	if err := s.add(key("q", 7), false, now.Add(time.Second)); err != nil {
		t.Errorf("one that is there: %v", err)
	}
	if s.take(key("late", 0), now) || !s.take(key("q", 8), now) || s.take(key("q", 8), now) {
		t.Error("not exactly those that were added are there, once")
	}
	later := now.Add(tombstoneHold)
	if s.take(key("q", 9), later) || !s.take(key("q", 7), later) {
		t.Error("one is kept for other than an hour after it was last asked for")
	}
	s.expire(later.Add(2 * tombstoneHold))
	if len(s.byKey) != 0 || len(s.byQueue) != 0 || s.order.Len() != 0 {
		t.Errorf("%d, %d, %d are left", len(s.byKey), len(s.byQueue), s.order.Len())
	}
}

// A queue has a quarter of what the others leave, so that those who come late have some as well, and
// where names have no end, each queue that is known has a few of its own.
func TestTombstonesAreSharedByTheQueues(t *testing.T) {
	now := time.Unix(1000, 0)
	s := newTombstones()
	fill := func(queue string, known bool) (n int) {
		for s.add(batchKey{queue, fmt.Sprint(n)}, known, now) == nil {
			n++
		}
		return n
	}
	for q := range 32 { // twice as many as filled the table when a name had a sixteenth of it
		if n := fill(fmt.Sprint(q), false); n != maxQueueTombstones {
			t.Fatalf("queue %d has %d tombstones", q, n)
		}
	}
	if n := fill("victim", false); n != maxQueueTombstones {
		t.Errorf("the victim of 32 queues has %d tombstones", n)
	}
	for q := range 10_000 {
		fill(fmt.Sprint("name", q), false)
	}
	if n := s.order.Len(); n > maxTombstones {
		t.Errorf("%d tombstones, %d is the bound without known queues", n, maxTombstones)
	}
	if n := fill("late", false); n > 1 {
		t.Errorf("an unknown queue has %d tombstones of a full table", n)
	}
	if n := fill("known", true); n != ownTombstones {
		t.Errorf("a known queue has %d tombstones of a full table, %d are its own", n, ownTombstones)
	}
}

// Cancellations of sixteen names that leave no room for one more each, and then the victim's ahead of
// its batches, as after a million of them.
func TestAFloodOfCancellationsLeavesOthersTheirs(t *testing.T) {
	s := newSystem(t, newCountingPublisher())
	defer s.Close()
	must(t, s.AttachEngine("gpu0", testLimits, 0, &promptEngine{pending: make(map[string][]telemetry.Done)}))
	answers := make(chan error, 1<<16)
	cancel := func(queue string, batch int) {
		s.Cancel("gpu0", queue, fmt.Sprint(batch), func(_ telemetry.CancelFound, _ int, err error) { answers <- err })
	}
	refused := 0
	for q := range 16 {
		for i := range maxQueueTombstones + 1 {
			cancel(fmt.Sprint("flood", q), i)
		}
	}
	for range 16 * (maxQueueTombstones + 1) {
		if <-answers != nil {
			refused++
		}
	}
	if refused != 16 {
		t.Errorf("%d of the flood's cancellations were refused, want one of each name", refused)
	}
	for i := range 500 {
		cancel("victim", i)
		if err := <-answers; err != nil {
			t.Fatalf("cancellation %d of the victim: %v", i, err)
		}
	}
	done := make(chan telemetry.Outcome, 1)
	w := telemetry.Work{Batch: "7", Slots: make([]telemetry.Slot, 1)}
	s.Submit("gpu0", "gpu0", "victim", &w, 0, func(o telemetry.Outcome, _ error) { done <- o })
	<-done
	if n := s.Stats().SlotsSubmitted; n != 0 {
		t.Errorf("%d slots of a canceled batch were submitted", n)
	}
}
