package ledger

import (
	"container/list"
	"slices"
	"time"

	"ringmaster/ring"
)

// queue is one work queue: its window, its batches that wait for pages, and its pages.
type queue struct {
	name     string
	window   Window
	epoch    uint64 // of the window's contents
	sequence uint32 // sequence of the next slot submitted
	pending  int    // slots submitted and not finished
	waves    int    // waves begun and neither settled nor returned
	writing  int    // sets of extents reserved and not published
	ending   int    // batches withdrawn and not finished: slots of theirs are in waves, or being written
	owned    [ring.Priorities]int
	given    time.Time // when it got the window
	used     time.Time // when a batch or a write came last, or a batch ended
	written  time.Time // when a write came last

	// waiting are the batches whose open segment has slots of a priority that
	// are in no page yet, in the order in which the segments were opened.
	waiting [ring.Priorities]list.List // of *Entry
	pages   ring.Queue
	named   map[string][]*Entry // those with an id that are not finished

	finished  []Result // not handed out yet
	announced bool     // the ledger's list of ended queues has it
	options   QueueOptions
	bucket    bucket

	executed, faulted uint64 // slots, of all waves
}

// idle reports whether nothing of a queue would be lost with it but what its window holds.
// Only an idle queue is evicted. So no page, wave or extent outlives its queue, and a tenant's
// slots never meet the window's next owner.
func (q *queue) idle() bool {
	return q.pending == 0 && q.waves == 0 && q.writing == 0 && q.ending == 0 && len(q.finished) == 0
}

// enqueue puts the slots of b's open segment in line. A batch is in the line of a priority
// exactly as long as it has slots of it in no page: who takes the last of them takes the
// batch out of the line, and dequeue goes by the same rule.
func (q *queue) enqueue(b *Entry) {
	for p := range b.class {
		if b.class[p].next < b.class[p].end {
			b.place[p] = q.waiting[p].PushBack(b)
		}
	}
}

// dequeue takes a batch out of the lines that it is in.
func (q *queue) dequeue(b *Entry) {
	for p := range b.class {
		if b.class[p].next < b.class[p].end {
			q.waiting[p].Remove(b.place[p])
		}
	}
}

// know makes a batch known by its id, if it has one. Ids are the submitters' own, and nothing
// keeps them from using one again.
func (q *queue) know(b *Entry) {
	if b.ID != "" {
		q.named[b.ID] = append(q.named[b.ID], b)
	}
}

// forget makes a batch unknown by its id.
func (q *queue) forget(b *Entry) {
	same := q.named[b.ID]
	if at := slices.Index(same, b); len(same) > 1 {
		q.named[b.ID] = slices.Delete(same, at, at+1)
		return
	}
	delete(q.named, b.ID)
}
