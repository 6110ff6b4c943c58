package ledger

import (
	"container/heap"
	"time"
)

// Settle ends a collected wave: it finishes batches, opens the segments behind finished
// fences, frees pages and puts the others back. An error is a bug: a page without live slots
// could not be freed.
func (l *Ledger) Settle(now time.Time, w *Wave) error {
	q := w.queue
	l.settling = q // what ends now comes with the launch's report and is not announced
	defer func() { l.settling = nil }()
	for i := range w.tallies {
		t := &w.tallies[i]
		b := t.entry
		n := int(t.executed + t.faulted)
		b.result.Executed += t.executed
		b.result.Faulted += t.faulted
		b.result.Faults = append(b.result.Faults, t.faults...)
		b.outstanding -= n
		q.pending -= n
		l.pending -= n
	}
	// A batch advances when all its tallies are in, or it would open its next segment, or
	// end, with slots of this wave uncounted.
	for i := range w.tallies {
		if b := w.tallies[i].entry; b.outstanding == 0 {
			l.advance(now, b)
		}
		w.tallies[i] = tally{}
	}
	q.executed += uint64(w.Executed)
	q.faulted += uint64(w.Faulted)
	q.waves--
	// From behind, so that pages put back in front keep their order.
	for i := len(w.Schedule) - 1; i >= 0; i-- {
		number := w.Schedule[i].Page()
		if err := l.putBack(now, q, number, l.pages[number].again); err != nil {
			return err
		}
	}
	return nil
}

// Return ends a wave that was not run, or that failed: its slots are as they were before
// it, pending, but for those of batches that were withdrawn meanwhile. The ledger's status
// words are still those from before the wave, because only Collect changes them.
func (l *Ledger) Return(now time.Time, w *Wave) {
	q := w.queue
	for i := len(w.Schedule) - 1; i >= 0; i-- {
		_ = l.putBack(now, q, w.Schedule[i].Page(), false) // without live slots it can be freed
	}
	w.Executed, w.Faulted = 0, 0
	q.waves--
}

// putBack returns a page from a wave to its line, or frees it if nothing of it is left to
// run. Slots of batches that were withdrawn while the wave had the page are dropped now: no
// one could touch their status words before. A page goes behind the others if a slot of it
// asked for another wave, so that slots which yield for ever hold up nobody.
func (l *Ledger) putBack(now time.Time, q *queue, number uint32, behind bool) error {
	if q.ending > 0 {
		l.dropPage(now, number)
	}
	if l.pool.Live(number) == 0 {
		return l.closePage(q, number)
	}
	q.pages.Return(l.pool, number, behind)
	return nil
}

// advance opens the next segment of a batch whose open one is finished, or finishes the
// batch.
func (l *Ledger) advance(now time.Time, b *Entry) {
	if l.entries[b.number] != b {
		return // finished by an earlier tally
	}
	if !b.withdrawn && b.openSegment(l.cfg.Fence) {
		b.queue.enqueue(b)
		return
	}
	l.finish(now, b)
}

// finish takes a batch without slots under way off the books and leaves its result to be
// handed out. It is the only place that does, and every way of a batch ends in it.
func (l *Ledger) finish(now time.Time, b *Entry) {
	if b.due > 0 {
		heap.Remove(&l.deadlines, b.due-1)
	}
	q := b.queue
	q.forget(b)
	l.entries[b.number] = nil
	l.free = append(l.free, b.number)
	if b.result.Dropped == 0 {
		b.result.Err = nil // withdrawn when all its slots were in waves
	}
	b.result.Slots = b.Slots
	q.finished = append(q.finished, b.result)
	q.used = now
	if b.withdrawn {
		q.ending--
	}
	if q != l.settling && !q.announced {
		q.announced = true
		l.ended = append(l.ended, q.name)
	}
}

// Finished hands out the results of a queue's batches that ended since the last call.
func (l *Ledger) Finished(name string) []Result {
	q := l.queues[name]
	if q == nil {
		return nil
	}
	results := q.finished
	q.finished = nil
	return results
}

// Ended are the queues whose batches ended outside Settle since the last call and wait to
// be handed out: nobody may be looking at them.
func (l *Ledger) Ended() []string {
	var names []string
	for _, name := range l.ended {
		q := l.queues[name]
		if q == nil || !q.announced {
			continue // evicted since, so it has nothing
		}
		q.announced = false
		if len(q.finished) > 0 {
			names = append(names, name)
		}
	}
	l.ended = l.ended[:0]
	return names
}
