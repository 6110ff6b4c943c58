package megakernel

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernelcache"
	"ringmaster/megakernel/memory"
	"ringmaster/ring"
)

// Write stores words in a queue's window from a word offset on, behind the waves started so
// far and before those started later. It creates the queue if there is none. The error
// wraps ErrWindow, ErrQueues, ErrClosed or the driver's. While Move rebuilds, it waits.
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
	return e.transfer(name, offset, len(words), true, func(at int) { memory.Write(e.exec.memory, ring.BindHeap, at, words) })
}

// Read fetches words of a queue's window from a word offset on, as the waves started so far
// leave them. The error wraps ErrQueue, ErrWindow, ErrClosed or the driver's.
func (e *Engine) Read(name string, offset uint32, words []uint32) error {
	_, err := e.Download(name, offset, words)
	return err
}

// Download is Read and says the epoch of the window read from.
func (e *Engine) Download(name string, offset uint32, words []uint32) (epoch uint64, err error) {
	fetched := make([]uint32, len(words))
	epoch, err = e.transfer(name, offset, len(words), false, func(at int) { memory.Read(e.exec.memory, ring.BindHeap, at, fetched) })
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

// Borrow lends the engine's device to fn, for kernels that are not the ring's.
// It waits for the waves in flight, ends a resident kernel, runs fn on the caller's
// goroutine, and waits for what fn left on the device. Meanwhile batches are
// taken, and no wave, transfer, Move or Close runs; they come after it in the order
// of the calls.
//
// fn calls the device through Device.Do, may make objects of its own there and
// leave them, and may change what is bound, because a wave binds everything it uses.
// It must not call methods of the engine that wait for the device, and must not
// keep the device: after a loss the next call lends another one. A GL error that fn
// leaves pending is its own, not the next wave's. While a Move is under way, or
// after Close, fn is not called and the error wraps ErrMoving or ErrClosed.
//
// The programs of those kernels are in Programs.
func (e *Engine) Borrow(fn func(dev gpu.Device) error) (err error) {
	lent, done := make(chan gpu.Device, 1), make(chan error, 1)
	back := make(chan struct{})
	lend := func() error {
		if err := e.makeWay(); err != nil {
			return err
		}
		lent <- e.exec.dev
		<-back
		// Not idle: the device was at work for somebody else.
		e.exec.lastEnd = time.Now()
		return nil
	}
	e.mu.Lock()
	if err := e.lendable(); err != nil {
		e.mu.Unlock()
		return fmt.Errorf("borrow the device: %w", err)
	}
	e.pump.add(job{plain: true, fn: lend, done: done})
	e.mu.Unlock()
	select {
	case err := <-done:
		return fmt.Errorf("borrow the device: %w", err)
	case dev := <-lent:
		defer func() { // also when fn panics
			err = errors.Join(err, dev.Do(func() error {
				dev.Barrier()
				dev.Finish()
				return dev.Check()
			}))
			close(back)
			<-done
		}()
		return fn(dev)
	}
}

// Programs has the programs of the engine's device, for whoever borrows it too. The store
// goes on with another device by Move, and is closed with the engine.
func (e *Engine) Programs() *kernelcache.Store { return e.exec.programs.Store() }

// lendable is why the device cannot be lent. Called with mu held.
func (e *Engine) lendable() error {
	switch {
	case e.closed:
		return ErrClosed
	case e.moving:
		return ErrMoving
	}
	return nil
}

// makeWay settles the waves in flight and ends the resident kernel. Called with
// deviceMu held.
func (e *Engine) makeWay() error {
	for poll := e.exec.newPoll(); len(e.submitted) > 0; {
		e.lookAfter(poll, true)
	}
	return e.exec.lease.end()
}

// Statuses is the device's buffer of status words, a word for each slot of the
// ring, for a picture of it. It changes with Move. Once somebody has asked for it, every
// launch runs as a wave that works on it: small ones too, and none on a lease.
func (e *Engine) Statuses() (buffer gpu.Buffer, slots int) {
	e.exec.watched.Store(true)
	return gpu.Buffer{Buffer: e.exec.statuses.Load()}, e.cfg.Pages * ring.PageSlots
}
