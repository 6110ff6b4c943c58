package ledger

import (
	"fmt"
	"math"
	"time"

	"ringmaster/ring"
)

// QueueOptions bound what a queue may do. The zero value bounds nothing.
type QueueOptions struct {
	MaxPending int     // slots submitted and not finished; 0: no bound but Config.MaxPending
	Rate       float64 // slots per second put into waves; 0: no bound
	Burst      int     // slots that may run ahead of Rate; 0: as many as one second's, at least a page
	Opcodes    uint64  // bit i set: opcode i may be used; 0: every opcode
}

// Validate refuses options that cannot work.
func (o *QueueOptions) Validate() error {
	if o.MaxPending < 0 || o.Burst < 0 || !(o.Rate >= 0) || math.IsInf(o.Rate, 1) {
		return fmt.Errorf("bounds of a queue are negative or not finite: %+v", *o)
	}
	return nil
}

// Configure gives a queue, there or still to come, other options. They hold for batches
// submitted and waves begun from then on, also when the queue has lost its window in
// between. Batches that are pending and hold an opcode which the options forbid are
// withdrawn with ErrForbidden: their slots in no wave do not run.
func (l *Ledger) Configure(now time.Time, name string, options QueueOptions) error {
	if err := options.Validate(); err != nil {
		return fmt.Errorf("queue %q: %w", name, err)
	}
	l.options[name] = options
	q := l.queues[name]
	if q == nil {
		return nil
	}
	q.options = options
	q.bucket = newBucket(options, now)
	for _, b := range l.entries {
		if b != nil && b.queue == q && !b.withdrawn && options.forbids(b) {
			l.withdraw(now, b, ErrForbidden)
		}
	}
	return nil
}

// admits refuses a batch that the queue's options do not allow.
func (q *queue) admits(b *Entry) error {
	o := &q.options
	if o.MaxPending > 0 && q.pending+b.length > o.MaxPending {
		if b.length > o.MaxPending {
			return fmt.Errorf("batch %q: %d slots, the queue's quota is %d: %w", b.ID, b.length, o.MaxPending, ErrBatch)
		}
		return fmt.Errorf("batch %q: %d slots of queue %q pending and %d more, its quota is %d: %w",
			b.ID, q.pending, q.name, b.length, o.MaxPending, ErrQuota)
	}
	if o.forbids(b) {
		return fmt.Errorf("batch %q: opcodes %#x, queue %q may use %#x: %w",
			b.ID, b.profile.Opcodes|b.profile.Parts, q.name, o.Opcodes, ErrForbidden)
	}
	return nil
}

// forbids reports whether a batch holds an opcode, in a slot or packed in one, that is not
// in the mask.
func (o *QueueOptions) forbids(b *Entry) bool {
	return o.Opcodes != 0 && (b.profile.Opcodes|b.profile.Parts)&^o.Opcodes != 0
}

// bucket is a token bucket: it holds the slots that may be scheduled now, at most its size,
// and fills at the rate.
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

// allowance is how many of depth slots may be scheduled now.
func (b *bucket) allowance(now time.Time, depth int) int {
	if b.rate == 0 {
		return depth
	}
	b.tokens = min(b.size, b.tokens+max(now.Sub(b.at).Seconds(), 0)*b.rate)
	b.at = now
	return int(min(float64(depth), b.tokens))
}

// spend takes scheduled slots from the allowance. Slots that go round again are charged
// again: they use the device again.
func (b *bucket) spend(slots int) {
	if b.rate > 0 {
		b.tokens -= float64(slots)
	}
}
