package actors

import (
	"fmt"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// flight is the launch under way.
type flight struct {
	lane     *lane
	decision *summary
	launch   uint64
	idle     time.Duration // before it
	fed      bool          // the queue got more work since
	starting bool          // the engine has not returned from Launch yet
}

// launch starts the next launch if the device is free and a queue with a plan
// has work.
func (w *workerActor) launch() {
	if w.flight != nil || w.stopping {
		return
	}
	w.candidates = w.candidates[:0]
	for _, l := range w.ready {
		w.candidates = append(w.candidates, l.candidate(w.priorities))
	}
	next := policy.PickQueue(w.candidates)
	if next < 0 {
		return
	}
	for i, l := range w.ready {
		if w.candidates[i].Pending > 0 {
			l.waited++
		}
	}
	l := w.ready[next]
	l.waited = 0
	w.start(l, l.family.planned.Load())
}

func (w *workerActor) start(l *lane, d *summary) {
	launch := w.system.launches.Add(1)
	w.flight = &flight{lane: l, decision: d, launch: launch, idle: time.Since(w.freeSince), starting: true}
	order := Order{Launch: launch, Decision: d.number, Queue: l.family.name, Plan: d.plan}
	w.engine.Launch(order, func(r Report) { w.post(&landing{launch, r}) })
	w.flight.starting = false
}

// land accounts for a launch that came back: first its own books, so that a
// panic further on loses nothing, then whoever wants to know.
func (w *workerActor) land(it *landing) {
	f := w.flight
	if f == nil || f.launch != it.launch {
		return // reported twice, or after it was given up
	}
	w.flight, w.freeSince = nil, time.Now()
	l, report := f.lane, &it.report.Launch
	report.Launch, report.Decision = f.launch, f.decision.number
	report.Recommended = geometryOf(&f.decision.plan)
	report.IdleNs = uint64(f.idle)
	report.Has |= telemetry.HasLaunch | telemetry.HasDecision | telemetry.HasIdleNs | hasRecommended
	w.collect(l, f, &it.report)
	w.rate(l, f, report)

	q := l.family
	q.dispatch(q.cell.reportLocal(report))
	q.dispatch(q.cell.setBacklog(uint32(l.pending), false))
	q.post(queueStage, &settled{
		launch: f.launch, decision: f.decision.number,
		ok: report.Status == telemetry.LaunchOK, state: f.decision.after,
	})
	w.system.publisher.Report(w.device.name, q.name, report)
}

const hasRecommended = telemetry.HasRecommendedWorkgroupSizeX | telemetry.HasRecommendedGroups | telemetry.HasRecommendedClaimChunk

// collect takes the finished batches out of the lane. The engine's count of
// what is left holds, unless it was made before more work came in.
func (w *workerActor) collect(l *lane, f *flight, r *Report) {
	for i := range r.Done {
		done := &r.Done[i]
		b := l.open[done.Batch]
		if b == nil {
			w.system.cfg.Logger.Error("engine finished a batch it was not given", "worker", w.device.name, "queue", l.family.name, "batch", done.Batch)
			continue
		}
		delete(l.open, done.Batch)
		done.WorkSentNs = b.sentNs
		b.done, b.work.Slots = done, nil
		w.finished.add(b)
		w.outbox = append(w.outbox, b)
	}
	if f.fed {
		settled := int(r.Launch.Executed + r.Launch.Faulted)
		for i := range r.Done {
			settled += int(r.Done[i].Dropped)
		}
		pending := l.pending - settled
		if len(l.open) > 0 {
			// Slots of a batch whose end is not here yet may be counted as
			// settled already. There is a next launch, and its report says.
			pending = max(pending, 1)
		}
		w.setPending(l, pending)
	} else {
		w.setPending(l, r.Pending)
	}
}

// rate decides when the lane may launch again. After a launch that failed, or
// that ran but moved nothing, it waits longer each time; failures in a row
// stop the queue.
func (w *workerActor) rate(l *lane, f *flight, r *telemetry.Launch) {
	failed := r.Status != telemetry.LaunchOK
	if !failed {
		l.failures = 0
		if l.pending == 0 || r.Executed+r.Faulted > 0 {
			l.stalls = 0
			return
		}
		l.stalls++
	} else if l.failures++; l.failures >= w.system.cfg.MaxFailures {
		l.failures = w.system.cfg.MaxFailures - 1 // a changed plan gets one attempt
		l.stopped = f.decision.edition
		reason := fmt.Errorf("%w: %d in a row, the last: %s", ErrStopped, w.system.cfg.MaxFailures, r.Error)
		l.family.post(policyStage, &halted{edition: l.stopped, reason: reason.Error()})
		return
	}
	l.paused = time.AfterFunc(w.system.cfg.pause(max(l.failures, l.stalls)), func() { w.post(&pauseOver{l}) })
}
