package actors

import (
	"container/list"
	"fmt"
	"time"
)

// Bounds of what a worker remembers of batches that were canceled before they came.
const (
	maxTombstones      = 1 << 14 // of all queues
	maxQueueTombstones = 1 << 10 // of one queue
	tombstoneHold      = time.Hour
)

// tombstones are the batches that will not run if they come. Nobody's cancellation
// makes room for another's: what does not fit is refused until older ones expire.
type tombstones struct {
	byKey   map[batchKey]*list.Element // of tombstone
	byQueue map[string]int             // how many of a queue
	order   list.List                  // the next to expire first
}

type tombstone struct {
	key   batchKey
	until time.Time
}

func newTombstones() *tombstones {
	return &tombstones{byKey: make(map[batchKey]*list.Element), byQueue: make(map[string]int)}
}

// add remembers a batch for tombstoneHold from now on.
func (t *tombstones) add(key batchKey, now time.Time) error {
	t.expire(now)
	if e := t.byKey[key]; e != nil {
		t.remove(e)
	}
	if t.byQueue[key.queue] >= maxQueueTombstones || t.order.Len() >= maxTombstones {
		return fmt.Errorf("%w: %d of the queue, %d of all; each is kept for %v", ErrCancellations, t.byQueue[key.queue], t.order.Len(), tombstoneHold)
	}
	t.byKey[key] = t.order.PushBack(tombstone{key, now.Add(tombstoneHold)})
	t.byQueue[key.queue]++
	return nil
}

// take reports whether a batch that has come was canceled, and forgets it.
func (t *tombstones) take(key batchKey, now time.Time) bool {
	if t.order.Len() == 0 {
		return false
	}
	t.expire(now)
	e := t.byKey[key]
	if e == nil {
		return false
	}
	t.remove(e)
	return true
}

func (t *tombstones) expire(now time.Time) {
	for e := t.order.Front(); e != nil && !now.Before(e.Value.(tombstone).until); e = t.order.Front() {
		t.remove(e)
	}
}

func (t *tombstones) remove(e *list.Element) {
	key := t.order.Remove(e).(tombstone).key
	delete(t.byKey, key)
	if t.byQueue[key.queue]--; t.byQueue[key.queue] == 0 {
		delete(t.byQueue, key.queue)
	}
}
