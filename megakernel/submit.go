package megakernel

import (
	"fmt"
	"slices"
	"sync"

	"ringmaster/megakernel/ledger"
	"ringmaster/ring"
)

// writer is what one goroutine needs while it writes slots to staging.
type writer struct {
	extents []ledger.Extent
	gather  []ring.Slot
}

func newWriter() writer { return writer{gather: make([]ring.Slot, 0, ring.PageSlots)} }

var writers = sync.Pool{New: func() any { w := newWriter(); return &w }}

// Submit takes a batch for a queue; its slots belong to the engine until the batch is
// reported, once: by the report of the launch that finished it, or by Finished. A queue is
// created, with a window of zeros, by its first batch. Any number of goroutines may submit
// at a time; each writes its slots to the device's staging memory itself.
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
	w := writers.Get().(*writer)
	w.extents, err = e.ledger.Submit(e.now(), w.extents[:0], queue, entry)
	e.clearReused()
	e.write(w)
	e.lookAtClock()
	clear(w.extents)
	writers.Put(w)
	return err
}

// write writes the slots of reserved extents to staging and publishes them. Called with mu
// held, which it releases while it writes: positions belong to whoever reserved them.
func (e *Engine) write(w *writer) {
	if len(w.extents) == 0 {
		return
	}
	// Before the lock is released: the page is in no wave, so nobody looks at this until its
	// slots are published.
	for i := range w.extents {
		e.exec.uploaded[w.extents[i].Page()] = false
	}
	e.writers++
	e.mu.Unlock()
	e.store(w.extents, w.gather)
	e.mu.Lock()
	e.ledger.Publish(e.now(), w.extents)
	e.writers--
	e.written.Broadcast()
}

// A batch of many pages is written by up to maxHands goroutines, from handProcessors processors
// on, each with at least handExtents extents: a core fills memory more slowly than the memory
// takes it, and all batches of a worker are submitted by one goroutine.
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
func (e *Engine) store(extents []ledger.Extent, gather []ring.Slot) {
	if hands := min(e.hands, len(extents)/handExtents); hands > 1 {
		own := (len(extents) + hands - 1) / hands
		defer e.storeBeside(extents[own:], own)()
		extents = extents[:own]
	}
	e.storeAll(extents, gather)
}

// storeBeside has other goroutines write the slots of extents, some each, and returns what waits
// for them.
func (e *Engine) storeBeside(extents []ledger.Extent, each int) (wait func()) {
	var others sync.WaitGroup
	for part := range slices.Chunk(extents, each) {
		others.Go(func() {
			w := writers.Get().(*writer)
			e.storeAll(part, w.gather)
			writers.Put(w)
		})
	}
	return others.Wait
}

func (e *Engine) storeAll(extents []ledger.Extent, gather []ring.Slot) {
	for i := range extents {
		x := &extents[i]
		e.exec.memory.Store(x.Index, e.ledger.Slots(x, gather))
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
