package actors

import (
	"cmp"
	"math"
	"slices"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// flight is a launch under way.
type flight struct {
	lane         *lane
	decision     *decision
	launch       uint64
	began        time.Time
	idle         time.Duration // of the device before it
	depth        int           // launches under way when it began, itself included
	claimedSlots int           // slots that it takes at most, by the lane's books
	weight       float64       // of its queue, when it began
	charged      uint64        // nanoseconds that its queue was charged for it
	concurrent   bool          // others of its queue were under way when it began
	gotWork      bool          // the queue got more work since
	starting     bool          // the engine has not returned from Launch yet
	report       *Report       // what came back; nil: nothing yet
}

// launch starts launches as long as a queue with a plan has work and its plan allows
// another launch in flight.
func (w *workerActor) launch() {
	for !w.stopping && w.launchNext() {
	}
}

func (w *workerActor) launchNext() bool {
	w.findCandidates()
	next, weight := policy.PickQueue(w.candidates)
	if next < 0 || len(w.flights) >= policy.WorkerInFlight(w.candidates) && !w.joins(&w.candidates[next]) {
		return false
	}
	for i, l := range w.ready {
		if w.candidates[i].Pending > 0 {
			l.waited++
		}
	}
	w.virtualTime = policy.VirtualTime(w.virtualTime, w.candidates)
	l := w.ready[next]
	l.waited = 0
	w.start(l, l.plan, w.candidates[next].Pending, weight)
	return true
}

// findCandidates lists the queues with work, as the choice of the next launch sees them.
func (w *workerActor) findCandidates() {
	w.candidates = w.candidates[:0]
	idle := time.Duration(0)
	if len(w.flights) == 0 {
		idle = time.Since(w.freeSince)
	}
	for _, l := range w.ready {
		l.served = max(l.served, w.virtualTime)
		c := l.candidate(w.priorities, idle)
		if c.Pending > 0 && w.holds(l, c.Pending) {
			c.Pending = 0
		}
		w.candidates = append(w.candidates, c)
	}
}

// start starts a launch of a lane that has left slots which no launch under way takes. Its
// queue is charged what it is expected to take, so that those chosen meanwhile count it.
func (w *workerActor) start(l *lane, d *decision, left int, weight float64) {
	f := &flight{
		lane: l, decision: d, launch: w.system.launches.Add(1), began: time.Now(), depth: len(w.flights) + 1,
		claimedSlots: min(left, int(d.Plan.BatchDepth)), concurrent: l.flights > 0, starting: true, weight: weight,
	}
	f.charged = d.Request.Cost.Ns(uint32(f.claimedSlots))
	if !l.freshSince.IsZero() {
		w.system.cfg.Meter.Waited(time.Since(l.freshSince))
	}
	l.served += float64(f.charged) / weight
	if len(w.flights) == 0 {
		f.idle = time.Since(w.freeSince)
	}
	if d.tries() {
		l.family.letGo(d)
	}
	if len(w.flights) == 0 {
		w.headSince = f.began
	}
	w.flights = append(w.flights, f)
	joined := w.system.cfg.Policy.IsJoined(&d.Request, f.charged, d.hostNs)
	if joined {
		w.lookBefore(d.hostNs)
	}
	l.flights++
	l.claimedSlots += f.claimedSlots
	order := Order{Launch: f.launch, Decision: d.Decision, Queue: l.family.name, Plan: d.Plan, Joined: joined}
	w.engine.Launch(order, func(r Report) { w.post(&launchResult{f.launch, r}) })
	f.starting = false
}

// onResult notes what came back of a launch.
func (w *workerActor) onResult(it *launchResult) {
	for _, f := range w.flights {
		if f.launch == it.launch && f.report == nil {
			f.report = &it.report
			return
		}
	} // else reported twice, or after it was given up
}

// settle accounts for the launches that came back, in the order of their starts:
// hysteresis is about what ran after what.
func (w *workerActor) settle() {
	for len(w.flights) > 0 && w.flights[0].report != nil {
		w.account(w.flights[0])
	}
}

// account enters a launch that came back in the actor's own books. Others are told later, see tell.
func (w *workerActor) account(f *flight) {
	w.flights = slices.Delete(w.flights, 0, 1)
	w.accounted = append(w.accounted, f)
	l, report := f.lane, &f.report.Launch
	w.headSince = w.headSince.Add(time.Duration(deviceNs(report)))
	if len(w.flights) == 0 {
		w.freeSince = time.Now()
	} else if began := w.flights[0].began; began.After(w.headSince) {
		w.headSince = began
	}
	l.flights--
	l.claimedSlots -= f.claimedSlots
	l.served += (float64(deviceNs(report)) - float64(f.charged)) / f.weight
	report.Launch, report.Decision = f.launch, f.decision.Decision
	report.Recommended = WireGeometry(f.decision.Plan.Geometry())
	report.IdleNs, report.InFlight = uint64(f.idle), uint32(f.depth)
	report.Has |= telemetry.HasLaunch | telemetry.HasDecision | telemetry.HasIdleNs | telemetry.HasInFlight | hasRecommended
	w.collect(l, f)
	if report.Requeued > 0 {
		l.freshSince = time.Time{} // what a launch leaves has waited already
	}
	w.rate(l, f)
}

// tell tells others of the launches that were accounted for, in the order of their starts. It comes before the next
// launch: beside one, on two cores, it had a batch that yields 255 times take a fifth longer.
func (w *workerActor) tell() {
	for len(w.accounted) > 0 {
		f := w.accounted[0]
		w.accounted = slices.Delete(w.accounted, 0, 1)
		l, report, q := f.lane, &f.report.Launch, f.lane.family
		q.tellLaunch(report)
		q.dispatch(q.cell.reportLocal(report, f.decision.forTuner(), time.Now()))
		if f.report.LeaseRefused {
			q.cell.leaseRefused()
		}
		q.dispatch(q.cell.setBacklog(uint32(l.pending), false))
		if f.decision.first() && l.pending > 0 {
			q.dispatch(q.cell.requestDecision()) // those that follow may be as long as their cost allows
		}
		q.post(&settled{f.launch, f.decision.Decision, report.Status == telemetry.LaunchOK, f.decision.After})
		if w.device.diffusing.Load() {
			w.system.shell.send(w.device.diffusionAddr, launched{})
		}
		w.system.publisher.Report(w.device.name, q.name, report)
	}
}

// deviceNs is for how long a launch had the device, as far as that was measured.
func deviceNs(l *telemetry.Launch) uint64 { return cmp.Or(l.ElapsedNs, l.WallNs) }

const hasRecommended = telemetry.HasRecommendedWorkgroupSizeX | telemetry.HasRecommendedGroups | telemetry.HasRecommendedClaimChunk

// collect takes the finished batches out of the lane. The engine's count of
// what is left holds, unless it was made before more work came in or while other
// launches of the queue were under way.
func (w *workerActor) collect(l *lane, f *flight) {
	r := f.report
	settled := int(r.Launch.Executed + r.Launch.Faulted)
	for i := range r.Done {
		settled += int(r.Done[i].Dropped)
		w.finish(l, &r.Done[i])
	}
	switch {
	case !f.gotWork && !f.concurrent && l.flights == 0:
		w.setPending(l, r.Pending)
	case len(l.open) == 0:
		w.setPending(l, l.pending-settled)
	default:
		// Slots of a batch whose end has not been reported yet may already be counted as
		// settled. Another launch follows, and its report tells.
		w.setPending(l, max(l.pending-settled, 1))
	}
}

// finish takes a finished batch out of its lane, for its done record to be sent.
func (w *workerActor) finish(l *lane, done *telemetry.Done) bool {
	b := l.open[done.Batch]
	if b == nil {
		w.system.cfg.Logger.Error("engine finished a batch it was not given", "worker", w.device.name, "queue", l.family.name, "batch", done.Batch)
		return false
	}
	delete(l.open, done.Batch)
	if !b.due.IsZero() && b.due.Equal(l.due) {
		l.due = firstDue(l.open)
	}
	done.WorkSentNs = b.sentNs
	b.done = done
	w.finished.add(b)
	w.outbox = append(w.outbox, b)
	return true
}

// rate decides when the lane may launch again. After a launch that failed, or
// that ran but moved nothing, it waits longer each time, unless slots only went round
// (see roundsAtOnce); failures in a row stop the queue. Launches that were under way
// when a failure became known say nothing about the next attempt, whichever way they end.
func (w *workerActor) rate(l *lane, f *flight) {
	r := &f.report.Launch
	moved := r.Executed+r.Faulted > 0
	switch {
	case f.launch <= l.lastFailureSeen:
		return
	case r.Status != telemetry.LaunchOK:
		l.lastFailureSeen = w.system.launches.Load()
		if l.failures++; l.failures >= w.system.cfg.maxFailures {
			l.failures = w.system.cfg.maxFailures - 1 // a changed plan gets one attempt
			w.stop(l, f.decision.edition, r.Error)
			return
		}
	case f.concurrent && !moved:
		// What is left may stand behind a fence. Until a launch is full again,
		// a second one would be as empty.
		l.failures, l.serialOnly = 0, true
		return
	default:
		l.failures = 0
		if r.Executed+r.Faulted+r.Requeued >= uint64(f.decision.Plan.BatchDepth) {
			l.serialOnly = false
		}
		if l.pending == 0 || moved {
			l.stalls = 0
			return
		}
		l.stalls++
		if r.Requeued > 0 && l.stalls <= roundsAtOnce {
			return
		}
	}
	waits := l.stalls
	if r.Requeued > 0 {
		waits -= roundsAtOnce
	}
	rest := pause(max(l.failures, waits))
	l.pausedUntil = time.Now().Add(rest)
	w.after(rest, func() {}) // and look again
}

// roundsAtOnce is how many launches of a queue in a row follow one another at once
// although they only sent slots round again. A slot that yields waits for nothing but
// its next turn, and may yield 255 times. Other queues have their turns meanwhile, see
// policy.PickQueue; what goes round more often waits for something else, such as
// another queue's store, and is looked at less and less often.
const roundsAtOnce = 1024

// lane is the work of one queue at its worker.
type lane struct {
	family          *family
	open            map[string]*batch // taken by the engine and not finished, by id
	pending         int               // slots the engine still has to run
	ahead           int64             // nanoseconds that those are part of device.ahead with
	flights         int               // launches under way
	claimedSlots    int               // slots that they take at most
	serialOnly      bool              // a launch found nothing that those before it had left
	waited          uint64            // launches of the worker while this queue had work
	served          float64           // virtual time, see policy.PickQueue
	failures        int               // launches that failed in a row
	lastFailureSeen uint64            // the last launch begun before a failure was counted
	stalls          int               // launches in a row that ran and moved nothing
	pausedUntil     time.Time         // of the next attempt, after a launch that failed or moved nothing
	freshSince      time.Time         // when the first slot came that no launch had taken
	held            bool              // the worker actor is to look again
	idleSince       time.Time         // when it ran out of work
	quietDue        bool              // fallsQuiet is due
	due             time.Time         // the first of its open batches'; zero: none has a time
	deadlineAt      time.Time         // when the last batch came whose deadline is the queue's, see wanted
	plan            *decision         // what candidate found: the plan to launch by
}

// candidate is the lane as policy.PickQueue sees it. In a pause, stopped after failed
// launches or panics, or if the queue's newest decision is no plan, it has nothing to offer:
// nothing is launched by a plan that the policy has taken back. idle is for how long the device
// has had nothing to do.
func (l *lane) candidate(priorities map[string]float64, idle time.Duration) policy.Candidate {
	c := policy.Candidate{Priority: defaultPriority, Served: l.served, Waited: l.waited}
	if p, ok := priorities[l.family.name]; ok {
		c.Priority = p
	}
	plan := l.newestPlan(idle)
	if plan == nil || !plan.planned() || l.pauses() || l.family.gaveUp(plan) || l.family.quarantine.Load() != nil {
		return c
	}
	l.plan = plan
	c.InFlight = policy.InFlightNow(plan.Plan.InFlight, l.failures)
	if l.serialOnly {
		c.InFlight = 1
	}
	left := max(l.pending-l.claimedSlots, 0)
	if l.flights >= c.InFlight {
		c.Full = left > 0
		return c
	}
	c.HostNs = plan.hostNs
	c.Pending, c.PendingNs = left, plan.Request.Cost.Ns(uint32(left))
	c.LaunchNs = plan.Request.Cost.Ns(min(uint32(left), plan.Plan.BatchDepth))
	if c.HasDue = !l.due.IsZero(); c.HasDue {
		c.DueNs = int64(time.Until(l.due))
	}
	return c
}

// pauses says whether the lane waits with its next launch, after one that failed or moved nothing.
func (l *lane) pauses() bool { return !l.pausedUntil.IsZero() && time.Now().Before(l.pausedUntil) }

// newestPlan is the plan to launch by: the newest, or the usual one before it if that is a look or
// an audit which was launched already, or a look and the device has been idle for longer than a launch takes:
// nobody waits for it then.
func (l *lane) newestPlan(idle time.Duration) *decision {
	f := l.family
	plan := f.latest.Load()
	switch {
	case plan == nil || !plan.tries():
		return plan
	case plan.look == 0 && plan.Decision > f.audited.Load():
		return plan
	case plan.look > f.looked.Load():
		if idle <= time.Duration(min(plan.Request.Cost.Ns(plan.slots), math.MaxInt64)) {
			return plan
		}
		f.letGo(plan)
	}
	return f.usual.Load()
}

// holds reports whether a lane waits for more slots, and has the worker actor look again when it
// has waited for long enough.
func (w *workerActor) holds(l *lane, left int) bool {
	if l.plan.hold == 0 || left >= int(l.plan.Plan.BatchDepth) {
		return false
	}
	wait := l.plan.hold - time.Since(l.freshSince)
	if wait > 0 && !l.held {
		l.held = true
		w.after(wait, func() { l.held = false })
	}
	return wait > 0
}

// setPending notes how many slots are left, also where status rows read it, and
// keeps the lane in the list of those with work if there are any.
func (w *workerActor) setPending(l *lane, slots int) {
	was := l.pending
	l.pending = max(slots, 0)
	l.family.pending.Store(int64(l.pending))
	w.countAhead(l)
	switch {
	case was == 0 && l.pending > 0:
		w.ready = append(w.ready, l)
		w.hasWork(l, true)
	case was > 0 && l.pending == 0:
		w.ready = slices.DeleteFunc(w.ready, func(other *lane) bool { return other == l })
		w.hasWork(l, false)
	}
}
