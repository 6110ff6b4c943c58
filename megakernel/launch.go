package megakernel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ringmaster/ring"
)

// Errors of Start, Poll and Wait.
var (
	// ErrInFlight says that as many waves as allowed are in flight.
	ErrInFlight = errors.New("enough waves are in flight")
	// ErrTicket says that a ticket names no launch, or one whose report was
	// handed out already.
	ErrTicket = errors.New("no such launch")
)

// Launch runs one wave of a queue and waits for it. Without pending work nothing is
// dispatched. On an error nothing is settled, the report says how far the launch
// came, and the queue's slots stay pending. If as many waves as allowed are in flight,
// it waits until the report of one of them has been handed out.
func (e *Engine) Launch(order Order) (Report, error) {
	for {
		t, err := e.start(&order, true)
		if err == nil {
			if f := e.flights[t.index]; f.here {
				e.runHere(f)
			}
			return e.Wait(context.Background(), t)
		}
		if !errors.Is(err, ErrInFlight) {
			return Report{Launch: order.Launch, Decision: order.Decision, Queue: order.Queue, Recommended: order.Geometry}, err
		}
	}
}

// Start begins one wave of a queue and returns without waiting for the device:
// it schedules what is pending and in no other wave, and leaves the dispatch
// and everything behind it to the engine's goroutines. Several waves may be in
// flight, of one queue or of many; the device runs them in the order of their
// starts, and each sees what the ones before it wrote. A slot is in at most
// one wave at a time. ErrInFlight says that Config.InFlight or Order.InFlight
// waves are in flight; the report of one of them has to be taken first.
//
// Every ticket has to be handed to Poll or Wait until its report was returned,
// or its place stays taken.
func (e *Engine) Start(order Order) (Ticket, error) { return e.start(&order, false) }

func (e *Engine) start(order *Order, wait bool) (Ticket, error) {
	begin := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	f, q, err := e.place(order, wait)
	if err != nil {
		return Ticket{}, fmt.Errorf("megakernel: launch %d of queue %q: %w", order.Launch, order.Queue, err)
	}
	f.reset(begin, order)
	f.queue = q
	q.flights++
	e.flying++
	e.fill(f, order, wait)
	return f.ticket(), nil
}

// place finds the order's queue and a free flight. Called with mu held.
func (e *Engine) place(order *Order, wait bool) (*flight, *queue, error) {
	limit := len(e.flights)
	if order.InFlight > 0 {
		limit = min(limit, int(order.InFlight))
	}
	for {
		q := e.queues[order.Queue]
		switch {
		case e.closed:
			return nil, nil, ErrClosed
		case e.moving && !wait:
			return nil, nil, ErrMoving
		case q == nil:
			return nil, nil, ErrQueue
		}
		if !e.moving && len(e.flights)-len(e.idle) < limit && len(e.idle) > 0 {
			f := e.idle[len(e.idle)-1]
			e.idle = e.idle[:len(e.idle)-1]
			return f, q, nil
		}
		if !wait {
			return nil, nil, fmt.Errorf("%d of %d: %w", len(e.flights)-len(e.idle), limit, ErrInFlight)
		}
		e.freed.Wait()
	}
}

// fill gives a flight its slots and hands it to the pump, or settles it at once
// if there is nothing to run. A caller that waits may be left to run it itself,
// see runHere. Called with mu held.
func (e *Engine) fill(f *flight, order *Order, waits bool) {
	q, report := f.queue, &f.report
	e.expire()
	depth := len(e.owners)
	if d := int(order.BatchDepth); d > 0 {
		depth = min(depth, d)
	}
	allowed := q.allowance(depth, e.now())
	slots := 0
	if allowed > 0 {
		slots = e.plan(f, allowed)
	}
	report.Scheduled = uint32(slots)
	if e.closed {
		e.putBackPages(f)
		e.land(f, ErrClosed)
		return
	}
	if slots == 0 {
		report.NotApplied = "nothing pending"
		if allowed == 0 && q.pending > 0 {
			q.stats.QuotaWaits++
			report.NotApplied = "the queue's rate is used up"
		}
		e.land(f, nil)
		return
	}
	q.spend(slots)
	if order.Fuse {
		f.hot = q.promotion.hot()
	}
	f.sort()
	if f.here = waits && e.takeTurn(); !f.here {
		e.pump.add(job{flight: f})
	}
}

// plan moves waiting slots into pages and schedules the flight's wave. Pages
// that a submitter is just writing are left to the next wave, unless there is
// nothing else. Called with mu held, which it releases while it writes.
func (e *Engine) plan(f *flight, depth int) (slots int) {
	for {
		enc := &f.encoder
		enc.extents = e.reserveWaiting(enc.extents[:0], f.queue, depth)
		if len(enc.extents) > 0 {
			e.write(f.queue, enc)
		}
		f.schedule, slots = f.queue.pages.Plan(f.schedule[:0], e.pool, depth, e.cfg.AgeThreshold)
		if slots > 0 || f.queue.writing == 0 {
			return e.trim(f, slots)
		}
		e.written.Wait()
	}
}

// Poll returns a launch's report if it is settled, and whether it is. The
// ticket is used up then.
func (e *Engine) Poll(t Ticket) (Report, bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f, err := e.flight(t)
	if err != nil {
		return Report{}, false, err
	}
	if !f.settled {
		return Report{}, false, nil
	}
	report, err := e.handOut(f)
	return report, true, err
}

// Wait waits for a launch and returns its report. If the context ends first,
// the launch goes on and the ticket stays good. Of several goroutines that wait for a
// ticket one gets the report, the others ErrTicket.
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
			err = nil
		case <-ctx.Done():
			err = fmt.Errorf("megakernel: wait for a launch: %w", context.Cause(ctx))
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
		return nil, fmt.Errorf("megakernel: %w", ErrTicket)
	}
	return e.flights[t.index], nil
}

// handOut returns a settled flight's report and frees its place. Called with
// mu held.
func (e *Engine) handOut(f *flight) (Report, error) {
	report, err := f.report, f.err
	f.report = Report{}
	f.generation++
	f.settled = false
	e.idle = append(e.idle, f)
	e.freed.Broadcast()
	report.WallNs = uint64(time.Since(f.begin))
	if err != nil {
		return report, fmt.Errorf("megakernel: launch %d of queue %q: %w", report.Launch, report.Queue, err)
	}
	return report, nil
}

// land settles a flight's report. Called with mu held.
func (e *Engine) land(f *flight, err error) {
	q := f.queue
	f.err = err
	f.report.Pending = q.pending
	if err == nil {
		f.report.Finished = append(f.report.Finished, q.finished...)
		clear(q.finished)
		q.finished = q.finished[:0]
	}
	e.flying--
	e.landed.Broadcast()
	q.flights--
	if q.released && q.flights == 0 {
		e.recycle(q)
	}
	f.settled = true
	if f.ready != nil {
		close(f.ready)
		f.ready = nil
	}
}

// verify compares the control block with the status words: every slot that
// was attempted is accounted for, and nothing else changed. It changes
// nothing itself.
func (e *Engine) verify(f *flight) error {
	c, report := &f.control[0], &f.report
	var executed, faulted, again uint32
	for i, entry := range f.entries {
		base := int(entry.Page()) * ring.PageSlots
		n := entry.Count()
		before := e.pool.Statuses(int(entry.Page()), 1)[:n]
		after := f.statuses[i*ring.PageSlots:][:n]
		for j, b := range before {
			from, to := b.State(), after[j].State()
			switch {
			case from == to:
			case from == ring.Published && to == ring.Done:
				executed++
			case from == ring.Published && to == ring.Fault:
				faulted++
			case from == ring.Published && (to == ring.Yielded || to == ring.Requeued):
				again++
			default:
				return fmt.Errorf("slot %d: %s became %s: %w", base+j, from, to, ErrDevice)
			}
		}
	}
	if executed != c.Executed || faulted != c.Faulted || again != c.Again {
		return fmt.Errorf("%d slots are done, %d faulted and %d go round again, the device counted %d, %d and %d: %w",
			executed, faulted, again, c.Executed, c.Faulted, c.Again, ErrDevice)
	}
	report.Applied = Geometry{Width: c.LocalSize, Groups: c.Groups, Chunk: c.Chunk}
	report.Executed, report.Faulted = executed, faulted
	report.Requeued = report.Scheduled - executed - faulted
	report.Opcodes = c.OpcodeCounts
	return nil
}
