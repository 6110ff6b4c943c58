package actors

import (
	"fmt"
	"math"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
	"ringmaster/telemetry/decisionlog"
)

// Ingest folds a queue, graph, priority or launch record of a queue, which came at a
// time by the clock here, into its cell. reply, if not empty, is answered with the next
// decision. It never
// blocks on a decision and copies what it keeps. The error says why the record
// was refused; an echo of an own launch report or walk is dropped without one.
func (s *System) Ingest(worker, queue string, r *telemetry.Record, at time.Time, reply string) error {
	switch r.Kind {
	case telemetry.KindQueue, telemetry.KindPriority:
	case telemetry.KindLaunch, telemetry.KindGraph: // an own graph record is the copy of a walk
		if r.Incarnation == s.cfg.Incarnation {
			s.echoes.Add(1)
			return nil
		}
	default:
		return s.refuse(worker, queue, r, fmt.Errorf("%w: %v", ErrKind, r.Kind))
	}
	if err := s.withPaced(worker, queue, true, func(f *family) error { return f.ingest(r, at, reply, s.tick.Load()) }); err != nil {
		return s.refuse(worker, queue, r, err)
	}
	return nil
}

func (f *family) ingest(r *telemetry.Record, at time.Time, reply string, tick uint64) error {
	launch := r.Kind == telemetry.KindLaunch
	if launch && f.device.view.Load().local {
		return ErrForeignLaunch
	}
	w, err := f.cell.fold(r, reply, tick, at)
	if err != nil {
		return err
	}
	f.device.mention(tick)
	if launch {
		f.device.reports(r.Incarnation)
		f.tellLaunch(&r.Launch)
	}
	f.tellGoal()
	f.dispatch(w)
	return nil
}

// fold merges one record and says which actors have to look. A record that is
// refused changes nothing.
func (c *cell) fold(r *telemetry.Record, reply string, tick uint64, at time.Time) (wakes, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var w wakes
	var err error
	switch r.Kind {
	case telemetry.KindQueue:
		w, err = c.foldQueue(&r.Header, &r.Queue, at)
	case telemetry.KindGraph:
		w, err = c.foldGraph(&r.Header, &r.Graph, at)
	case telemetry.KindPriority:
		if _, err = c.accept(&r.Header, r.Priority.TakeOver, at); err == nil {
			c.priority.Merge(&r.Priority)
			w = c.rank()
		}
	case telemetry.KindLaunch:
		if _, err = c.accept(&r.Header, false, at); err == nil {
			w = c.report(&r.Launch, nil, at)
		}
	}
	if err != nil {
		return 0, err
	}
	c.counts.Records++
	c.touched = tick
	if c.since.IsZero() && (r.Kind == telemetry.KindQueue || r.Kind == telemetry.KindGraph) {
		c.since = at
	}
	if reply != "" && len(c.replies) < maxReplies {
		c.replies = append(c.replies, reply)
	}
	return w, nil
}

func (c *cell) foldQueue(h *telemetry.Header, q *telemetry.Queue, at time.Time) (wakes, error) {
	if err := c.acceptQueue(h, q, at); err != nil {
		return 0, err
	}
	c.queue.Merge(q)
	c.target.Store(c.queue.LatencyTargetMs)
	c.note(h)
	return c.trigger(), nil
}

// acceptQueue takes a queue record's place in the order and adds the growth of its cumulative
// counters, which a new incarnation counts from 0. A record that is refused changes nothing.
func (c *cell) acceptQueue(h *telemetry.Header, q *telemetry.Queue, at time.Time) error {
	fresh, err := c.source(h.Kind).Check(h, q.TakeOver, at)
	if err != nil {
		return err
	}
	requeuesBefore, executedBefore := c.requeuesReported, c.executedReported
	if fresh {
		requeuesBefore, executedBefore = 0, 0
	}
	requeues, executed := requeuesBefore, executedBefore
	if q.Has.Has(telemetry.HasRequeueCount) {
		requeues = q.RequeueCount
	}
	if q.Has.Has(telemetry.HasExecutedCount) {
		executed = q.ExecutedCount
	}
	if requeues < requeuesBefore || executed < executedBefore {
		return ErrRewind
	}
	c.advance(h, fresh, at)
	c.requeues = addSaturating(c.requeues, requeues-requeuesBefore)
	c.executed = addSaturating(c.executed, executed-executedBefore)
	c.requeuesReported, c.executedReported = requeues, executed
	return nil
}

// note remembers which records the next decision answers.
func (c *cell) note(h *telemetry.Header) {
	if c.records.Incarnation != h.Incarnation {
		c.records = SequenceRange{Incarnation: h.Incarnation, First: h.Seq}
	}
	c.records.Last, c.records.SentNs = h.Seq, h.SentNs
}

// trigger asks for a decision if the queue is known; c.mu is held.
func (c *cell) trigger() wakes {
	if !c.source(telemetry.KindQueue).Known() && !c.hasBacklog && !c.walked {
		return 0
	}
	if c.dirty {
		c.counts.Folded++
	}
	c.dirty = true
	c.pacer.triggers++
	if c.deciding {
		return 0
	}
	c.deciding = true
	return wakeDecision
}

func (c *cell) foldGraph(h *telemetry.Header, g *telemetry.Graph, at time.Time) (wakes, error) {
	fresh, err := c.accept(h, g.TakeOver, at)
	if err != nil {
		return 0, err
	}
	c.graph.Merge(g)
	c.countHits(fresh)
	c.note(h)
	return c.trigger(), nil
}

// countHits adds the growth of requeued_hit_count: nodes that found no room for their
// hits are requeued, as slots are. A count that went backwards has started anew.
func (c *cell) countHits(fresh bool) {
	n := c.graph.RequeuedHitCount
	if fresh || n < c.lastRequeuedHits {
		c.lastRequeuedHits = 0
	}
	c.requeues = addSaturating(c.requeues, n-c.lastRequeuedHits)
	c.lastRequeuedHits = n
}

// accept checks that a record is in order and notes it as the newest, or refuses it. It
// says whether the record starts a new incarnation.
func (c *cell) accept(h *telemetry.Header, takeOver bool, at time.Time) (fresh bool, err error) {
	if fresh, err = c.source(h.Kind).Check(h, takeOver, at); err == nil {
		c.advance(h, fresh, at)
	}
	return fresh, err
}

// advance notes a record that check found in order as the newest of its kind.
func (c *cell) advance(h *telemetry.Header, fresh bool, at time.Time) {
	src := c.source(h.Kind)
	if fresh {
		c.forget(h.Kind, src.Incarnation)
	}
	src.Accept(h, at)
}

// forget drops the gauges of a replaced publisher: those of the kind in which
// it was replaced, and those of the other kind it had published, because a
// publisher restarts as a whole. It stays welcome in the other kinds.
func (c *cell) forget(kind telemetry.Kind, replaced uint64) {
	if kind == telemetry.KindQueue || kind == telemetry.KindGraph && c.source(telemetry.KindQueue).PublishedBy(replaced) {
		c.queue = telemetry.Queue{}
		c.target.Store(0)
	}
	if kind == telemetry.KindGraph || kind == telemetry.KindQueue && c.source(telemetry.KindGraph).PublishedBy(replaced) {
		c.graph = telemetry.Graph{}
	}
	if kind == telemetry.KindPriority {
		c.priority = telemetry.Priority{}
	}
}

// report adds one launch report, which came at a time by the clock here. For a remote worker, whose plan is not known here, it also
// keeps the outcome for the stages; the outcome of a local launch reaches them with its state.
func (c *cell) report(l *telemetry.Launch, p *session.Plan, at time.Time) wakes {
	ok := l.Status == telemetry.LaunchOK
	n := &c.counts
	n.Launches++
	if !ok {
		n.FailedLaunches++
	}
	n.SlotsExecuted = addSaturating(n.SlotsExecuted, l.Executed)
	n.SlotsFaulted = addSaturating(n.SlotsFaulted, l.Faulted)
	n.DeviceNs = addSaturating(n.DeviceNs, deviceNs(l))
	c.applied = l.Applied
	c.requeues = addSaturating(c.requeues, l.Requeued)

	if ok && timed(l) {
		_ = c.history.Take(wayOf(l), addSaturating(l.Executed, l.Faulted), l.ElapsedNs) // what cannot be true teaches nothing
		if l.InFlight == 1 && l.WallNs >= l.ElapsedNs {
			c.history.Alone(wayOf(l), l.WallNs-l.ElapsedNs, l.TimeSource == telemetry.TimeQuery)
		}
	}
	if ok && timed(l) && c.audited {
		c.addRun(l)
	}
	if l.Has.Has(telemetry.HasCompiledReady) {
		c.compiled = l.CompiledReady
	}
	var w wakes
	if ok && hasSample(l) {
		c.addSample(l, p, at)
		if !c.tuning {
			c.tuning = true
			w |= wakeTuner
		}
	}
	if p == nil && l.Decision != 0 {
		if len(c.outcomes) == maxOutcomes {
			c.outcomes = c.outcomes[:copy(c.outcomes, c.outcomes[1:])]
			c.counts.Folded++
		}
		c.outcomes = append(c.outcomes, outcome{c.source(telemetry.KindLaunch).Seq, l.Launch, l.Decision, ok})
		if !c.reporting {
			c.reporting = true
			w |= wakeOutcomes
		}
	}
	return w
}

// reportLocal adds a report of the worker's own engine, of a launch by a plan.
func (c *cell) reportLocal(l *telemetry.Launch, p *session.Plan, at time.Time) wakes {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.report(l, p, at)
}

// leaseRefused notes that the launch reported last was for the lease, which refused it.
func (c *cell) leaseRefused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history.Refuse()
	c.standing = standing{} // the next submission has another decision made
}

// wayOf is how a launch ran.
func wayOf(l *telemetry.Launch) policy.Way {
	switch {
	case l.Mode == telemetry.ModeLease:
		return policy.WayLeased
	case l.ExecutionMode == telemetry.ExecutionJIT:
		return policy.WayCompiled
	}
	return policy.WayInterpreted
}

// timed says whether a launch's time on the device was measured.
func timed(l *telemetry.Launch) bool {
	if l.Has.Has(telemetry.HasTimeSource) && l.TimeSource == telemetry.TimeNone {
		return false
	}
	return l.ElapsedNs > 0 || l.Has.Has(telemetry.HasElapsedNs)
}

// hasSample says whether a launch was measured at a geometry of its own. A launch on a
// lease was not: the resident kernel has one geometry for all launches.
func hasSample(l *telemetry.Launch) bool {
	return timed(l) && l.Mode == telemetry.ModeWave && l.Applied.WorkgroupSizeX > 0 && (l.Executed > 0 || l.Faulted > 0)
}

// addRun keeps the first launch of a decision, for the entry of the next one.
func (c *cell) addRun(l *telemetry.Launch) {
	slots := addSaturating(l.Executed, l.Faulted)
	if l.Decision <= c.ranBy || slots == 0 || c.runs[len(c.runs)-1] != (decisionlog.Ran{}) {
		return
	}
	c.ranBy = l.Decision
	g := ranGeometry(l)
	g.Depth = 0
	ran := decisionlog.Ran{Decision: l.Decision, Geometry: g, Slots: slots, Ns: l.ElapsedNs}
	if l.Mode == telemetry.ModeLease {
		ran.LaunchMode = policy.LaunchLease
	}
	if l.ExecutionMode == telemetry.ExecutionJIT {
		ran.Mode = policy.ModeJIT
	}
	for i := range c.runs {
		if c.runs[i] == (decisionlog.Ran{}) {
			c.runs[i] = ran
			return
		}
	}
}

// addSample keeps a launch for the tuner. If the tuner is far behind, the oldest is dropped.
func (c *cell) addSample(l *telemetry.Launch, p *session.Plan, at time.Time) {
	if len(c.timings) == maxTimings {
		c.timings = c.timings[:copy(c.timings, c.timings[1:])]
		c.counts.Folded++
	}
	r := session.Report{
		Named: len(l.Fingerprint) == telemetry.FingerprintSize, Source: uint8(l.TimeSource), Geometry: ranGeometry(l),
		Slots: addSaturating(l.Executed, l.Faulted), Ns: l.ElapsedNs, WallNs: l.WallNs,
	}
	if p != nil {
		r.Plan = *p
	}
	if !c.sampledAt.IsZero() {
		r.SinceNs = uint64(max(at.Sub(c.sampledAt), 0))
	}
	c.sampledAt = at
	copy(r.Program[:], l.Fingerprint)
	c.timings = append(c.timings, r)
}

// rank asks the diffusion actor to look.
func (c *cell) rank() wakes {
	if c.ranking {
		return 0
	}
	c.ranking = true
	return wakePriority
}

func addSaturating(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
