package megakernel

import (
	"container/heap"

	"ringmaster/ring"
)

// Cancel withdraws the batches of a queue that have an id: slots that are in no
// wave are dropped, those in a wave finish. It returns the number of batches and
// of the slots that were dropped at once; more may follow when a wave ends. The
// batches are reported once none of their slots is in flight. The time it takes
// depends on the number of their slots, not on how many others are pending.
func (e *Engine) Cancel(name, id string) (batches, slots int) {
	e.mu.Lock()
	q := e.queues[name]
	if q != nil {
		before := q.pending
		for b := q.named[id]; b != nil; {
			next := b.namesake.next // ending it takes it off the list
			if !b.ended {
				e.end(b, ErrCanceled)
				batches++
			}
			b = next
		}
		slots = before - q.pending
		if slots > 0 {
			e.madeRoom()
		}
	}
	calls := e.takeCalls()
	e.mu.Unlock()
	for _, c := range calls {
		c.done(&c.result)
	}
	return batches, slots
}

// Finished hands out the batches of a queue that ended outside of any launch,
// canceled or past their deadline. Otherwise they come with the queue's next report.
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

// end withdraws a batch: the slots behind its open segment, those of the open segment
// that are in no page, and those in pages that are in no wave. The rest is dropped when
// its waves are settled, or as soon as it has been written. Called with mu held.
func (e *Engine) end(b *batch, why error) {
	b.outstanding -= b.waiting()
	b.segmentEnd -= b.waiting()
	b.queue.leave(b)
	e.dropRest(b, why)
	idle := false
	for _, s := range b.taken {
		// The status words of a page in a wave are the settler's.
		if number := uint32(s.index >> ring.PageShift); !e.pool.Flying(number) {
			e.dropAt(b, s)
			idle = idle || e.pool.Idle(number)
		}
	}
	if idle {
		e.closeIdle(b.queue)
	}
	if b.outstanding == 0 {
		e.finish(b)
	}
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

// dropAt drops the published slots of a withdrawn batch at some positions of a page that
// is in no wave. Some positions may belong to another batch by now. Called with mu held.
func (e *Engine) dropAt(b *batch, s positions) {
	for i := s.index; i < s.index+s.n; i++ {
		if e.pool.Status(i).State() == ring.Published && e.owners[i].batch == b.number {
			e.dropSlot(b, i)
		}
	}
}

// dropPage drops the slots of withdrawn batches in a page that comes back from a wave,
// and finishes the batches of which nothing is left. Called with mu held.
func (e *Engine) dropPage(number uint32) {
	base := int(number) * ring.PageSlots
	for i := base; i < base+e.pool.Filled(number); i++ {
		if e.pool.Status(i).State() != ring.Published {
			continue
		}
		b := e.batches[e.owners[i].batch]
		if !b.ended {
			continue
		}
		e.dropSlot(b, i)
		if b.outstanding == 0 {
			e.finish(b)
		}
	}
}

// dropSlot drops a published slot of a batch.
func (e *Engine) dropSlot(b *batch, index int) {
	if e.pool.Drop(index) == nil {
		b.outstanding--
		e.drop(b, 1)
	}
}

// closeIdle frees the pages of a queue of which nothing is left. Called with mu held.
func (e *Engine) closeIdle(q *queue) {
	q.pages.Remove(func(number uint32) bool {
		return e.pool.Idle(number) && e.closePage(q, number) == nil
	})
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
	ended := false
	for len(e.deadlines) > 0 {
		b := e.deadlines[0]
		alive := e.batches[b.number] == b && !b.ended
		if alive && e.now().Before(b.Deadline) {
			break
		}
		heap.Pop(&e.deadlines)
		if alive {
			e.end(b, ErrDeadline)
			ended = true
		}
	}
	if ended {
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
