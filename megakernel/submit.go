package megakernel

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"ringmaster/ring"
)

// encoder is what one submitter needs while it writes slots to staging.
type encoder struct {
	extents []extent
	gather  []ring.Slot
}

var encoders = sync.Pool{New: func() any { return &encoder{gather: make([]ring.Slot, 0, ring.PageSlots)} }}

// Submit takes a batch for a queue; its slots belong to the engine until the
// batch is reported. A queue is created, with a window of zeros, by its first
// batch. Any number of goroutines may submit at a time; each writes its slots
// to the device's staging memory itself. An error means that nothing was
// taken; one that wraps ErrBacklog, ErrQuota or ErrMoving, that later there may be room.
func (e *Engine) Submit(name string, work Batch) error {
	b, err := e.newBatch(work)
	if err != nil {
		return err
	}
	e.mu.Lock()
	q, err := e.admit(name, b)
	if err != nil {
		e.countRefused(name)
		e.mu.Unlock()
		return err
	}
	e.accept(q, b)
	return nil
}

// SubmitContext does the same and waits for room, in no particular order with
// other submitters that wait. It returns early with the context's error if
// that ends first.
func (e *Engine) SubmitContext(ctx context.Context, name string, work Batch) error {
	b, err := e.newBatch(work)
	if err != nil {
		return err
	}
	for waited := false; ; waited = true {
		e.mu.Lock()
		q, err := e.admit(name, b)
		if err == nil {
			e.accept(q, b)
			return nil
		}
		if !errors.Is(err, ErrBacklog) && !errors.Is(err, ErrQuota) && !errors.Is(err, ErrMoving) {
			e.countRefused(name)
			e.mu.Unlock()
			return err
		}
		if q := e.queues[name]; q != nil && !waited {
			q.stats.Waits++
		}
		if e.room == nil {
			e.room = make(chan struct{})
		}
		room := e.room
		e.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return fmt.Errorf("megakernel: batch %q waits for room: %w", b.ID, context.Cause(ctx))
		}
	}
}

// newBatch checks a batch by itself and opens its first segment.
func (e *Engine) newBatch(work Batch) (*batch, error) {
	b := &batch{Batch: work, result: BatchResult{ID: work.ID, Tag: work.Tag}}
	if err := b.check(e.catalog, e.cfg.MaxBatchSlots); err != nil {
		return nil, err
	}
	if work.WantResults {
		b.result.Results = make([]uint32, len(work.Slots))
	}
	return b, e.checkBudget(b)
}

// admit decides whether a batch is taken and for which queue. Called with mu
// held.
func (e *Engine) admit(name string, b *batch) (*queue, error) {
	if e.closed {
		return nil, fmt.Errorf("megakernel: batch %q: %w", b.ID, ErrClosed)
	}
	if e.rebuilding {
		return nil, fmt.Errorf("megakernel: batch %q: %w", b.ID, ErrMoving)
	}
	if e.pending+len(b.Slots) > e.cfg.MaxPending {
		return nil, fmt.Errorf("megakernel: batch %q: %d slots pending and %d more, the limit is %d: %w",
			b.ID, e.pending, len(b.Slots), e.cfg.MaxPending, ErrBacklog)
	}
	q, err := e.queue(name)
	if err != nil {
		return nil, err
	}
	return q, q.admits(b)
}

// accept registers an admitted batch, gives it pages, and writes its slots.
// Called with mu held, which it releases.
func (e *Engine) accept(q *queue, b *batch) {
	if n := len(e.free); n > 0 {
		b.number = e.free[n-1]
		e.free = e.free[:n-1]
		e.batches[b.number] = b
	} else {
		b.number = uint32(len(e.batches))
		e.batches = append(e.batches, b)
	}
	b.queue = q
	q.know(b)
	b.serial = e.serial
	e.serial++
	b.sequence, b.result.Sequence = q.sequence, q.sequence
	q.sequence += uint32(len(b.Slots))
	q.pending += len(b.Slots)
	q.stats.Submitted += uint64(len(b.Slots))
	e.pending += len(b.Slots)
	if !b.Deadline.IsZero() {
		e.deadlines.push(b)
	}
	if b.Epoch != 0 && b.Epoch != q.epoch {
		e.acceptLost(b)
		return
	}

	enc := encoders.Get().(*encoder)
	enc.extents = enc.extents[:0]
	for p := range uint32(ring.Priorities) {
		if q.waiting[p].first == nil {
			enc.extents = e.reserve(enc.extents, q, b, p, len(b.Slots))
		}
	}
	q.open(b)
	if len(enc.extents) > 0 {
		e.write(q, enc)
	}
	calls := e.takeCalls() // of what was withdrawn while its slots were written
	if len(calls) > 0 {
		e.madeRoom()
	}
	e.mu.Unlock()
	clear(enc.extents)
	encoders.Put(enc)
	for _, c := range calls {
		c.done(&c.result)
	}
}

// acceptLost ends a batch that depends on a heap which is gone: it is
// reported as if it had come before the loss. Called with mu held, which it
// releases.
func (e *Engine) acceptLost(b *batch) {
	b.segmentEnd, b.outstanding = 0, 0
	e.dropRest(b, ErrHeapLost)
	e.finish(b)
	calls := e.takeCalls()
	e.mu.Unlock()
	for _, c := range calls {
		c.done(&c.result)
	}
}

// madeRoom wakes submitters that wait. Called with mu held.
func (e *Engine) madeRoom() {
	if e.room != nil {
		close(e.room)
		e.room = nil
	}
}
