package natsio

import "sync"

// letter is one encoded record on its way out. Its memory is used again.
type letter struct {
	subject string
	replies []string // further addresses of the same payload
	payload []byte
	trace   string      // context of the payload, "" for none
	sent    func(error) // nil unless somebody waits for the outcome
}

// outbox is a bounded queue between callers that must not block and one
// goroutine that writes. The writer takes everything at once, so a stall shows
// as a larger batch and not as a longer wait for a lock.
type outbox struct {
	mu      sync.Mutex
	changed *sync.Cond
	waiting []letter // a ring from oldest once it is full
	oldest  int
	spare   []letter // what the writer took last, to be filled next
	limit   int
	dropped int
	closed  bool
}

func (o *outbox) init(limit int) {
	o.changed = sync.NewCond(&o.mu)
	o.limit = limit
}

// open returns a letter to fill and holds the outbox until seal. The letter is
// nil if the outbox is closed, or if it is full and replace is false; a full
// one else gives up its oldest letter. seal is called in any case.
func (o *outbox) open(replace bool) (l *letter, why error) {
	o.mu.Lock()
	switch n := len(o.waiting); {
	case o.closed:
		return nil, ErrClosed
	case n == o.limit && !replace:
		return nil, ErrBacklog
	case n == o.limit:
		l = &o.waiting[o.oldest]
		o.oldest = (o.oldest + 1) % n
		o.dropped++
	case n < cap(o.waiting):
		o.waiting = o.waiting[:n+1]
		l = &o.waiting[n]
	default:
		o.waiting = append(o.waiting, letter{})
		l = &o.waiting[n]
	}
	l.replies, l.payload, l.trace, l.sent = l.replies[:0], l.payload[:0], "", nil
	return l, nil
}

func (o *outbox) seal() {
	o.mu.Unlock()
	o.changed.Signal()
}

// outBatch is what a writer takes: two runs in order of age.
type outBatch struct {
	older, newer []letter
	dropped      int
}

// take waits for letters and returns all of them, or false when the outbox is
// closed and empty. They are the writer's until it calls take again.
func (o *outbox) take() (outBatch, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.waiting) == 0 && !o.closed {
		o.changed.Wait()
	}
	if len(o.waiting) == 0 {
		return outBatch{}, false
	}
	b := outBatch{older: o.waiting[o.oldest:], newer: o.waiting[:o.oldest], dropped: o.dropped}
	o.waiting, o.spare = o.spare[:0], o.waiting
	o.oldest, o.dropped = 0, 0
	return b, true
}

// close refuses new letters; those inside still go out.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.changed.Broadcast()
}
