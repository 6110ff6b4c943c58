package worker

import (
	"context"
	"fmt"

	"ringmaster/actors"
	"ringmaster/megakernel"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// begun is a launch that the ring has begun, or refused to begin.
type begun struct {
	launchOrder
	order  megakernel.Order
	ticket megakernel.Ticket
	err    error // of Start
}

// landing is the outcome of a launch.
type landing struct {
	report megakernel.Report
	err    error
}

// loop is the goroutine that runs launches and repairs the device. A launch that
// has no other beside it, and none that waits, is run by one call of the ring, which is the
// quickest way. Others are begun at once and waited for one after the other. The
// watchdog times the oldest launch, from the moment it is the oldest, because the
// device runs one at a time.
func (e *Engine) loop() {
	defer close(e.done)
	defer close(e.waits)
	orders := e.orders
	var flights []begun
	for orders != nil || len(flights) > 0 {
		repairs := e.repairs
		if len(flights) > 0 {
			repairs = nil // a launch that fails has the device repaired
		}
		select {
		case o, ok := <-orders:
			switch {
			case !ok:
				orders = nil
			case len(flights) == 0 && o.Plan.InFlight <= 1 && !o.Joined && len(e.orders) == 0:
				o.settled(e.launch(o.Order))
			default:
				if flights = append(flights, e.begin(o)); len(flights) == 1 {
					e.follow(flights)
				}
			}
		case out := <-e.landed:
			flights = e.land(flights, out)
			e.follow(flights)
		case <-repairs:
			e.watchdog.begin("the repair of the device")
			e.keeper.repair(e.ring)
			e.watchdog.end()
		}
	}
}

// orderOf is the ring's form of an order.
func (e *Engine) orderOf(o actors.Order) megakernel.Order {
	order := megakernel.Order{
		Launch: o.Launch, Decision: o.Decision, Queue: o.Queue,
		Fuse: o.Plan.Mode == policy.ModeJIT, Geometry: o.Plan.Geometry(),
	}
	if o.Plan.LaunchMode == policy.LaunchLease {
		order.Mode = e.mode
	}
	return order
}

// launch runs a launch that has the device to itself.
func (e *Engine) launch(o actors.Order) actors.Report {
	e.watch(o)
	defer e.watchdog.end()
	report, err := e.keeper.launch(e.ring, e.orderOf(o))
	return e.reportOf(&o, report, err)
}

func (e *Engine) begin(o launchOrder) begun {
	b := begun{launchOrder: o, order: e.orderOf(o.Order)}
	b.ticket, b.err = e.ring.Start(b.order)
	return b
}

// follow hands the oldest launch to the waiting goroutine.
func (e *Engine) follow(flights []begun) {
	switch {
	case len(flights) == 0:
		e.watchdog.end()
	case flights[0].err != nil:
		e.watch(flights[0].Order)
		e.landed <- landing{err: flights[0].err}
	default:
		e.watch(flights[0].Order)
		e.waits <- flights[0].ticket
	}
}

func (e *Engine) watch(o actors.Order) {
	if e.watchdog != nil {
		e.watchdog.begin(fmt.Sprintf("launch %d of queue %s", o.Launch, o.Queue))
	}
}

// wait is the goroutine that waits for launches, one at a time.
func (e *Engine) wait() {
	for t := range e.waits {
		report, err := e.ring.Wait(context.Background(), t)
		e.landed <- landing{report, err}
	}
}

// land reports the outcome of the oldest launch and returns the others. If the device
// was lost, none is left under way: those behind fail at once, the device is rebuilt
// once for all of them, and the lost launches run again in their order.
func (e *Engine) land(flights []begun, first landing) (left []begun) {
	if first.err == nil || !e.keeper.lost(first.err) {
		flights[0].settled(e.reportOf(&flights[0].Order, first.report, first.err))
		return flights[1:]
	}
	outcomes := []landing{first}
	for _, b := range flights[1:] {
		out := landing{err: b.err}
		if b.err == nil {
			out.report, out.err = e.ring.Wait(context.Background(), b.ticket)
		}
		outcomes = append(outcomes, out)
	}
	failed := e.keeper.rebuild(e.ring, first.err)
	for i, b := range flights {
		out := outcomes[i]
		switch {
		case out.err == nil:
		case failed != nil:
			out.err = fmt.Errorf("%w; not back yet: %w", out.err, failed)
		default:
			e.watch(b.Order)
			out.report, out.err = e.ring.Launch(b.order)
		}
		b.settled(e.reportOf(&b.Order, out.report, out.err))
	}
	return nil
}

// reportOf is what the worker actor is told about a launch.
func (e *Engine) reportOf(o *actors.Order, report megakernel.Report, err error) actors.Report {
	out := actors.Report{Launch: launchRecord(&report), Pending: report.Pending, LeaseRefused: report.LeaseRefused}
	if report.TimeSource != gpu.TimeNone {
		id := e.identities.Of(report.Kernel) // the tuner knows a kernel by a name that does not depend on its geometry
		out.Launch.Fingerprint = id[:]
	}
	finished := report.Finished
	if err != nil {
		out.Launch.Status, out.Launch.Error = telemetry.LaunchFailed, err.Error()
		out.Launch.Has |= telemetry.HasError
		// A batch may have ended meanwhile, canceled or past its deadline. With nothing
		// left to run there is no next launch to report it.
		finished, out.Pending = e.ring.Finished(o.Queue), e.ring.Pending(o.Queue)
	} else {
		e.readPrints(&report)
	}
	for i := range finished {
		out.Done = append(out.Done, e.doneRecord(o.Queue, &finished[i]))
	}
	return out
}
