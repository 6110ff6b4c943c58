package megakernel

import (
	"cmp"
	"slices"

	"ringmaster/megakernel/gpu"
	"ringmaster/ring"
)

// Move goes on with another device after the present one was lost, with all objects on
// it. It waits for the waves in flight to fail or finish, which on a lost device they
// do at once. Windows begin anew as zeros.
//
// A batch is self-contained if none of its slots depends on what it finds in
// the window, by their opcodes: nop, store, fault, fence, print, yield, and those
// of the operator that read no word of the window. Such a batch runs again, whole,
// once. Every other batch fails with ErrHeapLost, and so does one that has run
// again before. Meanwhile Submit returns ErrMoving, and calls that wait for the device
// wait for the new one. On an error nothing has changed.
func (e *Engine) Move(dev gpu.Device) error {
	e.mu.Lock()
	if e.closed || e.moving {
		defer e.mu.Unlock()
		if e.closed {
			return ErrClosed
		}
		return ErrMoving
	}
	e.moving = true
	for e.flying > 0 {
		e.landed.Wait()
	}
	for e.writers > 0 {
		e.written.Wait()
	}
	err := ErrClosed // while it waited
	if !e.closed {
		// Drivers may take seconds: nobody who asks for the lock is to wait so long.
		// Nothing is in flight, and rebuilding keeps everybody off the device's
		// memory but the pump, whose job is added while it cannot be closed.
		e.rebuilding = true
		done := make(chan error, 1)
		e.pump.add(job{plain: true, fn: func() error { return e.attach(dev) }, done: done})
		e.mu.Unlock()
		err = <-done
		e.mu.Lock()
		e.rebuilding = false
	}
	if err == nil {
		epoch := e.epoch.Add(1)
		for _, q := range e.queues {
			q.epoch = epoch
		}
		e.restart()
	}
	e.moving = false
	e.freed.Broadcast()
	calls := e.takeCalls()
	e.madeRoom()
	e.mu.Unlock()
	for _, c := range calls {
		c.done(&c.result)
	}
	return err
}

// Epoch is the epoch of windows given out now. A window's epoch names its content: it is
// a greater one after every Move, after the window went to another queue and came back,
// and in every engine made later, because what was written before is gone. It is the
// time of New by Config.Now in Unix microseconds, plus one for every move, for every
// window taken back, and for every release of a queue in flight.
func (e *Engine) Epoch() uint64 { return e.epoch.Load() }

// restart begins self-contained batches anew and fails the others. Called with
// mu held, with nothing in flight.
func (e *Engine) restart() {
	for _, q := range e.queues {
		e.emptyPages(q)
	}
	live := make([]*batch, 0, len(e.batches))
	for _, b := range e.batches {
		if b != nil {
			live = append(live, b)
		}
	}
	slices.SortFunc(live, func(a, b *batch) int { return cmp.Compare(a.serial, b.serial) })
	for _, b := range live {
		switch {
		case b.ended:
			e.drop(b, b.outstanding)
			b.outstanding = 0
		case !b.moved && e.catalog.selfContained(b.Slots):
			e.again(b)
			continue
		default:
			b.segmentEnd -= b.outstanding
			b.outstanding = 0
			e.dropRest(b, ErrHeapLost)
		}
		e.finish(b)
	}
}

// emptyPages frees every page of a queue, whatever is in it.
func (e *Engine) emptyPages(q *queue) {
	for p := range q.waiting {
		q.waiting[p] = line{} // who begins anew comes in again
	}
	q.pages.Each(func(number uint32) {
		base := int(number) * ring.PageSlots
		for i := base; i < base+e.pool.Filled(number); i++ {
			if e.pool.Status(i).State() == ring.Published {
				_ = e.pool.Drop(i) // published, so it can be dropped
			}
		}
	})
	q.pages.Remove(func(number uint32) bool { return e.closePage(q, number) == nil })
}

// again begins a batch anew.
func (e *Engine) again(b *batch) {
	r := &b.result
	done := int(r.Executed + r.Faulted)
	b.queue.pending += done
	e.pending += done
	r.Executed, r.Faulted, r.Faults = 0, 0, nil
	clear(r.Results)
	b.moved = true
	b.segmentEnd = 0
	b.openSegment()
	b.queue.open(b)
}
