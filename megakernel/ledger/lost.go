package ledger

import (
	"cmp"
	"slices"
	"time"

	"ringmaster/ring"
)

// Lost starts over after the device was lost with the heap: windows are zeros under
// another epoch. A batch that is repeatable by its profile runs again, whole, once; every
// other fails with ErrHeapLost, and so does one that has run again before. No wave is
// under way and nothing is being written.
func (l *Ledger) Lost(now time.Time) {
	l.epoch++
	l.reused = l.reused[:0] // every window is clear
	for _, q := range l.queues {
		q.epoch = l.epoch
		l.emptyPages(q)
	}
	live := make([]*Entry, 0, len(l.entries))
	for _, b := range l.entries {
		if b != nil {
			live = append(live, b)
		}
	}
	// In the order of submission, which is not that of the table: its numbers are used again.
	slices.SortFunc(live, func(a, b *Entry) int { return cmp.Compare(a.serial, b.serial) })
	for _, b := range live {
		switch {
		case b.withdrawn:
			l.drop(b, b.outstanding)
			b.outstanding = 0
		case !b.repeated && b.profile.Repeatable:
			l.repeat(b)
			continue
		default:
			b.segmentEnd -= b.outstanding
			b.outstanding = 0
			l.dropRest(b, ErrHeapLost)
		}
		l.finish(now, b)
	}
}

// emptyPages frees every page of a queue, whatever is in it.
func (l *Ledger) emptyPages(q *queue) {
	for p := range q.waiting {
		q.waiting[p].Init() // a batch that is repeated comes in again
	}
	q.pages.Each(func(number uint32) {
		base := int(number) * ring.PageSlots
		for i := base; i < base+l.pool.Filled(number); i++ {
			if l.pool.Status(i).State() == ring.Published {
				l.pool.Drop(i)
			}
		}
	})
	q.pages.Remove(func(number uint32) bool { return l.closePage(q, number) == nil })
}

// repeat begins a batch anew: what it did before is undone in the counts, and what it
// wrote is gone with the heap.
func (l *Ledger) repeat(b *Entry) {
	r := &b.result
	done := int(r.Executed + r.Faulted)
	b.queue.pending += done
	l.pending += done
	r.Executed, r.Faulted, r.Faults = 0, 0, nil
	clear(r.Results)
	b.repeated = true
	b.segmentEnd = 0
	b.openSegment(l.cfg.Fence)
	b.queue.enqueue(b)
}
