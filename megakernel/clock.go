package megakernel

import "time"

// clock ends batches at their deadlines, whether or not anybody launches, and tells of
// batches that ended outside a launch.
type clock struct {
	wake  chan struct{} // holds one token if there may be something to do
	quit  chan struct{} // closed when there is nothing to do any more
	done  chan struct{} // closed when the goroutine has ended
	armed time.Time     // the deadline that it waits for; guarded by Engine.mu
}

func newClock() clock {
	return clock{wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
}

func (c *clock) close() {
	close(c.quit)
	<-c.done
}

// runClock is the clock's goroutine.
func (e *Engine) runClock() {
	defer close(e.clock.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		e.mu.Lock()
		next := e.ledger.Tick(e.now())
		ended := e.ledger.Ended()
		e.clock.armed = next
		e.mu.Unlock()
		if e.cfg.Ended != nil {
			for _, queue := range ended {
				e.cfg.Ended(queue)
			}
		}
		var due <-chan time.Time
		if !next.IsZero() {
			timer.Reset(next.Sub(e.now()))
			due = timer.C
		}
		select {
		case <-e.clock.wake:
		case <-due:
		case <-e.clock.quit:
			return
		}
	}
}

// lookAtClock wakes the clock if there is something for it to do. Called with mu held,
// after whatever may have ended a batch or taken one with a deadline.
func (e *Engine) lookAtClock() {
	next, ended := e.ledger.Due()
	if !ended && (next.IsZero() || !e.clock.armed.IsZero() && !next.Before(e.clock.armed)) {
		return
	}
	select {
	case e.clock.wake <- struct{}{}:
	default:
	}
}
