package actors

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"ringmaster/telemetry"
)

// admit gives a batch to the engine, unless it ran before, is running or was canceled.
func (w *workerActor) admit(b *batch) {
	if w.stopping {
		b.settle(telemetry.OutcomeRetry, ErrDraining)
		return
	}
	if ran := w.finished.byKey[b.key()]; ran != nil {
		w.again(ran, b)
		return
	}
	l := w.lane(b.family)
	if open := l.open[b.work.Batch]; open != nil {
		open.join(b)
		return
	}
	if w.tombstones.take(b.key(), time.Now()) {
		w.bury(b)
		return
	}
	slots := b.work.Count()
	if outcome, err := w.submit(l, b, slots); err != nil {
		b.settle(outcome, err)
		return
	}
	b.work.Slots, b.work.Runs = nil, nil // the engine's
	w.admitted++
	b.number = w.admitted
	l.open[b.work.Batch] = b
	for _, f := range w.flights {
		f.gotWork = f.gotWork || f.lane == l
	}
	if l.pending <= l.claimedSlots {
		l.freshSince = time.Now()
	}
	l.wanted(b, time.Now())
	w.setPending(l, l.pending+slots)
	b.family.cell.count(func(n *Counts) { n.SlotsSubmitted += uint64(slots) })
	b.family.dispatch(b.family.cell.setBacklog(uint32(l.pending), true))
}

// submit has the engine take a batch. If that is not to be, it returns the batch's outcome and why.
func (w *workerActor) submit(l *lane, b *batch, slots int) (telemetry.Outcome, error) {
	if b.family.quarantine.Load() != nil {
		return telemetry.OutcomeQueueBusy, ErrUnstable
	}
	if d := b.family.planned.Load(); d != nil && b.family.gaveUp(d) {
		return telemetry.OutcomeQueueBusy, ErrStopped
	}
	if l.pending+slots > w.system.cfg.maxPendingSlots {
		return telemetry.OutcomeBusy, ErrBacklog
	}
	err := w.engine.Submit(b.family.name, &b.work)
	switch {
	case errors.Is(err, ErrBusy):
		return telemetry.OutcomeBusy, err
	case errors.Is(err, ErrQuota):
		return telemetry.OutcomeQueueBusy, err
	}
	return telemetry.OutcomeRefused, err
}

// wanted notes when a batch is due, and its deadline as the queue's, until for a while no batch
// has had one as short.
func (l *lane) wanted(b *batch, now time.Time) {
	if goal := soonest(b.work.DeadlineMs, l.family.cell.target.Load()); goal != 0 {
		b.due = now.Add(time.Duration(goal) * time.Millisecond)
		if l.due.IsZero() || b.due.Before(l.due) {
			l.due = b.due
		}
	}
	deadline, before := b.work.DeadlineMs, l.family.deadline.Load()
	switch {
	case deadline != 0 && (before == 0 || deadline <= before):
	case before == 0 || now.Sub(l.deadlineAt) <= recently:
		return
	}
	l.deadlineAt = now
	if deadline != before {
		l.family.deadline.Store(deadline)
		l.family.tellGoal()
	}
}

// firstDue is when the first of some batches is due, zero if none has a time.
func firstDue(open map[string]*batch) (first time.Time) {
	for _, b := range open {
		if !b.due.IsZero() && (first.IsZero() || b.due.Before(first)) {
			first = b.due
		}
	}
	return first
}

// again answers another delivery of a batch that ran before, with its done record.
func (w *workerActor) again(ran *finishedBatch, b *batch) {
	first := ran.pending
	if first == nil {
		b.done, b.repeated = ran.done, true
		b.work.Slots, b.work.Runs = nil, nil
		ran.pending = b
		w.outbox = append(w.outbox, b)
		return
	}
	if len(first.waiters) == 0 {
		first.family = b.family // the queue may have been forgotten and come back
	}
	first.join(b)
	if !first.publishing && !slices.Contains(w.outbox, first) {
		w.outbox = append(w.outbox, first)
	}
}

// lane returns the lane of a queue, made on its first work.
func (w *workerActor) lane(f *family) *lane {
	l := w.lanes[f.name]
	if l == nil || l.family != f { // the queue was forgotten and has come back
		l = &lane{family: f, open: make(map[string]*batch)}
		w.lanes[f.name] = l
	}
	return l
}

// drop removes the lane of a queue that is forgotten.
func (w *workerActor) drop(f *family) {
	if l := w.lanes[f.name]; l != nil && l.family == f {
		delete(w.lanes, f.name)
	}
}

// publish sends the done records of finished batches. A batch is settled when
// the server has its record, not before.
func (w *workerActor) publish() {
	for len(w.outbox) > 0 {
		b := w.outbox[0]
		w.outbox = w.outbox[1:]
		w.sending = b
		b.publishing = true
		w.undecided++
		w.system.publisher.Done(b.sentTo, b.family.name, b.done, func(err error) { w.post(&delivery{b, err}) })
		w.sending = nil
	}
}

// deliver settles a batch whose done record is with the server. If the record was
// not delivered, it asks for the batch again: the batch will not run again, only
// its record will be sent again.
func (w *workerActor) deliver(it *delivery) {
	b := it.batch
	if !b.publishing {
		return // told twice
	}
	b.publishing = false
	w.undecided--
	if it.err != nil {
		b.settle(telemetry.OutcomeBusy, errors.Join(ErrUndelivered, it.err))
		return
	}
	if ran := w.finished.byKey[b.key()]; ran != nil && ran.pending == b {
		w.finished.delivered(ran)
	}
	outcome := telemetry.OutcomeDone
	if b.repeated {
		outcome = telemetry.OutcomeDuplicate
	}
	b.settle(outcome, nil)
}

// giveBack settles every batch that has not run, in order of admission.
func (w *workerActor) giveBack(why error) {
	var open []*batch
	for _, l := range w.lanes {
		open = slices.AppendSeq(open, maps.Values(l.open))
		clear(l.open)
	}
	slices.SortFunc(open, func(a, b *batch) int { return cmp.Compare(a.number, b.number) })
	for _, b := range open {
		b.settle(telemetry.OutcomeRetry, why)
	}
}

// abandon settles everything that is left. It runs after the actor has
// stopped, on the goroutine that closes the system.
func (w *workerActor) abandon() {
	for _, item := range w.inbox.close() {
		switch it := item.(type) {
		case *batch:
			it.settle(telemetry.OutcomeRetry, ErrClosed)
		case *delivery:
			w.deliver(it)
		case *cancellation:
			it.answer(telemetry.CancelUnseen, 0, ErrClosed)
		case *drain:
			close(it.idle)
		}
	}
	for _, d := range w.draining {
		close(d.idle)
	}
	w.giveBack(ErrClosed)
	for _, ran := range w.finished.byKey {
		if b := ran.pending; b != nil {
			b.settle(telemetry.OutcomeRetry, ErrClosed)
		}
	}
}

// cancellation asks for a batch to be withdrawn. answer is called exactly once.
type cancellation struct {
	key    batchKey
	known  bool // its queue is
	answer func(found telemetry.CancelFound, slots int, err error)
}

// Cancel withdraws a batch of a queue from the engine of its local worker. answer
// is called exactly once, from any goroutine, possibly before Cancel returns, with
// what was found and how many slots have been dropped so far. A batch that has
// not arrived is remembered for an hour, and does not run if it arrives, unless the
// queue's share of what can be remembered is used up. The done record of the batch says what became of it.
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
	known := d.families[queue] != nil
	if s.closed.Load() || !d.worker.Load().post(&cancellation{batchKey{queue, batch}, known, answer}) {
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
		c.answer(telemetry.CancelUnseen, 0, w.tombstones.add(c.key, c.known, time.Now()))
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
