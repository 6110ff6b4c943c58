package megakernel

import (
	"fmt"
	"time"

	"ringmaster/ring"
)

// Launch runs one wave of a queue and waits for it. Without pending work
// nothing is dispatched. On an error nothing is settled, the report says how
// far the launch came, and the queue's slots stay pending.
func (e *Engine) Launch(order Order) (Report, error) {
	begin := time.Now()
	report := Report{Launch: order.Launch, Decision: order.Decision, Queue: order.Queue, Recommended: order.Geometry}
	e.device.Lock()
	defer e.device.Unlock()
	err := e.launch(&order, &report)
	report.WallNs = uint64(time.Since(begin))
	if err != nil {
		return report, fmt.Errorf("megakernel: launch %d of queue %q: %w", order.Launch, order.Queue, err)
	}
	return report, nil
}

func (e *Engine) launch(order *Order, report *Report) error {
	if e.closed {
		return ErrClosed
	}
	depth := int(order.BatchDepth)
	if depth == 0 || depth > len(e.owners) {
		depth = len(e.owners)
	}
	e.mu.Lock()
	q := e.queues[order.Queue]
	if q == nil {
		e.mu.Unlock()
		return ErrQueue
	}
	err := e.stage(q, depth)
	report.Pending = q.pending
	e.mu.Unlock()
	if err != nil {
		return err
	}

	slots, steps := e.plan(q, depth)
	report.Scheduled = uint32(slots)
	if slots == 0 {
		report.NotApplied = "nothing pending"
		return nil
	}
	geometry, reason := legal(order.Geometry, e.limits, steps, e.cfg.LoopBudget)
	report.NotApplied = reason
	wave := Wave{
		Entries:      uint32(len(e.scratch.schedule)),
		Chunk:        geometry.Chunk,
		ClaimBudget:  claimBudget(geometry, steps, e.cfg.LoopBudget),
		StepBudget:   steps,
		Tenant:       q.tenant,
		WindowBase:   q.base,
		WindowLength: q.length,
	}
	err = e.dev.Do(func() error { return e.run(geometry, &wave, report) })
	if err == nil {
		err = e.verify(report)
	}
	if err != nil {
		q.pages.Abort()
		for _, number := range e.scratch.pages {
			e.resident[number] = false
		}
		return err
	}
	return e.settle(q, report)
}

// run uploads the scheduled pages, dispatches the wave and downloads what it
// left. Called on the device's thread.
func (e *Engine) run(g Geometry, w *Wave, report *Report) error {
	m, s := e.memory, &e.scratch
	m.bind()
	p, err := e.programs.get(e.dev, g.Width)
	if err != nil {
		return err
	}
	report.Fingerprint = p.fingerprint
	runs(s.pages, func(first, n int) {
		write(m, ring.BindStatus, first*ring.PageSlots, e.pool.Statuses(first, n))
	})
	e.upload()
	write(m, ring.BindSchedule, 0, s.schedule)

	t, err := m.dispatch(p, g.Groups, w, s.control)
	report.ElapsedNs, report.TimeSource = t.elapsedNs, t.source
	if !e.lastEnd.IsZero() {
		report.IdleNs = uint64(max(t.begin.Sub(e.lastEnd), 0))
	}
	e.lastEnd = t.end
	if err != nil {
		return err
	}
	runs(s.pages, func(first, n int) {
		at := first * ring.PageSlots
		read(m, ring.BindStatus, at, s.statuses[at:at+n*ring.PageSlots])
		read(m, ring.BindResults, at, s.results[at:at+n*ring.PageSlots])
	})
	return e.dev.Check()
}

// upload sends the slots of scheduled pages that the device does not have.
func (e *Engine) upload() {
	pages := e.scratch.pages
	for len(pages) > 0 {
		n := 0
		for n < len(pages) && !e.resident[pages[n]] && pages[n] == pages[0]+uint32(n) {
			e.resident[pages[n]] = true
			n++
		}
		if n > 0 {
			first := int(pages[0])
			write(e.memory, ring.BindSlots, first*ring.PageSlots, e.pool.Slots(first, n))
		}
		pages = pages[max(n, 1):]
	}
}

// verify compares the control block with the status words: every slot that
// was attempted is accounted for, and nothing else changed. It changes
// nothing itself.
func (e *Engine) verify(report *Report) error {
	c := &e.scratch.control[0]
	var executed, faulted, again uint32
	for _, entry := range e.scratch.schedule {
		base := int(entry.Page()) * ring.PageSlots
		for i := base; i < base+entry.Count(); i++ {
			before, after := e.pool.Status(i).State(), e.scratch.statuses[i].State()
			if before == after {
				continue
			}
			switch {
			case before == ring.Published && after == ring.Done:
				executed++
			case before == ring.Published && after == ring.Fault:
				faulted++
			case before == ring.Published && (after == ring.Yielded || after == ring.Requeued):
				again++
			default:
				return fmt.Errorf("slot %d: %s became %s: %w", i, before, after, ErrDevice)
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

// settle takes over what the wave left, finishes batches, opens the segments
// behind finished fences, and frees pages.
func (e *Engine) settle(q *queue, report *Report) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, entry := range e.scratch.schedule {
		base := int(entry.Page()) * ring.PageSlots
		for i := base; i < base+entry.Count(); i++ {
			if e.pool.Status(i).State().Terminal() {
				continue
			}
			status, err := e.pool.Collect(i, e.scratch.statuses[i])
			if err != nil {
				return err
			}
			if !status.State().Terminal() {
				report.OldestAge = max(report.OldestAge, status.Age())
				continue
			}
			o := e.owners[i]
			b := e.batches[o.batch]
			b.settle(o.index, status, e.scratch.results[i])
			q.pending--
			e.pending--
			if b.outstanding > 0 {
				continue
			}
			if b.openSegment() {
				q.open(b)
				continue
			}
			report.Finished = append(report.Finished, b.result)
			e.batches[o.batch] = nil
			e.free = append(e.free, o.batch)
		}
	}
	report.Pending = q.pending
	return e.sweep(q)
}

// sweep frees the queue's finished pages.
func (e *Engine) sweep(q *queue) error {
	for p := range uint32(ring.Priorities) {
		if q.pages.Pages(p) > 0 {
			e.first--
		}
	}
	err := q.pages.Sweep(e.pool, func(number uint32) { e.resident[number] = false })
	for p := range uint32(ring.Priorities) {
		if q.pages.Pages(p) > 0 {
			e.first++
		}
	}
	return err
}
