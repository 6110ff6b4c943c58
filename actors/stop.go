package actors

import (
	"fmt"
	"sync/atomic"
	"time"
)

// panics counts the panics of a queue's actors; changed under family.life.
type panics struct {
	row    atomic.Int32 // since the last decision
	recent []time.Time  // the last StopPanics of them, oldest first
}

// add notes a panic and reports whether it is one too many.
func (p *panics) add(now time.Time) bool {
	p.row.Add(1)
	if len(p.recent) == StopPanics {
		p.recent = p.recent[:copy(p.recent, p.recent[1:])]
	}
	p.recent = append(p.recent, now)
	return len(p.recent) == StopPanics && now.Sub(p.recent[0]) <= StopWindow
}

// rest is the pause of a stopped queue.
type rest struct {
	until  time.Time
	reason string
}

// revive brings the queue back after one of its actors panicked. Wakes that may be lost
// are sent again, because the cell still holds what they were about. News of a launch is in
// no cell, so the message itself is handled again. A decision that another actor has in
// hand goes on. The pause grows while the queue keeps panicking; StopPanics panics within
// StopWindow stop it.
func (f *family) revive(self stage, lost message) {
	f.life.Lock()
	defer f.life.Unlock()
	f.keep(self, lost)
	tooMany := f.panics.add(time.Now())
	if f.stopped.Load() != nil {
		return
	}
	if tooMany {
		f.stop(self)
		return
	}
	f.busy.Add(1)
	time.AfterFunc(f.system.cfg.pause(int(f.panics.row.Load())), f.retry)
}

// retry is the end of a pause after a panic.
func (f *family) retry() {
	f.life.Lock()
	defer f.life.Unlock()
	f.busy.Add(-1)
	if f.stopped.Load() == nil {
		f.again()
	}
}

// again delivers what was put aside and asks every actor that may have lost a
// wake to look; f.life is held.
func (f *family) again() {
	kept := f.kept
	f.kept = nil
	for _, l := range kept {
		f.deliver(l.to, l.message)
	}
	f.wake(f.cell.revive())
}

// stop lets the queue rest: no decisions and no launches until Config.StopPause
// is over. Records are still folded, so that it comes back to the newest
// values. Its recommendation says so, now and with every heartbeat. f.life is held.
func (f *family) stop(culprit stage) {
	names := [...]string{queueStage: "queue", topologyStage: "topology", policyStage: "policy", tunerStage: "tuner"}
	r := &rest{
		until:  time.Now().Add(f.system.cfg.StopPause),
		reason: fmt.Sprintf("%v: %d within %v, the last in the %s actor", ErrUnstable, StopPanics, StopWindow, names[culprit]),
	}
	f.stopped.Store(r)
	f.system.stopped.Add(1)
	f.tally.stops.Add(1)
	f.system.cfg.Logger.Error("queue stopped after repeated panics", "worker", f.device.name, "queue", f.name, "pause", f.system.cfg.StopPause, "reason", r.reason)
	s := f.latest.Load()
	if s == nil {
		s = new(summary) // it has never decided: decision 0 says only why
	}
	s = s.because(r.reason)
	f.latest.Store(s)
	f.publishOutside(s, false)
}

// rested reports whether the pause of a stopped queue is over.
func (f *family) rested() bool { return !time.Now().Before(f.stopped.Load().until) }

// resume starts a stopped queue again with what it has in its cell. The
// decision that follows takes the reason out of the recommendation and tells
// the worker actor to look at the queue's work. f.life is held.
func (f *family) resume() {
	f.unstop()
	f.panics.row.Store(0)
	f.panics.recent = nil
	w := f.cell.poke() // whatever it knew, it has to say that it is back
	f.again()
	f.wake(w)
}

func (f *family) unstop() {
	if f.stopped.Swap(nil) != nil {
		f.system.stopped.Add(-1)
	}
}
