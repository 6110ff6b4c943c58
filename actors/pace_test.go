package actors

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// A queue is paced while its decisions answer many records each, and not
// longer: then a record is decided on at once again.
func TestCellIsPacedWhileRecordsOutrunDecisions(t *testing.T) {
	c := new(cell)
	seq := uint64(0)
	fold := func(n int) (w wakes) {
		for range n {
			seq++
			w |= mustFold(t, c, queueRecord(7, seq, uint32(seq)))
		}
		return w
	}
	if fold(pacedFrom-1) != wakeDecision {
		t.Fatal("no decision")
	}
	c.take()
	if next := c.decided(&view{}); next != dueOnRecord {
		t.Errorf("after %d records: %v", pacedFrom-1, next)
	}
	fold(pacedFrom)
	c.take()
	if next := c.decided(&view{}); next != dueLater {
		t.Fatalf("after %d records: %v", pacedFrom, next)
	}
	if w := fold(1); w&wakeDecision != 0 {
		t.Error("a record was decided on in the pause")
	}
	if w := c.paceOver(); w != wakeDecision {
		t.Fatalf("wakes %v after the pause, want a decision on the record that came in it", w)
	}
	if v := taken(t, c); v.queue.QueueLen != uint32(seq) {
		t.Errorf("the decision saw length %d", v.queue.QueueLen)
	}
	if next := c.decided(&view{}); next != dueOnRecord {
		t.Errorf("after one record: %v", next)
	}
	if w := fold(1); w != wakeDecision {
		t.Errorf("wakes %v for a record after the flood", w)
	}
}

func TestPauseOfASilentQueueEndsWithoutADecision(t *testing.T) {
	c := new(cell)
	for seq := range uint64(pacedFrom) {
		mustFold(t, c, queueRecord(7, seq+1, 1))
	}
	c.take()
	if c.decided(&view{}) != dueLater || c.paceOver() != 0 {
		t.Fatal("want a pause and no decision after it")
	}
	if w := mustFold(t, c, queueRecord(7, pacedFrom+1, 1)); w != wakeDecision {
		t.Errorf("wakes %v", w)
	}
}

// Who asks with a reply subject waits for no pause.
func TestRequestIsDecidedWithoutAPause(t *testing.T) {
	c := new(cell)
	for seq := range uint64(pacedFrom) {
		mustFold(t, c, queueRecord(7, seq+1, 1))
	}
	c.take()
	if _, err := c.fold(queueRecord(7, pacedFrom+1, 1), "_INBOX.1", 0, time.Now()); err != nil {
		t.Fatal(err)
	}
	if next := c.decided(&view{}); next != dueNow {
		t.Errorf("got %v", next)
	}
}

// Slots that are submitted ask for a decision when there were a few submissions, or more waits than the newest
// decision was made for, or it did not know what launches take.
func TestADecisionStandsForAFewSubmissions(t *testing.T) {
	c := new(cell)
	submit := func(slots uint32, want wakes) {
		t.Helper()
		if w := c.setBacklog(slots, true); w != want {
			t.Errorf("wakes %v after %d slots, want %v", w, slots, want)
		}
	}
	decide := func(want due) {
		t.Helper()
		c.take()
		if next := c.decided(&view{}); next != want {
			t.Errorf("next %v, want %v", next, want)
		}
	}
	submit(16, wakeDecision)
	decide(dueOnRecord)
	if err := c.history.Take(policy.WayInterpreted, 16, 1000); err != nil {
		t.Fatal(err)
	}
	submit(16, wakeDecision) // nothing was measured when the first was made
	decide(dueOnRecord)
	for range pacedFrom - 1 {
		submit(32, 0)
	}
	submit(32, wakeDecision)
	decide(dueLater) // as after as many records
	c.paceOver()
	submit(66, wakeDecision)
	decide(dueOnRecord)
	c.leaseRefused()
	submit(66, wakeDecision)
	decide(dueOnRecord)
	submit(66, 0)
	if w := mustFold(t, c, queueRecord(7, 1, 1)); w != wakeDecision {
		t.Errorf("wakes %v for a record", w)
	}
}

// The newest value of a flood is decided within a pause of its arrival, and a
// flood costs no more decisions than pauses.
func TestFloodIsDecidedOnOnceInAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watch := &lastAnswer{}
		s := newSystem(t, watch)
		defer s.Close()
		must(t, s.Announce("gpu0", workerRecord(5, 1)))
		const seconds, perMs = 1, 10
		seq := uint64(0)
		for range seconds * 1000 {
			for range perMs {
				seq++
				must(t, s.Ingest("gpu0", "q", queueRecord(7, seq, uint32(seq)), time.Now(), ""))
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(pace)
		synctest.Wait()
		if watch.seq.Load() != seq {
			t.Errorf("record %d answered, %d sent", watch.seq.Load(), seq)
		}
		if n, most := s.Stats().Decisions, uint64(seconds*time.Second/pace+3); n > most {
			t.Errorf("%d decisions, want at most %d", n, most)
		}
	})
}

// lastAnswer keeps the newest sequence number that was answered.
type lastAnswer struct {
	countingPublisher
	seq atomic.Uint64
}

func (l *lastAnswer) Recommend(_, _ string, r *telemetry.Recommendation, _ []string) {
	l.seq.Store(max(l.seq.Load(), r.AnsweredSeq)) // the policy actor alone calls
}
