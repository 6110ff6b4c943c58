package megakernel

import (
	"errors"
	"fmt"
	"math"
	"time"

	"ringmaster/ring"
)

// ErrQuota says that a queue has as many slots pending as its quota allows;
// later there may be room.
var ErrQuota = errors.New("the queue's quota is used up")

// ErrForbidden says that a batch holds an opcode its queue must not use.
var ErrForbidden = errors.New("opcode is not allowed for the queue")

// QueueOptions bound what a queue may do. The zero value bounds nothing.
type QueueOptions struct {
	MaxPending int       // slots submitted and not finished; 0: no bound but Config.MaxPending
	Rate       float64   // slots per second put into waves; 0: no bound
	Burst      int       // slots that may run ahead of Rate; 0: as many as one second's, at least a page
	Opcodes    OpcodeSet // bit i set: opcode i may be used; 0: every opcode
}

// Validate refuses options that cannot work.
func (o *QueueOptions) Validate() error {
	if o.MaxPending < 0 || o.Burst < 0 || !(o.Rate >= 0) || math.IsInf(o.Rate, 1) {
		return fmt.Errorf("bounds of a queue are negative or not finite: %+v", *o)
	}
	return nil
}

// Configure gives a queue, there or still to come, other options. They hold for
// batches submitted and waves started from then on, also when the queue has lost its
// window in between. Batches that are pending and hold an opcode which the options
// forbid are withdrawn with ErrForbidden: their slots in no wave do not run.
func (e *Engine) Configure(name string, options QueueOptions) error {
	if err := options.Validate(); err != nil {
		return fmt.Errorf("megakernel: queue %q: %w", name, err)
	}
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return ErrClosed
	}
	e.options[name] = options
	if q := e.queues[name]; q != nil {
		q.options = options
		q.quota = newBucket(options, e.now())
		for _, b := range e.batches {
			if b != nil && b.queue == q && !b.ended && options.forbids(b) {
				e.end(b, ErrForbidden)
			}
		}
		e.madeRoom()
	}
	calls := e.takeCalls()
	e.mu.Unlock()
	for _, c := range calls {
		c.done(&c.result)
	}
	return nil
}

// Release ends a queue: slots in no wave are dropped, those in waves finish,
// and then its window, cleared, is free for another queue under another
// tenant id and epoch. Options of the name stay. Reports of its waves are still handed out.
func (e *Engine) Release(name string) error {
	e.mu.Lock()
	q := e.queues[name]
	for q != nil && q.writing > 0 {
		e.written.Wait()
		q = e.queues[name]
	}
	if q == nil {
		e.mu.Unlock()
		return fmt.Errorf("megakernel: release of queue %q: %w", name, ErrQueue)
	}
	for _, b := range e.batches {
		if b != nil && b.queue == q && !b.ended {
			e.end(b, ErrCanceled)
		}
	}
	delete(e.queues, name)
	q.released = true
	if q.flights == 0 {
		e.recycle(q)
	} else {
		e.epoch.Add(1) // the name may have another window before this one is cleared
	}
	e.madeRoom()
	calls := e.takeCalls()
	e.mu.Unlock()
	for _, c := range calls {
		c.done(&c.result)
	}
	return nil
}

// admits refuses a batch that the queue's options do not allow. Called with mu held.
func (q *queue) admits(b *batch) error {
	o := &q.options
	if o.MaxPending > 0 && q.pending+len(b.Slots) > o.MaxPending {
		if len(b.Slots) > o.MaxPending {
			return fmt.Errorf("megakernel: batch %q: %d slots, the queue's quota is %d: %w", b.ID, len(b.Slots), o.MaxPending, ErrBatch)
		}
		return fmt.Errorf("megakernel: batch %q: %d slots of queue %q pending and %d more, its quota is %d: %w",
			b.ID, q.pending, q.name, len(b.Slots), o.MaxPending, ErrQuota)
	}
	if o.forbids(b) {
		return fmt.Errorf("megakernel: batch %q: opcodes %#x, queue %q may use %#x: %w", b.ID, b.opcodes|b.parts, q.name, o.Opcodes, ErrForbidden)
	}
	return nil
}

// forbids reports whether a batch holds an opcode, in a slot or packed in one, that is not in
// the mask.
func (o *QueueOptions) forbids(b *batch) bool {
	return o.Opcodes != 0 && (b.opcodes|b.parts)&^o.Opcodes != 0
}

// bucket is a token bucket: it holds the slots that may be scheduled now.
type bucket struct {
	rate, size float64
	tokens     float64
	at         time.Time
}

func newBucket(o QueueOptions, now time.Time) bucket {
	size := float64(o.Burst)
	if size == 0 {
		size = max(o.Rate, ring.PageSlots)
	}
	return bucket{rate: o.Rate, size: size, tokens: size, at: now}
}

// allowance is how many of depth slots the queue may schedule now.
func (q *queue) allowance(depth int, now time.Time) int {
	b := &q.quota
	if b.rate == 0 {
		return depth
	}
	b.tokens = min(b.size, b.tokens+max(now.Sub(b.at).Seconds(), 0)*b.rate)
	b.at = now
	return int(min(float64(depth), b.tokens))
}

// spend takes scheduled slots from the allowance. Slots that go round again
// are charged again: they use the device again.
func (q *queue) spend(slots int) {
	if q.quota.rate > 0 {
		q.quota.tokens -= float64(slots)
	}
}
