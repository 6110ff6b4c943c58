package actors

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"ringmaster/telemetry"
)

// admit gives a batch to the engine, unless it ran before or is running.
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
	if b.family.quarantine.Load() != nil {
		b.settle(telemetry.OutcomeQueueBusy, ErrUnstable)
		return
	}
	if d := b.family.planned.Load(); d != nil && b.family.gaveUp(d) {
		b.settle(telemetry.OutcomeQueueBusy, ErrStopped)
		return
	}
	slots := b.work.Count()
	if l.pending+slots > w.system.cfg.maxPendingSlots {
		b.settle(telemetry.OutcomeBusy, ErrBacklog)
		return
	}
	if err := w.engine.Submit(b.family.name, &b.work); err != nil {
		outcome := telemetry.OutcomeRefused
		switch {
		case errors.Is(err, ErrBusy):
			outcome = telemetry.OutcomeBusy
		case errors.Is(err, ErrQuota):
			outcome = telemetry.OutcomeQueueBusy
		}
		b.settle(outcome, err)
		return
	}
	b.work.Release()
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
		w.system.publisher.Done(w.device.name, b.family.name, b.done, func(err error) { w.post(&delivery{b, err}) })
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
	for _, ran := range w.finished.order {
		if b := ran.pending; b != nil {
			b.settle(telemetry.OutcomeRetry, ErrClosed)
		}
	}
	for _, l := range w.lanes {
		if l.paused != nil {
			l.paused.Stop()
		}
	}
}
