package actors

import (
	"testing"
	"testing/synctest"
	"time"
)

// Silence ends the pauses of a flood: its last records do not wait for them.
func TestPausesEndWhenNoRecordsCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watch := &lastAnswer{}
		s := newSystem(t, watch)
		defer s.Close()
		if err := s.Announce("gpu0", workerRecord(5, 1)); err != nil {
			t.Fatal(err)
		}
		const perMs = 20 // so that a pause answers enough to be followed by a long one
		seq := uint64(0)
		for range 60 {
			for range perMs {
				seq++
				if err := s.Ingest("gpu0", "q", queueRecord(7, seq, uint32(seq)), ""); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		if behind := seq - watch.seq.Load(); behind < perMs {
			t.Fatalf("%d records behind in a flood: no pauses", behind)
		}
		time.Sleep(2 * pauseTick)
		synctest.Wait()
		if watch.seq.Load() != seq {
			t.Errorf("record %d answered, %d sent", watch.seq.Load(), seq)
		}
		if s.pauses.mu.Lock(); len(s.pauses.resting) > 1 {
			t.Errorf("%d pauses of one queue", len(s.pauses.resting))
		}
		s.pauses.mu.Unlock()
		time.Sleep(floodedPace)
		synctest.Wait()
		if s.pauses.mu.Lock(); s.pauses.armed || len(s.pauses.resting) != 0 {
			t.Error("pauses are looked at that nobody has")
		}
		s.pauses.mu.Unlock()
	})
}

// While others still send, a pause is as long as it is.
func TestPausesLastWhileRecordsCome(t *testing.T) {
	var p pauses
	now := time.Unix(1_700_000_000, 0)
	early, late := new(family), new(family)
	p.resting = []resting{{late, now.Add(time.Millisecond)}, {early, now}}
	if p.end(now, false); len(p.over) != 1 || p.over[0] != early || len(p.resting) != 1 || p.resting[0].family != late {
		t.Errorf("over %v, resting %v", p.over, p.resting)
	}
	if p.end(now, true); len(p.over) != 1 || p.over[0] != late || len(p.resting) != 0 {
		t.Errorf("over %v, resting %v", p.over, p.resting)
	}
}
