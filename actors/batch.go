package actors

import (
	"container/list"
	"fmt"
	"time"

	"ringmaster/telemetry"
)

// maxFinished is how many finished batches of a worker are remembered. A
// delivery that comes again later than that many batches runs again.
const maxFinished = 1 << 14

// maxKeptWords bounds the results, prints and faults in the done records that are kept for
// repeats: 16 MiB. Those of older records are forgotten first.
const maxKeptWords = 4 << 20

// finishedBatches remembers the batches that ran, so that a batch delivered twice runs
// once, and has its done record twice.
type finishedBatches struct {
	byKey map[batchKey]*finishedBatch
	order []*finishedBatch // a ring, once it has maxFinished
	next  int              // place in order of the next: that of the oldest
	heavy []*finishedBatch // whose records have lists, oldest first
	words int              // in those lists
}

type finishedBatch struct {
	key     batchKey
	done    *telemetry.Done // to be sent again to whoever submits the batch again
	pending *batch          // nil once its done record was delivered
	kept    bool            // it is in heavy, or was
}

// add remembers a batch that ran.
func (f *finishedBatches) add(b *batch) {
	ran := &finishedBatch{key: b.key(), done: b.done, pending: b}
	if len(f.order) < maxFinished {
		f.order = append(f.order, ran)
	} else {
		delete(f.byKey, f.order[f.next].key)
		f.order[f.next] = ran
	}
	f.next = (f.next + 1) % maxFinished
	f.byKey[ran.key] = ran
}

// delivered notes that the done record of a batch is with the server, and keeps the record
// as long as there is room for its lists.
func (f *finishedBatches) delivered(ran *finishedBatch) {
	ran.pending = nil
	if n := listed(ran.done); n > 0 && !ran.kept {
		ran.kept = true
		f.heavy = append(f.heavy, ran)
		f.words += n
	}
	for f.words > maxKeptWords {
		oldest := f.heavy[0]
		f.heavy[0] = nil
		f.heavy = f.heavy[1:]
		f.words -= listed(oldest.done)
		short := *oldest.done
		short.Results, short.Prints, short.Faults = nil, nil, nil
		oldest.done = &short
	}
}

// listed is the number of words in a record's lists.
func listed(d *telemetry.Done) int { return len(d.Results) + len(d.Prints) + 2*len(d.Faults) }

// batch is submitted work from its admission to its settlement.
type batch struct {
	family *family
	work   telemetry.Work
	sentNs int64
	// waiters are told the outcome, each exactly once: the first is the
	// submitter, the others hold further deliveries of the same batch.
	waiters []func(telemetry.Outcome, error)
	number  uint64          // order of admission at its worker
	due     time.Time       // by its deadline or the queue's target; zero: nobody said
	done    *telemetry.Done // set when the engine has finished it
	// publishing is set while the done record is on its way to the server.
	publishing bool
	repeated   bool // it ran before, only its done record is sent again
}

// maxWaiters bounds the deliveries of one batch that wait for its outcome.
const maxWaiters = 16

type batchKey struct{ queue, id string }

func (b *batch) key() batchKey { return batchKey{b.family.name, b.work.Batch} }

// settle tells everyone who waits. Only the first delivery of a batch that ran
// is done; the others are duplicates.
func (b *batch) settle(outcome telemetry.Outcome, err error) {
	waiters := b.waiters
	b.waiters = nil
	for i, tell := range waiters {
		b.family.waiting.Add(-1)
		if i > 0 && outcome == telemetry.OutcomeDone {
			outcome = telemetry.OutcomeDuplicate
		}
		tell(outcome, err)
	}
}

// join lets the deliveries of a second arrival of the batch wait with the first.
func (b *batch) join(again *batch) {
	if len(b.waiters)+len(again.waiters) > maxWaiters {
		again.settle(telemetry.OutcomeBusy, ErrBacklog)
		return
	}
	b.waiters = append(b.waiters, again.waiters...)
	again.waiters = nil
}

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
