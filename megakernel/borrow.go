package megakernel

import (
	"errors"
	"fmt"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/lease"
)

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
		return fmt.Errorf("megakernel: borrow: %w", err)
	}
	e.pump.add(job{plain: true, fn: lend, done: done})
	e.mu.Unlock()
	select {
	case err := <-done:
		return fmt.Errorf("megakernel: borrow: %w", err)
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
	return e.exec.lease.end(lease.EndTransfer)
}
