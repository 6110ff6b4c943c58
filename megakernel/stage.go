package megakernel

import (
	"ringmaster/ring"
)

// extent is a run of positions of one page that one batch's slots go to.
type extent struct {
	batch *batch
	index int // of the pool
	n     int
	from  int // position in the batch's order, or in the batch if that is uniform
}

// reserve finds positions for a batch's slots that are in no page, most
// urgent first, as far as there are pages, and appends them to dst. They are
// filled by encode and then published. Called with mu held.
func (e *Engine) reserve(dst []extent, q *queue, b *batch, priority uint32, limit int) []extent {
	c := &b.class[priority]
	for limit > 0 && c.next < c.end {
		number, ok := e.openPage(q, priority, b)
		if !ok {
			break
		}
		index, n := e.pool.Reserve(number, min(c.end-c.next, limit))
		page := &e.pages[number]
		page.steps = max(page.steps, b.steps)
		page.opcodes |= b.opcodes
		page.results = page.results || b.WantResults
		dst = append(dst, extent{batch: b, index: index, n: n, from: c.next})
		b.taken = append(b.taken, positions{index, n})
		c.next += n
		limit -= n
	}
	return dst
}

// reserveWaiting does the same for the queue's batches in line, until depth
// slots of each priority could be scheduled.
func (e *Engine) reserveWaiting(dst []extent, q *queue, depth int) []extent {
	for p := range uint32(ring.Priorities) {
		for room := depth - q.pages.Waiting(e.pool, p); ; {
			b := q.waiting[p].first
			if b == nil {
				break
			}
			before := b.class[p].next
			dst = e.reserve(dst, q, b, p, room)
			room -= b.class[p].next - before
			if b.class[p].next < b.class[p].end {
				break
			}
			q.waiting[p].remove(b, int(p))
		}
	}
	return dst
}

// openPage is a page of a priority that takes slots of a batch. A queue is always given
// its first page of a priority, and more only from what is left when every
// queue there can be has had its first ones, so no queue's backlog keeps
// another from running.
func (e *Engine) openPage(q *queue, priority uint32, b *batch) (uint32, bool) {
	if number, ok := q.pages.Last(priority); ok && e.pool.Open(number) && e.joins(b, number) {
		return number, true
	}
	if q.owned[priority] > 0 {
		promised := ring.Priorities*e.cfg.MaxQueues - e.first
		if e.pool.Free() <= promised {
			return 0, false
		}
	}
	number, ok := e.pool.Alloc(priority)
	if !ok {
		return 0, false
	}
	if q.owned[priority]++; q.owned[priority] == 1 {
		e.first++
	}
	q.pages.Push(e.pool, number)
	e.pages[number] = pageInfo{}
	return number, true
}

// closePage frees a page without live slots that is in no queue. Called with
// mu held.
func (e *Engine) closePage(q *queue, number uint32) error {
	priority := e.pool.Priority(number)
	if err := e.pool.Release(number); err != nil {
		return err
	}
	if q.owned[priority]--; q.owned[priority] == 0 {
		e.first--
	}
	return nil
}

// write encodes and publishes what was reserved for a queue. Called with mu
// held, which it releases while it writes.
func (e *Engine) write(q *queue, enc *encoder) {
	q.writing++
	e.writers++
	e.mu.Unlock()
	e.encode(enc.extents, enc.gather)
	e.mu.Lock()
	e.publish(enc.extents)
	q.writing--
	e.writers--
	e.written.Broadcast()
}

// encode writes the slots of extents to staging. It runs beside other
// encoders: positions are written by whoever reserved them.
func (e *Engine) encode(extents []extent, gather []ring.Slot) {
	for i := range extents {
		x := &extents[i]
		b := x.batch
		owners := e.owners[x.index : x.index+x.n]
		if b.uniform {
			slots := b.Slots[x.from : x.from+x.n]
			for j := range slots {
				s := &slots[j]
				s.Tenant = b.queue.tenant
				s.Sequence = b.sequence + uint32(x.from+j)
				owners[j] = owner{batch: b.number, index: uint32(x.from + j)}
			}
			e.memory.store(x.index, slots)
			continue
		}
		gather = gather[:0]
		for j, index := range b.order[x.from : x.from+x.n] {
			s := &b.Slots[index]
			s.Tenant = b.queue.tenant
			s.Sequence = b.sequence + index
			owners[j] = owner{batch: b.number, index: index}
			gather = append(gather, *s)
		}
		e.memory.store(x.index, gather)
	}
}

// publish makes the slots of encoded extents ready for a wave, and drops those of batches
// that were withdrawn meanwhile. Called with mu held.
func (e *Engine) publish(extents []extent) {
	for i := range extents {
		x := &extents[i]
		b := x.batch
		e.pool.Publish(x.index, x.n)
		if !b.ended {
			continue
		}
		e.dropAt(b, positions{x.index, x.n})
		if e.pool.Idle(uint32(x.index >> ring.PageShift)) {
			e.closeIdle(b.queue)
		}
		if b.outstanding == 0 {
			e.finish(b)
		}
	}
}
