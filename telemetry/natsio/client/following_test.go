package client

import (
	"fmt"
	"testing"
	"time"

	"ringmaster/telemetry"
)

func TestAFollowerTellsNothingOlderAndWhatExpires(t *testing.T) {
	start := time.Unix(1000, 0)
	k := following{queues: make(map[queueName]*followed)}
	for i, c := range []struct {
		at          time.Duration
		incarnation uint64
		sent        int64
		decision    uint64
		valid       uint32 // ms
		told        bool
	}{
		{0, 1, 100, 3, 3000, true},
		{0, 1, 90, 2, 3000, false},                      // overtaken
		{time.Second, 1, 110, 3, 3000, false},           // repeated
		{time.Second, 2, 110, 1, 3000, true},            // a new runtime
		{time.Second, 1, 120, 4, 3000, false},           // the old one, ending
		{2 * time.Second, 2, 130, 9, 3000, true},        // a newer decision
		{2 * time.Second, 2, 140, 3, 1000, true},        // forgotten and begun again
		{3 * time.Second, 2, 150, 3, 1000, true},        // a renewal, after it had expired
		{5 * time.Second, 1, 160, 5, 1000, true},        // the old one again, when its successor is silent
		{5*time.Second + 1, 2, 170, 10, 1000, false},    // which is the one replaced now
		{5*time.Second + 2, 3, 10, 1, 0, true},          // of a third, and not valid
		{5*time.Second + 2, 1, 10, 1 << 40, 1000, true}, // nothing holds
	} {
		now := start.Add(c.at)
		for _, _, expired := k.update(now); expired; _, _, expired = k.update(now) {
		}
		k.take(now, queueName{"w", "q"}, &telemetry.Header{Incarnation: c.incarnation, SentNs: c.sent},
			&telemetry.Recommendation{Decision: c.decision, ValidForMs: c.valid})
		a, _, told := k.update(now)
		if told != c.told || told && (a.Recommendation.Decision != c.decision || a.At != now || a.Valid != (c.valid > 0)) {
			t.Errorf("%d: told %v, %+v", i, told, a)
		}
	}
}

// Of fenced advice that holds, the number alone says what is newer, whoever decided it.
func TestFencedAdviceIsOrderedByItsNumbers(t *testing.T) {
	start := time.Unix(1000, 0)
	k := following{queues: make(map[queueName]*followed)}
	for i, c := range []struct {
		at          time.Duration
		incarnation uint64
		sent        int64
		decision    uint64
		fenced      bool
		told        bool
	}{
		{0, 1, 100, 7, true, true},
		{0, 2, 200, 6, true, false},               // overtaken, by another runtime
		{0, 2, 200, 8, true, true},                // which goes on
		{0, 1, 90, 9, true, true},                 // and the first one again, at once
		{0, 2, 210, 9, true, false},               // repeated, by the other
		{0, 1, 300, 1, true, false},               // nothing begins again
		{2 * time.Second, 2, 90, 3, true, true},   // unless nothing holds
		{2 * time.Second, 3, 10, 1, false, true},  // a runtime that is not fenced replaces, as it always did
		{2 * time.Second, 2, 500, 4, true, false}, // and what it replaced is done with
	} {
		now := start.Add(c.at)
		for _, _, expired := k.update(now); expired; _, _, expired = k.update(now) {
		}
		k.take(now, queueName{"w", "q"}, &telemetry.Header{Incarnation: c.incarnation, SentNs: c.sent},
			&telemetry.Recommendation{Decision: c.decision, ValidForMs: 1000, Fenced: c.fenced, Decided: []byte("x")})
		a, _, told := k.update(now)
		if told != c.told || told && (a.Recommendation.Decision != c.decision || a.Recommendation.Decided != nil) {
			t.Errorf("%d: told %v, %+v", i, told, a)
		}
	}
}

func TestAdviceExpiresInOrderAndOnce(t *testing.T) {
	start := time.Unix(1000, 0)
	k := following{queues: make(map[queueName]*followed)}
	for queue, valid := range map[string]uint32{"a": 30, "b": 10, "c": 20, "d": 50} {
		k.take(start, queueName{"w", queue}, &telemetry.Header{Incarnation: 1}, &telemetry.Recommendation{Decision: 1, ValidForMs: valid})
	}
	if want := start.Add(10 * time.Millisecond); k.next != want {
		t.Errorf("the first expires at %v, want %v", k.next, want)
	}
	k.updates = nil
	if k.expire(start.Add(9 * time.Millisecond)); len(k.updates) != 0 {
		t.Errorf("%d expired before their time", len(k.updates))
	}
	k.expire(start.Add(30 * time.Millisecond))
	for _, want := range []string{"b", "c", "a"} {
		if a, _, ok := k.update(start.Add(30 * time.Millisecond)); !ok || a.Queue != want || a.Valid {
			t.Errorf("%+v, want that %s has expired", a, want)
		}
	}
	if a, _, again := k.update(start.Add(40 * time.Millisecond)); again || k.next != start.Add(50*time.Millisecond) {
		t.Errorf("%+v, the next at %v", a, k.next)
	}
	if a, _, ok := k.update(start.Add(50 * time.Millisecond)); !ok || a.Queue != "d" || !k.next.IsZero() {
		t.Errorf("%+v, and something is to expire at %v", a, k.next)
	}
}

func TestUpdatesAreBounded(t *testing.T) {
	start := time.Unix(1000, 0)
	k := following{queues: make(map[queueName]*followed)}
	for i := range uint64(maxUpdates + 3) {
		k.take(start, queueName{"w", "q"}, &telemetry.Header{Incarnation: 1}, &telemetry.Recommendation{Decision: 1 + i, ValidForMs: 1})
	}
	if a, _, ok := k.update(start); !ok || a.Recommendation.Decision != 4 || len(k.updates) != maxUpdates-1 {
		t.Errorf("%+v and %d more, want decision 4", a, len(k.updates))
	}
}

func TestExpiredQueuesMakeRoom(t *testing.T) {
	start := time.Unix(1000, 0)
	k := following{queues: make(map[queueName]*followed)}
	take := func(now time.Time, i int, valid uint32) bool {
		k.updates = nil
		k.take(now, queueName{"w", fmt.Sprint("q", i)}, &telemetry.Header{Incarnation: 1}, &telemetry.Recommendation{Decision: 1, ValidForMs: valid})
		return len(k.updates) > 0
	}
	for i := range maxFollowed {
		take(start, i, uint32(1+i%2*1000))
	}
	if take(start, maxFollowed, 1) {
		t.Error("one queue too many is followed")
	}
	if !take(start.Add(time.Millisecond), maxFollowed, 1) || len(k.queues) != maxFollowed/2+1 {
		t.Errorf("%d queues are followed, want those that hold and the new one", len(k.queues))
	}
}
