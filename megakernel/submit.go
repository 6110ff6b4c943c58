package megakernel

import (
	"fmt"
	"slices"
	"sync"

	"ringmaster/megakernel/ledger"
	"ringmaster/ring"
)

// staging is slots on their way into staging memory: those of one batch, or those that a launch
// moves into pages. Guarded by Engine.mu but for extents, whose slots are read without it.
type staging struct {
	queue   string
	number  uint64 // in the order of their begin
	extents []ledger.Extent
	parts   int // that are not written yet
}

// gathers are room for the slots of a page, of a goroutine that writes slots.
var gathers = sync.Pool{New: func() any { g := make([]ring.Slot, ring.PageSlots); return &g }}

// Submit takes a batch for a queue; its slots belong to the engine until the batch is
// reported, once: by the report of the launch that finished it, or by Finished. A queue is
// created, with a window of zeros, by its first batch. Any number of goroutines may submit
// at a time. Slots of a large batch may still be on their way into the device's memory when
// Submit returns: a launch that is started afterwards waits for them.
//
// An error means that nothing was taken. One that wraps ErrBacklog, ErrQuota, ErrQueues or
// ErrMoving says that later there may be room; the others are ErrBatch, ErrForbidden and
// ErrClosed.
func (e *Engine) Submit(queue string, work Batch) error {
	if err := e.ledger.Check(&work); err != nil {
		return err
	}
	profile, err := profile(e.catalog, &work)
	if err != nil {
		return err
	}
	entry, err := e.ledger.NewEntry(work, profile)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return fmt.Errorf("batch %q: %w", work.ID, ErrClosed)
	case e.rebuilding:
		return fmt.Errorf("batch %q: %w", work.ID, ErrMoving)
	}
	s := &staging{queue: queue}
	s.extents, err = e.ledger.Submit(e.now(), make([]ledger.Extent, 0, work.Len()/ring.PageSlots+1), queue, entry)
	e.clearReused()
	e.stage(s)
	e.lookAtClock()
	return err
}

// stage has the slots of reserved extents written to staging and published. Called with mu
// held, which it releases while it writes: positions belong to whoever reserved them. Many
// pages are written by other goroutines: stage returns at once, and s and its slots are in
// use until s.parts is 0.
func (e *Engine) stage(s *staging) {
	if len(s.extents) == 0 {
		return
	}
	// Before anything is written: the page is in no wave, so nobody looks at this until its
	// slots are published.
	for i := range s.extents {
		e.exec.uploaded[s.extents[i].Page()] = false
	}
	e.stagings++
	s.number = e.stagings
	e.staging = append(e.staging, s)
	hands := min(e.hands, len(s.extents)/handExtents)
	if e.hands == 1 || hands == 0 {
		s.parts = 1
		e.mu.Unlock()
		e.store(s.extents)
		e.mu.Lock()
		e.stored(s)
		return
	}
	for part := range slices.Chunk(s.extents, (len(s.extents)+hands-1)/hands) {
		s.parts++
		go func() {
			e.store(part)
			e.mu.Lock()
			defer e.mu.Unlock()
			e.stored(s)
		}()
	}
}

// A batch of handExtents extents or more is written by other goroutines than its submitter's,
// from handProcessors processors on, by up to maxHands with at least handExtents each: a core
// fills memory more slowly than the memory takes it, and the one goroutine that submits all
// batches of a worker has other things to do.
const (
	handProcessors = 8
	maxHands       = 4
	handExtents    = 4
)

// handsOf is how many goroutines may write a batch on some processors.
func handsOf(processors int) int {
	if processors < handProcessors {
		return 1
	}
	return maxHands
}

// store writes the slots of extents to staging.
func (e *Engine) store(extents []ledger.Extent) {
	gather := gathers.Get().(*[]ring.Slot)
	defer gathers.Put(gather)
	for i := range extents {
		x := &extents[i]
		e.exec.memory.Store(x.Index, e.ledger.Slots(x, (*gather)[:0]))
	}
}

// stored notes that a part is written, and publishes all after the last. Called with mu held.
func (e *Engine) stored(s *staging) {
	if s.parts--; s.parts > 0 {
		return
	}
	e.ledger.Publish(e.now(), s.extents)
	clear(s.extents) // of their batches
	e.staging = slices.DeleteFunc(e.staging, func(other *staging) bool { return other == s })
	e.staged.Broadcast()
	e.lookAtClock()
}

// awaitStaged waits until everything that a queue has begun to stage is published. What is
// begun meanwhile is not waited for. Called with mu held, which it releases while it waits.
func (e *Engine) awaitStaged(queue string) {
	last := e.stagings
	for slices.ContainsFunc(e.staging, func(s *staging) bool { return s.queue == queue && s.number <= last }) {
		e.staged.Wait()
	}
}

// clearReused clears the windows that were given to another queue, before anything of
// that queue reaches the device. Called with mu held.
func (e *Engine) clearReused() {
	for {
		w, ok := e.ledger.Reused()
		if !ok {
			return
		}
		done := make(chan error, 1) // nobody asks: a lost device is found by the next wave
		e.pump.add(job{done: done, fn: func() error {
			e.exec.dev.ClearBuffer(e.exec.memory.Buffers[ring.BindHeap], int(w.Base)*ring.WordBytes, int(w.Length)*ring.WordBytes)
			return e.exec.dev.Check()
		}})
	}
}
