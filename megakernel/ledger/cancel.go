package ledger

import (
	"container/heap"
	"slices"
	"time"

	"ringmaster/ring"
)

// Cancel withdraws the batches of a queue that have an id: slots that are in no wave are
// dropped, those in a wave finish. It returns the number of batches and of the slots that
// were dropped at once; more may follow when a wave ends. The batches are finished once
// none of their slots is in a wave. The time it takes depends on the number of their
// slots, not on how many others are pending.
func (l *Ledger) Cancel(now time.Time, name, id string) (batches, slots int) {
	q := l.queues[name]
	if q == nil {
		return 0, 0
	}
	before := q.pending
	for _, b := range slices.Backward(slices.Clone(q.named[id])) { // withdrawing one may forget it
		if !b.withdrawn {
			l.withdraw(now, b, ErrCanceled)
			batches++
		}
	}
	return batches, before - q.pending
}

// Tick withdraws the batches whose deadline has passed, and returns the next deadline;
// zero if there is none.
func (l *Ledger) Tick(now time.Time) (next time.Time) {
	for len(l.deadlines) > 0 {
		b := l.deadlines[0]
		if now.Before(b.Deadline) {
			return b.Deadline
		}
		heap.Pop(&l.deadlines)
		l.withdraw(now, b, ErrDeadline)
	}
	return time.Time{}
}

// Due is the next deadline, zero if there is none, and whether Ended has something to tell.
func (l *Ledger) Due() (next time.Time, ended bool) {
	if len(l.deadlines) > 0 {
		next = l.deadlines[0].Deadline
	}
	return next, len(l.ended) > 0
}

// withdraw ends a batch early, for whatever reason, once. The slots behind its open
// segment, those of the open segment that are in no page, and those in pages that are in no
// wave are dropped now. The rest is dropped when its waves are settled (putBack), or as
// soon as it has been written (Publish).
func (l *Ledger) withdraw(now time.Time, b *Entry, why error) {
	if b.due > 0 {
		heap.Remove(&l.deadlines, b.due-1)
	}
	b.outstanding -= b.waiting()
	b.segmentEnd -= b.waiting()
	b.queue.dequeue(b)
	l.dropRest(b, why)
	idle := false
	for _, s := range b.taken {
		// The status words of a page in a wave are not to be touched.
		if number := uint32(s.index >> ring.PageShift); !l.pool.Flying(number) {
			l.dropAt(b, s)
			idle = idle || l.pool.Idle(number)
		}
	}
	if idle {
		l.closeIdle(b.queue)
	}
	if b.outstanding == 0 {
		l.finish(now, b)
	}
}

// dropRest drops the slots of a batch from segmentEnd on.
func (l *Ledger) dropRest(b *Entry, why error) {
	l.drop(b, b.length-b.segmentEnd)
	b.withdrawn = true
	b.queue.ending++
	b.result.Err = why
	b.segmentEnd = b.length
	b.class = [ring.Priorities]class{}
}

// drop counts slots of a batch that will not run.
func (l *Ledger) drop(b *Entry, n int) {
	b.result.Dropped += uint32(n)
	b.queue.pending -= n
	l.pending -= n
}

// dropAt drops the published slots of a withdrawn batch at some positions of a page that
// is in no wave. Some positions may belong to another batch by now.
func (l *Ledger) dropAt(b *Entry, s positions) {
	for i := s.index; i < s.index+s.n; i++ {
		if l.pool.Status(i).State() == ring.Published && l.owners[i].entry == b.number {
			l.dropSlot(b, i)
		}
	}
}

// dropPage drops the slots of withdrawn batches in a page that comes back from a wave, and
// finishes the batches of which nothing is left.
func (l *Ledger) dropPage(now time.Time, number uint32) {
	base := int(number) * ring.PageSlots
	for i := base; i < base+l.pool.Filled(number); i++ {
		if l.pool.Status(i).State() != ring.Published {
			continue
		}
		b := l.entries[l.owners[i].entry]
		if !b.withdrawn {
			continue
		}
		l.dropSlot(b, i)
		if b.outstanding == 0 {
			l.finish(now, b)
		}
	}
}

// dropSlot drops a published slot of a batch.
func (l *Ledger) dropSlot(b *Entry, index int) {
	l.pool.Drop(index)
	b.outstanding--
	l.drop(b, 1)
}

// closeIdle frees the pages of a queue of which nothing is left.
func (l *Ledger) closeIdle(q *queue) {
	q.pages.Remove(func(number uint32) bool {
		return l.pool.Idle(number) && l.closePage(q, number) == nil
	})
}

// deadlines is a heap of batches by deadline. Those withdrawn or finished are not in it.
type deadlines []*Entry

func (d deadlines) Len() int           { return len(d) }
func (d deadlines) Less(i, j int) bool { return d[i].Deadline.Before(d[j].Deadline) }
func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].due, d[j].due = i+1, j+1
}
func (d *deadlines) Push(x any) {
	b := x.(*Entry)
	*d = append(*d, b)
	b.due = len(*d)
}
func (d *deadlines) Pop() any {
	last := len(*d) - 1
	b := (*d)[last]
	b.due = 0
	(*d)[last] = nil
	*d = (*d)[:last]
	return b
}

func (d *deadlines) push(b *Entry) { heap.Push(d, b) }
