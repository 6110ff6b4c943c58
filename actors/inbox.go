package actors

import (
	"sync"

	"ringmaster/telemetry"
)

// inbox holds what a worker actor has to handle and must not lose: work whose
// outcome somebody waits for, and launches that came back. Like a cell it asks
// for one message, however many items it has.
type inbox struct {
	mu     sync.Mutex
	items  []any // *batch, *landing, *delivery, *cancellation, *pauseOver, *drain
	woken  bool
	closed bool
}

type (
	// landing is a launch that came back.
	landing struct {
		launch uint64
		report Report
	}
	// delivery says what became of a batch's done record.
	delivery struct {
		batch *batch
		err   error
	}
	// pauseOver ends the pause of a queue after a failed launch.
	pauseOver struct{ lane *lane }
	// drain ends the worker's launches; idle is closed when nothing is under way.
	drain struct{ idle chan struct{} }
)

// put adds an item. wake asks the caller to send one arrived message; ok is
// false once the inbox is closed, and the item is then not taken.
func (b *inbox) put(item any) (wake, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false, false
	}
	b.items = append(b.items, item)
	wake = !b.woken
	b.woken = true
	return wake, true
}

// next takes the oldest item; an empty inbox asks for a wake again.
func (b *inbox) next() (item any, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.items) == 0 {
		b.woken = false
		b.items = nil
		return nil, false
	}
	item = b.items[0]
	b.items[0] = nil
	b.items = b.items[1:]
	return item, true
}

// close takes what is left; nothing is accepted any more.
func (b *inbox) close() []any {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	left := b.items
	b.items = nil
	return left
}

// batch is submitted work from its admission to its settlement.
type batch struct {
	family *family
	work   telemetry.Work
	sentNs int64
	// waiters are told the outcome, each exactly once: the first is the
	// submitter, the others hold further deliveries of the same batch.
	waiters []func(telemetry.Outcome, error)
	number  uint64          // order of admission at its worker
	done    *telemetry.Done // set when the engine has finished it
	// publishing is set while the done record is on its way to the server.
	publishing bool
}

// maxWaiters bounds the deliveries of one batch that wait for its outcome.
const maxWaiters = 16

type batchKey struct{ queue, id string }

func (b *batch) key() batchKey { return batchKey{b.family.name, b.work.Batch} }

// settle tells everyone who waits. Only the first delivery of a batch that ran
// is done; the others are duplicates.
func (b *batch) settle(outcome telemetry.Outcome, err error) {
	waiters := b.waiters
	b.waiters = nil
	for i, tell := range waiters {
		b.family.waiting.Add(-1)
		if i > 0 && outcome == telemetry.OutcomeDone {
			outcome = telemetry.OutcomeDuplicate
		}
		tell(outcome, err)
	}
}

// join lets the deliveries of a second arrival of the batch wait with the first.
func (b *batch) join(again *batch) {
	if len(b.waiters)+len(again.waiters) > maxWaiters {
		again.settle(telemetry.OutcomeBusy, ErrBacklog)
		return
	}
	b.waiters = append(b.waiters, again.waiters...)
	again.waiters = nil
}
