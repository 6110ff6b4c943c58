package ledger

import (
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
	used     time.Time // when a batch or a transfer came last, or a batch ended
	moved    time.Time // when a transfer came last

	// waiting are the batches whose open segment has slots of a priority that
	// are in no page yet, in the order in which the segments were opened.
	waiting [ring.Priorities]line
	pages   ring.Queue
	named   map[string]*Entry // the first of those with an id that are not finished

	finished  []Result // not handed out yet
	announced bool     // the ledger's list of ended queues has it
	options   QueueOptions
	bucket    bucket
	stats     QueueStats
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
			q.waiting[p].push(b, p)
		}
	}
}

// dequeue takes a batch out of the lines that it is in.
func (q *queue) dequeue(b *Entry) {
	for p := range b.class {
		if b.class[p].next < b.class[p].end {
			q.waiting[p].remove(b, p)
		}
	}
}

// link is a batch's place between two others.
type link struct{ prev, next *Entry }

// line has the batches that wait for pages of one priority, linked by their places, so that
// a batch in the middle is canceled without a search.
type line struct{ first, last *Entry }

func (l *line) push(b *Entry, priority int) {
	b.place[priority] = link{prev: l.last}
	if l.last == nil {
		l.first = b
	} else {
		l.last.place[priority].next = b
	}
	l.last = b
}

func (l *line) remove(b *Entry, priority int) {
	at := b.place[priority]
	b.place[priority] = link{}
	if at.prev == nil {
		l.first = at.next
	} else {
		at.prev.place[priority].next = at.next
	}
	if at.next == nil {
		l.last = at.prev
	} else {
		at.next.place[priority].prev = at.prev
	}
}

// know makes a batch known by its id. Batches of one id are linked from the newest on: ids
// are the submitters' own, and nothing keeps them from using one again.
func (q *queue) know(b *Entry) {
	if q.named == nil {
		q.named = make(map[string]*Entry)
	}
	next := q.named[b.ID]
	b.namesake = link{next: next}
	if next != nil {
		next.namesake.prev = b
	}
	q.named[b.ID] = b
}

// forget makes a batch unknown by its id.
func (q *queue) forget(b *Entry) {
	at := b.namesake
	b.namesake = link{}
	if at.next != nil {
		at.next.namesake.prev = at.prev
	}
	switch {
	case at.prev != nil:
		at.prev.namesake.next = at.next
	case at.next != nil:
		q.named[b.ID] = at.next
	default:
		delete(q.named, b.ID)
	}
}
