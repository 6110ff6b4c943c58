package actors

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestTombstonesAreBoundedInNumberAndTime(t *testing.T) {
	now := time.Unix(1000, 0)
	s := newTombstones()
	key := func(queue string, i int) batchKey { return batchKey{queue, fmt.Sprint(i)} }
	for i := range maxQueueTombstones {
		if err := s.add(key("q", i), now); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.add(key("q", -1), now); !errors.Is(err, ErrCancellations) {
		t.Errorf("one too many of a queue: %v", err)
	}
	if err := s.add(key("q", 7), now.Add(time.Second)); err != nil {
		t.Errorf("one that is there: %v", err)
	}
	for q := range maxTombstones/maxQueueTombstones - 1 {
		for i := range maxQueueTombstones {
			if err := s.add(key(fmt.Sprint(q), i), now.Add(time.Second)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.add(key("late", 0), now.Add(time.Second)); !errors.Is(err, ErrCancellations) {
		t.Errorf("one too many of all: %v", err)
	}
	if s.take(key("late", 0), now) || !s.take(key("q", 8), now) || s.take(key("q", 8), now) {
		t.Error("not exactly those that were added are there, once")
	}
	later := now.Add(tombstoneHold)
	if s.take(key("q", 9), later) || !s.take(key("q", 7), later) {
		t.Error("one is kept for other than an hour after it was last asked for")
	}
	if err := s.add(key("late", 0), later); err != nil {
		t.Errorf("when others have expired: %v", err)
	}
	s.expire(later.Add(2 * tombstoneHold))
	if len(s.byKey) != 0 || len(s.byQueue) != 0 || s.order.Len() != 0 {
		t.Errorf("%d, %d, %d are left", len(s.byKey), len(s.byQueue), s.order.Len())
	}
}
