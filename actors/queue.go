package actors

import (
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// queueActor decides for one queue. On a wake it takes the folded view of its
// cell, joins it with what is known of the worker and the tuner, and runs the
// stages of the decision in order: topology, then policy, both by policy.Decide.
// It draws the decision numbers, publishes, and settles launches.
type queueActor struct {
	*family
	number   uint64 // of the last decision
	topology topologyStage
	policy   policyStage
	recent   recentDecisions
	halted   halted
	outcomes []outcome // reused between looks at the cell
	slotsAt  time.Time // when records said last that a queue elsewhere has slots; zero: it counts as without work
}

// topologyStage remembers how launches walk: the topology that was issued and
// the one that was committed.
type topologyStage struct {
	hysteresis[policy.TopologyState]
}

// policyStage remembers the plan that was issued and the one that was committed.
type policyStage struct {
	hysteresis[policy.PlanState]
	unannounced bool // a changed plan that no recommendation has announced yet
}

// decision is one decision, from the view of the cell to its publication.
type decision struct {
	number          uint64 // from 1
	view            view
	commitOnPublish bool  // the worker has never reported a launch
	err             error // why there is no plan
	request         policy.Request
	slots           uint32 // of a launch, about which the tuner was asked
	look            uint64 // number of the look that the tuner asked for, 0: none
	plan            policy.Recommendation
	before, after   policy.State
	hold            time.Duration // see Decider
}

// DecisionInput is what one decision depended on: policy.Decide on Request and
// Before gives the same plan and After again, without any of the timing.
type DecisionInput struct {
	Worker, Queue string
	Decision      uint64
	Records       SequenceRange // records folded since the decision before
	Request       policy.Request
	Before, After policy.State
	Plan          policy.Recommendation // zero if there was none
	Err           error                 // why there was no plan, nil if there was one; ErrNoLimits: the policy was not asked
}

// SequenceRange names consecutive records of one publisher.
type SequenceRange struct {
	Incarnation uint64
	First, Last uint64
	SentNs      int64 // of the last one
}

func (a *queueActor) receive(msg message) {
	switch m := msg.(type) {
	case wake:
		a.decide()
	case *settled:
		a.settle(m)
	case reported:
		a.commit()
	case *halted:
		a.halt(m)
	case beat:
		a.repeat()
	}
}

// decide makes one decision, if anything has asked for one since the last.
func (a *queueActor) decide() {
	view, asked := a.cell.take()
	if !asked {
		return // an earlier wake has decided on it
	}
	device := a.device.view.Load()
	view.others, view.target = a.others(), soonest(a.deadline.Load(), a.device.goal.Load())
	view.lease = a.lease(device)
	view.lease.Refused = view.measured.LeaseRefused
	a.number++
	before := policy.State{Topology: a.topology.issued.state, Plan: a.policy.issued.state}
	d := &decision{
		number: a.number, view: view, before: before,
		request:         requestOf(&view, device),
		commitOnPublish: device.known && !device.local && !device.reporting,
	}
	d.slots, d.look = a.ask(&d.request, &before.Plan)
	d.after = d.before
	if !device.local {
		a.hasSlots(d.request.QueueLen > 0)
	}
	if device.known {
		d.plan, d.after, d.hold, d.err = a.system.cfg.decide(a.name, &d.request, d.before)
		a.topology.issue(d.number, d.after.Topology, d.commitOnPublish)
		a.policy.issue(d.number, d.after.Plan, d.commitOnPublish)
	} else {
		d.err = a.device.unknown()
	}
	a.publishDecision(d, device)
	a.finish(d)
}

// lease is what the worker's resident kernel offers.
func (a *queueActor) lease(d *deviceView) policy.Lease {
	if w := a.device.worker.Load(); w != nil {
		return w.engine.Lease()
	}
	return d.lease
}

// publishDecision publishes a decision and keeps what outlives it.
func (a *queueActor) publishDecision(d *decision, device *deviceView) {
	s := summaryOf(d, &a.system.cfg.Policy)
	a.policy.unannounced = a.assignEdition(s) || a.policy.unannounced
	if s.planned && a.halted.edition == s.edition {
		s.reason = a.halted.reason
	}
	if q := a.quarantine.Load(); q != nil {
		s.reason = q.reason // the decision was in hand when the queue was stopped
	}
	if !device.local {
		a.recent.add(s.number, s.after)
	}
	a.tally.add(d)
	a.latest.Store(s)
	if s.planned {
		a.planned.Store(s)
	}
	if s.planned && s.look == 0 {
		a.usual.Store(s)
	}
	if !device.local {
		a.looked.Store(max(s.look, a.looked.Load())) // one recommendation asks for it
	}
	a.publish(s, a.policy.unannounced, false, d.view.replies)
	a.policy.unannounced = false
}

// assignEdition gives the plan its edition and reports whether it launches something else
// than the plan before.
func (a *queueActor) assignEdition(s *summary) (changed bool) {
	last, planned := a.latest.Load(), a.planned.Load()
	if planned != nil {
		s.edition = planned.edition
	}
	if s.planned && (planned == nil || s.launch() != planned.launch()) {
		s.edition++
		return true
	}
	return last == nil || last.number == 0 || last.planned != s.planned
}

// finish makes room for the next decision once this one is published.
func (a *queueActor) finish(d *decision) {
	a.panics.row.Store(0)
	switch a.cell.decided(&d.view) {
	case dueNow:
		a.dispatch(wakeDecision)
	case dueLater:
		a.decideLater()
	}
	if w := a.device.worker.Load(); w != nil {
		a.system.shell.send(w.self, planned{})
	}
	sink := a.system.cfg.OnDecision
	if sink == nil && d.view.walk == nil {
		return
	}
	input := DecisionInput{
		Worker: a.device.name, Queue: a.name, Decision: d.number, Records: d.view.records,
		Request: d.request, Before: d.before, After: d.after, Plan: d.plan, Err: d.err,
	}
	if sink != nil {
		sink(input)
	}
	d.view.walk.answer(input)
}

// add counts a decision.
func (t *tally) add(d *decision) {
	t.decisions.Add(1)
	if d.err != nil {
		return
	}
	if d.plan.Topology != d.plan.RawTopology {
		t.held.Add(1)
	}
	if was := d.before.Topology.Topology; was != policy.TopologyNone && was != d.after.Topology.Topology {
		t.switches.Add(1)
	}
}

// settle tells both stages how a launch of a decision ended. If a failure took back
// what was issued, the queue decides again: the last recommendation no longer matches
// the state of the stages, and perhaps nobody will report on this queue again. That
// decision launches nothing by itself and takes nothing back, so it causes no further
// one.
func (a *queueActor) settle(m *settled) {
	topology := a.topology.settle(m.decision, m.ok, m.state.Topology)
	plan := a.policy.settle(m.decision, m.ok, m.state.Plan)
	if topology || plan {
		a.dispatch(a.cell.requestDecision())
	}
}

// commit takes the outcomes that a remote worker reported.
func (a *queueActor) commit() {
	a.outcomes = a.cell.takeOutcomes(a.outcomes[:0])
	a.hasSlots(len(a.outcomes) > 0)
	for _, o := range a.outcomes {
		if state, ok := a.recent.find(o.decision); ok {
			a.settle(&settled{launch: o.launch, decision: o.decision, ok: o.ok, state: state})
		}
	}
}

// halt says in the recommendation that the worker has given up on its plan, or no longer.
func (a *queueActor) halt(m *halted) {
	s := a.latest.Load()
	if s == nil || m.edition != s.edition {
		return // the plan has changed meanwhile
	}
	a.halted = *m
	s = s.withReason(m.reason)
	a.latest.Store(s)
	a.publish(s, false, false, nil)
}

// repeat publishes the last recommendation again, and says in the log that work waits for a
// plan. Only a local worker's queue has work here.
func (a *queueActor) repeat() {
	a.hasSlots(false)
	s := a.latest.Load()
	if s == nil {
		return
	}
	a.publish(s, false, true, nil)
	if slots := a.pending.Load(); slots > 0 && !s.planned {
		a.system.complain.Warn("work waits because the queue's decision is no plan", a.device.name, a.name, "slots", slots, "reason", s.reason)
	}
}

func (a *queueActor) restarted(lost message) {
	a.cell.abandon()
	a.recover("queue", lost)
}

// publish sends what the queue decided to its subscribers. The publisher has
// encoded the record when it returns, so one record serves many.
func (f *family) publish(s *summary, changed, heartbeat bool, replies []string) {
	r := recommendations.Get().(*telemetry.Recommendation)
	defer recommendations.Put(r)
	s.write(r, f.system.cfg.validForMs())
	r.Changed, r.Heartbeat = changed, heartbeat
	f.system.publisher.Recommend(f.device.name, f.name, r, replies)
	if heartbeat {
		f.tally.heartbeats.Add(1)
	} else {
		f.tally.recommendations.Add(1)
	}
}
