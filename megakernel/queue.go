package megakernel

import (
	"time"

	"ringmaster/ring"
)

// queue is one work queue: its tenant window, its batches that wait for pages,
// and its pages.
type queue struct {
	name     string
	tenant   uint32 // number of the window in the low bits, its generation above
	window   int    // number of the window
	base     uint32 // first word of the window in the heap
	length   uint32 // words of the window
	sequence uint32 // sequence of the next slot submitted
	pending  int    // slots submitted and not finished
	flights  int    // waves in flight
	writing  int    // goroutines writing slots of it to staging
	owned    [ring.Priorities]int
	epoch    uint64    // of its window's contents
	used     time.Time // when a batch or a transfer came last, or a batch ended
	moved    time.Time // when a transfer came last
	released bool      // its window goes to another queue once its waves are settled

	// waiting are the batches whose open segment has slots of a priority that
	// are in no page yet, in the order in which the segments were opened.
	waiting [ring.Priorities]line
	pages   ring.Queue
	named   map[string]*batch // the first of those with an id that are not finished

	// What ran last, for a wave whose kernel is not ready: the pump's.
	kernel   Kernel
	cold     Kernel
	geometry Geometry

	promotion promotion

	ending   int           // batches withdrawn and not finished: slots of theirs are in waves, or being written
	finished []BatchResult // finished outside a wave, for the next report
	quota    bucket

	allocated allocations
	options   QueueOptions
	stats     QueueStats
}

// open puts the slots of b's open segment in line.
func (q *queue) open(b *batch) {
	for p := range b.class {
		if b.class[p].next < b.class[p].end {
			q.waiting[p].push(b, p)
		}
	}
}

// leave takes a batch out of the lines that it is in.
func (q *queue) leave(b *batch) {
	for p := range b.class {
		if b.class[p].next < b.class[p].end {
			q.waiting[p].remove(b, p)
		}
	}
}

// link is a batch's place between two others.
type link struct{ prev, next *batch }

// line has the batches that wait for pages of one priority, linked by their places.
type line struct{ first, last *batch }

func (l *line) push(b *batch, priority int) {
	b.place[priority] = link{prev: l.last}
	if l.last == nil {
		l.first = b
	} else {
		l.last.place[priority].next = b
	}
	l.last = b
}

func (l *line) remove(b *batch, priority int) {
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

// know makes a batch known by its id.
func (q *queue) know(b *batch) {
	if q.named == nil {
		q.named = make(map[string]*batch)
	}
	next := q.named[b.ID]
	b.namesake = link{next: next}
	if next != nil {
		next.namesake.prev = b
	}
	q.named[b.ID] = b
}

// forget undoes that.
func (q *queue) forget(b *batch) {
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
