package actors

import (
	"fmt"
	"time"

	"ringmaster/telemetry"
)

// cancellation asks for a batch to be withdrawn. answer is called exactly once.
type cancellation struct {
	key    batchKey
	answer func(found telemetry.CancelFound, slots int, err error)
}

// Cancel withdraws a batch of a queue from the engine of its local worker. answer
// is called exactly once, from any goroutine, possibly before Cancel returns, with
// what was found and how many slots have been dropped so far. A batch that has
// not arrived is remembered for an hour, and does not run if it arrives, unless too
// many are remembered already. The done record of the batch says what became of it.
// Canceling does not make an unknown queue known.
func (s *System) Cancel(worker, queue, batch string, answer func(found telemetry.CancelFound, slots int, err error)) {
	if err := s.cancel(worker, queue, batch, answer); err != nil {
		answer(telemetry.CancelUnseen, 0, err)
	}
}

func (s *System) cancel(worker, queue, batch string, answer func(telemetry.CancelFound, int, error)) error {
	if !telemetry.ValidToken(queue) {
		return fmt.Errorf("%w: queue %q", ErrName, queue)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	d := s.devices[worker]
	if d == nil || d.worker.Load() == nil {
		return fmt.Errorf("%w: %s", ErrNoEngine, worker)
	}
	if s.closed.Load() || !d.worker.Load().post(&cancellation{batchKey{queue, batch}, answer}) {
		return ErrClosed
	}
	return nil
}

// cancel withdraws a batch, or remembers that it is withdrawn.
func (w *workerActor) cancel(c *cancellation) {
	if w.finished.byKey[c.key] != nil {
		c.answer(telemetry.CancelFinished, 0, nil)
		return
	}
	l := w.lanes[c.key.queue]
	if l == nil || l.open[c.key.id] == nil {
		c.answer(telemetry.CancelUnseen, 0, w.tombstones.add(c.key, time.Now()))
		return
	}
	out := w.engine.Cancel(c.key.queue, c.key.id)
	w.finishOutside(l, out.Done)
	if !out.Found { // it has ended, and a report that says so is on its way
		c.answer(telemetry.CancelFinished, 0, nil)
		return
	}
	c.answer(telemetry.CancelWithdrawn, out.Slots, nil)
}

// ended are batches of a queue that ended at their deadline, outside of any launch.
type ended struct {
	queue string
	done  []telemetry.Done
}

// end finishes batches that ended on their own.
func (w *workerActor) end(it *ended) {
	if l := w.lanes[it.queue]; l != nil {
		w.finishOutside(l, it.done)
	} // else the queue was dropped with its batches
}

// finishOutside takes batches that ended outside of any launch out of their lane.
func (w *workerActor) finishOutside(l *lane, done []telemetry.Done) {
	for _, f := range w.flights {
		f.gotWork = f.gotWork || f.lane == l // its count of what is left may be from before
	}
	left := l.pending
	for i := range done {
		if w.finish(l, &done[i]) {
			left -= int(done[i].Dropped)
		}
	}
	if len(l.open) > 0 {
		left = max(left, 1) // a report has to say what is left
	}
	w.setPending(l, left)
	l.family.dispatch(l.family.cell.setBacklog(uint32(l.pending), false))
}

// bury finishes a batch that was canceled before it came.
func (w *workerActor) bury(b *batch) {
	b.done = &telemetry.Done{Batch: b.work.Batch, Dropped: uint32(b.work.Count()), Error: "canceled", WorkSentNs: b.sentNs}
	b.work.Slots, b.work.Runs = nil, nil
	w.finished.add(b)
	w.outbox = append(w.outbox, b)
}
