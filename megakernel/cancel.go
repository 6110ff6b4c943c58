package megakernel

import (
	"container/heap"

	"ringmaster/ring"
)

// Cancel withdraws the batches of a queue that have an id: slots that are in
// no wave are dropped, those in a wave finish. It returns the number of batches
// and of slots dropped at once; a wave may leave more of them. The batches are reported when nothing of them is in flight any more.
func (e *Engine) Cancel(name, id string) (batches, slots int) {
	e.mu.Lock()
	q := e.queues[name]
	if q != nil {
		before := q.pending
		for _, b := range e.batches {
			if b != nil && b.queue == q && b.ID == id && !b.ended {
				e.end(b, ErrCanceled)
				batches++
			}
		}
		e.dropEnded(q)
		e.madeRoom()
		slots = before - q.pending
	}
	calls := e.takeCalls()
	e.mu.Unlock()
	for _, c := range calls {
		c.done(&c.result)
	}
	return batches, slots
}

// Finished hands out the batches of a queue that ended outside of any launch,
// canceled or past their deadline. Those that are not asked for come with the
// queue's next report.
func (e *Engine) Finished(name string) []BatchResult {
	e.mu.Lock()
	defer e.mu.Unlock()
	q := e.queues[name]
	if q == nil {
		return nil
	}
	results := q.finished
	q.finished = nil
	return results
}

// end withdraws a batch: what is behind its open segment, and what of that is
// in no page. Its slots in pages, and itself from those in line, are dropped by dropEnded, which has to follow
// before anything else: once, for as many batches as end together. Called with mu held.
func (e *Engine) end(b *batch, why error) {
	b.outstanding -= b.waiting()
	b.segmentEnd -= b.waiting()
	e.dropRest(b, why)
}

// dropRest drops the slots of a batch from segmentEnd on.
func (e *Engine) dropRest(b *batch, why error) {
	e.drop(b, len(b.Slots)-b.segmentEnd)
	b.ended = true
	b.queue.ending++
	b.result.Err = why
	b.segmentEnd = len(b.Slots)
	b.class = [ring.Priorities]class{}
}

// drop counts slots of a batch that will not run. Called with mu held.
func (e *Engine) drop(b *batch, n int) {
	b.result.Dropped += uint32(n)
	b.queue.pending -= n
	b.queue.stats.Dropped += uint64(n)
	e.pending -= n
}

// dropEnded drops slots of withdrawn batches that are in pages and in no wave,
// and finishes batches of which nothing is left. Called with mu held.
func (e *Engine) dropEnded(q *queue) {
	if q.ending == 0 {
		return
	}
	for p := range q.waiting {
		q.waiting[p].removeEnded()
	}
	empty := false
	q.pages.Each(func(number uint32) {
		base := int(number) * ring.PageSlots
		for i := base; i < base+e.pool.Filled(number); i++ {
			if e.pool.Status(i).State() != ring.Published {
				continue
			}
			b := e.batches[e.owners[i].batch]
			if !b.ended || e.pool.Drop(i) != nil {
				continue
			}
			b.outstanding--
			e.drop(b, 1)
		}
		empty = empty || e.pool.Idle(number)
	})
	if empty {
		q.pages.Remove(func(number uint32) bool {
			return e.pool.Idle(number) && e.closePage(q, number) == nil
		})
	}
	for _, b := range e.batches {
		if b != nil && b.ended && b.queue == q && b.outstanding == 0 {
			e.finish(b)
		}
	}
}

// deadlines is a heap of batches by deadline.
type deadlines []*batch

func (d deadlines) Len() int           { return len(d) }
func (d deadlines) Less(i, j int) bool { return d[i].Deadline.Before(d[j].Deadline) }
func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].due, d[j].due = i+1, j+1
}
func (d *deadlines) Push(x any) {
	b := x.(*batch)
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

func (d *deadlines) push(b *batch) { heap.Push(d, b) }

// expire withdraws the batches whose deadline has passed. Called with mu held.
func (e *Engine) expire() {
	var queues map[*queue]struct{}
	for len(e.deadlines) > 0 {
		b := e.deadlines[0]
		alive := e.batches[b.number] == b && !b.ended
		if alive && e.now().Before(b.Deadline) {
			break
		}
		heap.Pop(&e.deadlines)
		if alive {
			e.end(b, ErrDeadline)
			if queues == nil {
				queues = make(map[*queue]struct{})
			}
			queues[b.queue] = struct{}{}
		}
	}
	for q := range queues {
		e.dropEnded(q)
	}
	if queues != nil {
		e.madeRoom()
	}
	if len(e.calls) > 0 {
		calls := e.takeCalls() // mu is held, and Done may submit
		go func() {
			for _, c := range calls {
				c.done(&c.result)
			}
		}()
	}
}
