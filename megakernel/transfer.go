package megakernel

import (
	"fmt"
	"slices"

	"ringmaster/ring"
)

// Write stores words in a queue's window from a word offset on, behind the
// waves started so far and before those started later. It creates the queue
// if there is none.
func (e *Engine) Write(name string, offset uint32, words []uint32) error {
	_, err := e.Upload(name, offset, words)
	return err
}

// Upload is Write and says the epoch of the window written to, for batches that
// depend on it.
func (e *Engine) Upload(name string, offset uint32, words []uint32) (epoch uint64, err error) {
	// The copy is an allocation without Go pointers around it, which the
	// caller's slice need not be and cgo demands.
	words = slices.Clone(words)
	return e.transfer(name, offset, len(words), true, func(at int) { write(e.exec.memory, ring.BindHeap, at, words) })
}

// Read fetches words of a queue's window from a word offset on, as the waves
// started so far leave them.
func (e *Engine) Read(name string, offset uint32, words []uint32) error {
	_, err := e.Download(name, offset, words)
	return err
}

// Download is Read and says the epoch of the window read from.
func (e *Engine) Download(name string, offset uint32, words []uint32) (epoch uint64, err error) {
	fetched := make([]uint32, len(words))
	epoch, err = e.transfer(name, offset, len(words), false, func(at int) { read(e.exec.memory, ring.BindHeap, at, fetched) })
	if err == nil {
		copy(words, fetched)
	}
	return epoch, err
}

// transfer checks a transfer against the window and runs it on the device.
func (e *Engine) transfer(name string, offset uint32, n int, create bool, move func(at int)) (epoch uint64, err error) {
	e.mu.Lock()
	for e.rebuilding {
		e.handedOut.Wait() // else it would be told the epoch of what is lost
	}
	if e.closed {
		e.mu.Unlock()
		return 0, fmt.Errorf("queue %q: %w", name, ErrClosed)
	}
	window, epoch, err := e.ledger.Transfer(e.now(), name, offset, n, create)
	e.clearReused()
	if err != nil {
		e.mu.Unlock()
		return 0, err
	}
	// Queued with mu held, so that the window cannot go to another queue before.
	done := make(chan error, 1)
	e.pump.add(job{done: done, fn: func() error {
		move(int(window.Base + offset))
		return e.exec.dev.Check()
	}})
	e.mu.Unlock()
	return epoch, <-done
}
