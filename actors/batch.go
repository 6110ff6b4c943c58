package actors

import (
	"container/heap"
	"container/list"
	"fmt"
	"slices"
	"time"

	"ringmaster/telemetry"
)

// Bounds of what a worker remembers of the batches that ran. Of what is beyond them, the queue that has
// most loses its oldest, so that no queue's batches push out those of one that has fewer.
const (
	// maxFinished is how many batches are remembered: 2 of each queue, if there are as many as may be,
	// and all of a single queue. A delivery that comes again later than that runs again.
	maxFinished = 1 << 15
	// maxKeptWords bounds the results, prints and faults in the done records that are kept for
	// repeats: 16 MiB.
	maxKeptWords = 4 << 20
)

// finishedBatches remembers the batches that ran, so that a batch delivered twice runs
// once, and has its done record twice.
type finishedBatches struct {
	byKey   map[batchKey]*finishedBatch
	byQueue map[string]*finishedQueue
	most    uses // queues by how many batches of theirs are remembered
	largest uses // queues by the words in the lists of their records
	words   int  // in all those lists
}

// finishedQueue is what is remembered of one queue.
type finishedQueue struct {
	order   []*finishedBatch // oldest first
	heavy   []*finishedBatch // those whose records have lists, oldest first
	batches use
	words   use
}

type finishedBatch struct {
	key     batchKey
	done    *telemetry.Done // to be sent again to whoever submits the batch again
	pending *batch          // nil once its done record was delivered
	kept    bool            // its record's lists are, and it is in its queue's heavy
}

func newFinishedBatches() finishedBatches {
	return finishedBatches{byKey: make(map[batchKey]*finishedBatch), byQueue: make(map[string]*finishedQueue)}
}

// add remembers a batch that ran.
func (f *finishedBatches) add(b *batch) {
	ran := &finishedBatch{key: b.key(), done: b.done, pending: b}
	q := f.byQueue[ran.key.queue]
	if q == nil {
		q = &finishedQueue{batches: use{place: -1}, words: use{place: -1}}
		q.batches.queue, q.words.queue = q, q
		f.byQueue[ran.key.queue] = q
	}
	f.byKey[ran.key] = ran
	q.order = append(q.order, ran)
	f.most.change(&q.batches, 1)
	if len(f.byKey) > maxFinished {
		f.forget(f.most[0].queue)
	}
}

// forget drops a queue's oldest batch.
func (f *finishedBatches) forget(q *finishedQueue) {
	oldest := q.order[0]
	q.order[0] = nil
	q.order = q.order[1:]
	delete(f.byKey, oldest.key)
	if oldest.kept {
		f.shorten(q, slices.Index(q.heavy, oldest)) // near the first: records are delivered about in order
	}
	if f.most.change(&q.batches, -1); len(q.order) == 0 {
		delete(f.byQueue, oldest.key.queue)
	}
}

// delivered notes that the done record of a batch is with the server, and keeps the record
// as long as there is room for its lists.
func (f *finishedBatches) delivered(ran *finishedBatch) {
	ran.pending = nil
	if n := listed(ran.done); n > 0 && !ran.kept {
		q := f.byQueue[ran.key.queue]
		ran.kept = true
		q.heavy = append(q.heavy, ran)
		f.largest.change(&q.words, n)
		f.words += n
	}
	for f.words > maxKeptWords {
		f.shorten(f.largest[0].queue, 0)
	}
}

// shorten drops the lists of the i-th record of a queue that has some.
func (f *finishedBatches) shorten(q *finishedQueue, i int) {
	ran := q.heavy[i]
	q.heavy = slices.Delete(q.heavy, i, i+1)
	n := listed(ran.done)
	f.largest.change(&q.words, -n)
	f.words -= n
	short := *ran.done
	short.Results, short.Prints, short.Faults = nil, nil, nil
	ran.done, ran.kept = &short, false
}

// listed is the number of words in a record's lists.
func listed(d *telemetry.Done) int { return len(d.Results) + len(d.Prints) + 2*len(d.Faults) }

// use is how much a queue has of what all share, above 0 while its place in a heap of uses is not -1.
type use struct {
	queue    *finishedQueue
	n, place int
}

// uses is a heap whose first is the queue that has most.
type uses []*use

func (u uses) Len() int           { return len(u) }
func (u uses) Less(i, j int) bool { return u[i].n > u[j].n }
func (u uses) Swap(i, j int)      { u[i], u[j] = u[j], u[i]; u[i].place, u[j].place = i, j }
func (u *uses) Push(x any)        { e := x.(*use); e.place = len(*u); *u = append(*u, e) }
func (u *uses) Pop() any {
	last := (*u)[len(*u)-1]
	last.place = -1
	(*u)[len(*u)-1] = nil
	*u = (*u)[:len(*u)-1]
	return last
}

// change gives a queue more, or less.
func (u *uses) change(e *use, by int) {
	switch e.n += by; {
	case e.place < 0:
		heap.Push(u, e)
	case e.n == 0:
		heap.Remove(u, e.place)
	default:
		heap.Fix(u, e.place)
	}
}

// batch is submitted work from its admission to its settlement.
type batch struct {
	family *family
	sentTo string // whose name the done record goes out under: the worker's, or a pool's
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

// join lets the deliveries of a second arrival of the batch wait with the first. One that was sent to another
// name comes again later: the done record of the first goes out under the first one's.
func (b *batch) join(again *batch) {
	if b.sentTo != again.sentTo || len(b.waiters)+len(again.waiters) > maxWaiters {
		again.settle(telemetry.OutcomeBusy, ErrBacklog)
		return
	}
	b.waiters = append(b.waiters, again.waiters...)
	again.waiters = nil
}

// Bounds of what a worker remembers of batches that were canceled before they came.
const (
	maxTombstones      = 1 << 16 // of all queues; a queue has no more than a quarter of what the others leave
	maxQueueTombstones = 1 << 10 // of one queue
	// ownTombstones are left to each queue that is known to the system, however many all have. Names
	// that occur in cancellations alone are as many as somebody likes, and have no such claim.
	ownTombstones = 16
	tombstoneHold = time.Hour
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

// add remembers a batch for tombstoneHold from now on. known says that its queue is.
func (t *tombstones) add(key batchKey, known bool, now time.Time) error {
	t.expire(now)
	if e := t.byKey[key]; e != nil {
		t.remove(e)
	}
	n := t.byQueue[key.queue]
	most := min(maxQueueTombstones, (maxTombstones-(t.order.Len()-n))/4)
	if known {
		most = max(most, ownTombstones)
	}
	if n >= most {
		return fmt.Errorf("%w: %d of the queue, %d of all; each is kept for %v", ErrCancellations, n, t.order.Len(), tombstoneHold)
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
