package megakernel

import "ringmaster/megakernel/gpu"

// Move goes on with another device after the present one was lost, with all objects on
// it. It waits for the waves in flight to fail or finish, which on a lost device they
// do at once. Windows begin anew as zeros.
//
// A batch is self-contained if none of its slots depends on what it finds in
// the window, by their opcodes: nop, store, fault, fence, print, yield, and those
// of the operator that read no word of the window. Such a batch runs again, whole,
// once. Every other batch fails with ErrHeapLost, and so does one that has run
// again before. Meanwhile Submit returns ErrMoving, and calls that wait for the device
// wait for the new one. On an error nothing has changed: it wraps ErrClosed, ErrMoving,
// ErrTooLarge or the driver's.
func (e *Engine) Move(dev gpu.Device) error {
	e.mu.Lock()
	if e.closed || e.moving {
		defer e.mu.Unlock()
		if e.closed {
			return ErrClosed
		}
		return ErrMoving
	}
	e.moving = true
	for e.inFlight > 0 {
		e.settled.Wait()
	}
	for len(e.staging) > 0 {
		e.staged.Wait()
	}
	err := ErrClosed // while it waited
	if !e.closed {
		// Drivers may take seconds: nobody who asks for the lock is to wait so long.
		// Nothing is in flight, and rebuilding keeps everybody off the device's
		// memory but the pump, whose job is added while it cannot be closed.
		e.rebuilding = true
		done := make(chan error, 1)
		e.pump.add(job{plain: true, fn: func() error { return e.exec.attach(dev) }, done: done})
		e.mu.Unlock()
		err = <-done
		e.mu.Lock()
		e.rebuilding = false
	}
	if err == nil {
		e.ledger.Lost(e.now())
	}
	e.moving = false
	e.handedOut.Broadcast()
	e.lookAtClock()
	e.mu.Unlock()
	return err
}
