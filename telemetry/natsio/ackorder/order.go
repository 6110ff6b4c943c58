package ackorder

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Patience is how long an acknowledgement waits for those of older messages. It is short beside what the server
// waits for one, and long beside most launches. A consumer with a window of 256 still gets 25,600 a second past
// an older message that takes longer.
const Patience = 10 * time.Millisecond

// Order keeps acknowledgements that wait. It is safe for concurrent use; the zero value is ready.
type Order struct {
	mu   sync.Mutex
	open []message // oldest first: those without an outcome, and those that wait for them
	late *time.Timer
}

type message struct {
	sequence    uint64
	acknowledge func() // nil: there is no outcome
	since       time.Time
}

// Take notes that a message was delivered, and comes before Acknowledge for it.
func (o *Order) Take(sequence uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i, known := o.find(sequence); !known {
		o.open = slices.Insert(o.open, i, message{sequence: sequence})
	}
}

// Acknowledge has acknowledge called once, now or after Patience at most: when no older message is without an outcome.
// acknowledge must be quick and not call the Order.
func (o *Order) Acknowledge(sequence uint64, acknowledge func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i, known := o.find(sequence)
	if !known {
		acknowledge()
		return
	}
	o.open[i].acknowledge, o.open[i].since = acknowledge, time.Now()
	ready := 0
	for ready < len(o.open) && o.open[ready].acknowledge != nil {
		o.open[ready].acknowledge()
		ready++
	}
	o.open = slices.Delete(o.open, 0, ready)
	if i >= ready && o.late == nil {
		o.late = time.AfterFunc(Patience, o.giveIn)
	}
}

// giveIn acknowledges what has waited for long enough.
func (o *Order) giveIn() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.late = nil
	now, next := time.Now(), time.Duration(0)
	o.open = slices.DeleteFunc(o.open, func(m message) bool {
		left := m.since.Add(Patience).Sub(now)
		switch {
		case m.acknowledge == nil:
			return false
		case left > 0:
			if next == 0 || left < next {
				next = left
			}
			return false
		}
		m.acknowledge()
		return true
	})
	if next > 0 {
		o.late = time.AfterFunc(next, o.giveIn)
	}
}

func (o *Order) find(sequence uint64) (place int, known bool) {
	return slices.BinarySearchFunc(o.open, sequence, func(m message, s uint64) int { return cmp.Compare(m.sequence, s) })
}
