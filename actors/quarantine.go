package actors

import (
	"fmt"
	"sync/atomic"
	"time"
)

// panics counts the panics of a queue's actors; changed under family.life.
type panics struct {
	row    atomic.Int32 // since the last decision
	recent []time.Time  // the last stopPanics of them, oldest first
}

// add notes a panic and reports whether it is one too many.
func (p *panics) add(now time.Time) bool {
	p.row.Add(1)
	if len(p.recent) == stopPanics {
		p.recent = p.recent[:copy(p.recent, p.recent[1:])]
	}
	p.recent = append(p.recent, now)
	return len(p.recent) == stopPanics && now.Sub(p.recent[0]) <= stopWindow
}

// quarantine is the rest of a queue that was stopped after panics.
type quarantine struct {
	until  time.Time
	reason string
}

// recover brings the queue back after one of its actors panicked. What the cell
// holds is looked at again; news of a launch is in no cell, so the message itself
// is handled again. The pause before that grows while the queue keeps panicking;
// stopPanics panics within stopWindow stop it.
func (f *family) recover(actor string, lost message) {
	f.life.Lock()
	defer f.life.Unlock()
	f.keep(lost)
	tooMany := f.panics.add(time.Now())
	if f.quarantine.Load() != nil {
		return
	}
	if tooMany {
		f.stop(actor)
		return
	}
	f.busy.Add(1)
	time.AfterFunc(pause(int(f.panics.row.Load())), f.retry)
}

// retry is the end of a pause after a panic.
func (f *family) retry() {
	f.life.Lock()
	defer f.life.Unlock()
	f.busy.Add(-1)
	if f.quarantine.Load() == nil {
		f.redeliver()
	}
}

// redeliver sends what was kept and the wakes that may be lost; f.life is held.
func (f *family) redeliver() {
	kept := f.kept
	f.kept = nil
	for _, m := range kept {
		f.deliver(f.queueAddr, m)
	}
	f.wake(f.cell.lostWakes())
}

// stop puts the queue into quarantine: no decisions and no launches until
// stopPause is over. Records are still folded, so that it comes back to the
// newest values. Its recommendation says so, now and with every heartbeat. f.life is
// held.
func (f *family) stop(actor string) {
	q := &quarantine{
		until:  time.Now().Add(f.system.cfg.stopPause),
		reason: fmt.Sprintf("%v: %d within %v, the last in the %s actor", ErrUnstable, stopPanics, stopWindow, actor),
	}
	f.quarantine.Store(q)
	f.system.stopped.Add(1)
	f.cell.count(func(n *Counts) { n.Stops++ })
	f.system.cfg.Logger.Error("queue stopped after repeated panics", "worker", f.device.name, "queue", f.name, "pause", f.system.cfg.stopPause, "error", q.reason)
	f.latest.CompareAndSwap(nil, new(decision)) // it has never decided: decision 0 says only why
	f.publishOutside(f.repeated(), false)
}

// release ends the quarantine. The decision that follows takes the reason out of the
// recommendation and tells the worker actor to look at the queue's work. f.life is held.
func (f *family) release() {
	f.endQuarantine()
	f.panics.row.Store(0)
	f.panics.recent = nil
	w := f.cell.requestDecision() // whatever it knew, it has to say that it is back
	f.redeliver()
	f.wake(w)
}

func (f *family) endQuarantine() {
	if f.quarantine.Swap(nil) != nil {
		f.system.stopped.Add(-1)
	}
}

// stop gives a plan up whose launches failed in a row, until it changes or stopPause is over.
// It then gets one attempt.
func (w *workerActor) stop(l *lane, edition uint64, last string) {
	reason := fmt.Errorf("%w: %d in a row, the last: %s", ErrStopped, w.system.cfg.maxFailures, last)
	l.family.halted.Store(&halt{edition, reason.Error()})
	l.family.post(halted{edition})
	l.family.cell.count(func(n *Counts) { n.Halts++ })
	w.system.complain.Warn("queue stopped after failed launches until its plan changes or a pause is over", w.device.name, l.family.name,
		"failures", w.system.cfg.maxFailures, "pause", w.system.cfg.stopPause, "last", last)
	w.after(w.system.cfg.stopPause, func() { l.resume(edition) })
}

// resume ends a stop, unless another has followed. A plan that is stopped again meanwhile
// waits for less than a whole pause once.
func (l *lane) resume(edition uint64) {
	if h := l.family.halted.Load(); h != nil && h.edition == edition {
		l.family.halted.Store(nil)
		l.family.post(halted{edition})
	}
}

// halt is a plan that was given up.
type halt struct {
	edition uint64
	reason  string
}

// gaveUp says whether the worker has given up on the plan of a decision.
func (f *family) gaveUp(d *decision) bool {
	h := f.halted.Load()
	return h != nil && h.edition == d.edition
}
