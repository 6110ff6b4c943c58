package megakernel

import (
	"context"
	"fmt"
	"time"
)

// Launch runs one wave of a queue and waits for it. Without pending work nothing is
// dispatched. On an error nothing is settled, the report says how far the launch came, and
// the queue's slots stay pending. If as many waves as allowed are in flight, or the engine
// moves, it waits. The error wraps ErrClosed, ErrQueue, ErrDevice, the driver's, or that of
// a lease's round whose outcome is not known.
func (e *Engine) Launch(order Order) (Report, error) {
	t, err := e.start(&order, true)
	if err != nil {
		return Report{Launch: order.Launch, Decision: order.Decision, Queue: order.Queue, Recommended: order.Geometry}, err
	}
	if f := e.flights[t.index]; f.inline {
		e.runInline(f)
	}
	return e.Wait(context.Background(), t)
}

// Start begins one wave of a queue and returns without waiting for the device: it
// schedules what is pending and in no other wave, and leaves the dispatch and everything
// behind it to the engine's goroutines. Several waves may be in flight, of one queue or of
// many; the device runs them in the order of their starts, and each sees what the earlier
// ones wrote. A slot is in at most one wave at a time. The error wraps ErrInFlight if
// Config.InFlight or Order.InFlight waves are in flight, whose reports have to be taken
// first; ErrQueue, ErrMoving or ErrClosed.
//
// Every ticket has to be handed to Wait until its report was returned, or its place stays
// taken.
func (e *Engine) Start(order Order) (Ticket, error) { return e.start(&order, false) }

// start begins a launch. If its caller waits for it, the flight may be left to the caller
// to run, see flight.inline.
func (e *Engine) start(order *Order, wait bool) (Ticket, error) {
	begin := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	f, err := e.place(order, wait)
	if err == nil {
		e.ledger.Tick(e.now()) // what is too late is not started
		err = e.ledger.Begin(e.now(), &f.wave, order.Queue, int(order.Geometry.Depth))
	}
	if err != nil {
		if f != nil {
			e.idle = append(e.idle, f)
		}
		return Ticket{}, fmt.Errorf("launch %d of queue %q: %w", order.Launch, order.Queue, err)
	}
	f.reset(begin, order)
	e.inFlight++
	for {
		f.staging.queue = order.Queue
		f.staging.extents = e.ledger.Reserve(f.staging.extents[:0], &f.wave)
		e.stage(&f.staging)
		e.awaitStaged(order.Queue)
		if !e.ledger.Plan(&f.wave) {
			break
		}
		e.staged.Wait()
	}
	e.dispatch(f, order, wait)
	return f.ticket(), nil
}

// place takes a free flight. Called with mu held.
func (e *Engine) place(order *Order, wait bool) (*flight, error) {
	limit := len(e.flights)
	if order.InFlight > 0 {
		limit = min(limit, int(order.InFlight))
	}
	for {
		busy := len(e.flights) - len(e.idle)
		switch {
		case e.closed:
			return nil, ErrClosed
		case !e.moving && busy < limit:
			f := e.idle[len(e.idle)-1]
			e.idle = e.idle[:len(e.idle)-1]
			return f, nil
		case wait:
			e.handedOut.Wait()
		case e.moving:
			return nil, ErrMoving
		default:
			return nil, fmt.Errorf("%d of %d: %w", busy, limit, ErrInFlight)
		}
	}
}

// dispatch hands a planned flight on, or settles it at once if there is nothing to run.
// Called with mu held, so that flights reach the pump in the order of their plans: a wave
// sees what the waves planned before it wrote.
func (e *Engine) dispatch(f *flight, order *Order, wait bool) {
	report := &f.report
	report.Scheduled = uint32(f.wave.Slots)
	if e.closed || f.wave.Slots == 0 {
		e.ledger.Return(e.now(), &f.wave)
	}
	switch {
	case e.closed:
		e.land(f, ErrClosed)
	case f.wave.Limited:
		report.NotApplied = "the queue's rate is used up"
		e.land(f, nil)
	case f.wave.Slots == 0:
		report.NotApplied = "nothing pending"
		e.land(f, nil)
	default:
		f.warm = e.promotionOf(f).hot()
		if order.Fuse {
			f.hot = f.warm
		}
		// Nothing else is under way: saving the hand-overs to the engine's goroutines
		// and back makes a small launch take half the time.
		f.inline = wait && e.inFlight == 1 && e.pump.idle() && e.deviceMu.TryLock()
		if !f.inline {
			e.pump.add(job{flight: f})
		}
	}
}

// Wait waits for a launch and returns its report. If the context ends first, the launch
// goes on and the ticket stays good. Of several goroutines that wait for a ticket one gets
// the report, the others ErrTicket.
func (e *Engine) Wait(ctx context.Context, t Ticket) (Report, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f, err := e.flight(t)
	if err != nil {
		return Report{}, err
	}
	if !f.settled {
		if f.ready == nil {
			f.ready = make(chan struct{})
		}
		ready := f.ready
		e.mu.Unlock()
		select {
		case <-ready:
		case <-ctx.Done():
			err = fmt.Errorf("wait for a launch: %w", context.Cause(ctx))
		}
		e.mu.Lock()
		if err != nil {
			return Report{}, err
		}
		if f, err = e.flight(t); err != nil {
			return Report{}, err
		}
	}
	return e.handOut(f)
}

// flight is the flight of a ticket. Called with mu held.
func (e *Engine) flight(t Ticket) (*flight, error) {
	if t.generation == 0 || int(t.index) >= len(e.flights) || e.flights[t.index].generation != t.generation {
		return nil, ErrTicket
	}
	return e.flights[t.index], nil
}

// land makes a flight's report final. Its wave has ended in the ledger. Called with mu held.
func (e *Engine) land(f *flight, err error) {
	f.err = err
	f.report.Pending = f.wave.Pending()
	if err == nil {
		f.report.Finished = e.ledger.Finished(f.report.Queue)
	}
	e.inFlight--
	e.settled.Broadcast()
	f.settled = true
	if f.ready != nil {
		close(f.ready)
		f.ready = nil
	}
	e.lookAtClock()
}

// handOut returns a settled flight's report and frees its place. Called with mu held.
func (e *Engine) handOut(f *flight) (Report, error) {
	report, err := f.report, f.err
	f.report = Report{}
	f.generation++
	f.settled = false
	e.idle = append(e.idle, f)
	e.handedOut.Broadcast()
	report.WallNs = uint64(time.Since(f.begin))
	if err != nil {
		return report, fmt.Errorf("launch %d of queue %q: %w", report.Launch, report.Queue, err)
	}
	return report, nil
}
