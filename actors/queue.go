package actors

import (
	"slices"
	"time"

	"ringmaster/actors/stage"
	"ringmaster/megakernel/policy"
)

// queueActor decides for one queue. On a wake it takes the folded view of its
// cell, joins it with what is known of the worker and the tuner, and runs the
// stages of the decision in order: topology, then policy, both by policy.Decide.
// It draws the decision numbers, publishes, and settles launches.
type queueActor struct {
	*family
	number   uint64 // of the last decision
	storing  storing
	topology topologyStage
	policy   policyStage
	recent   stage.Recent
	outcomes []outcome // reused between looks at the cell
	lately   []outcome // settled, the newest; with a store
	slotsAt  time.Time // when records said last that a queue elsewhere has slots; zero: it counts as without work
}

// topologyStage remembers how launches walk: the topology that was issued and
// the one that was committed.
type topologyStage struct {
	stage.Hysteresis[policy.TopologyState]
}

// policyStage remembers the plan that was issued and the one that was committed.
type policyStage struct {
	stage.Hysteresis[policy.PlanState]
	unannounced bool // a changed plan that no recommendation has announced yet
}

func (a *queueActor) receive(msg message) {
	if a.storing.postpones(msg) {
		return
	}
	switch m := msg.(type) {
	case wake:
		a.decide()
	case owned:
		a.tryAgain()
		if a.storing.under == nil {
			a.decide()
		}
	case heard:
		a.follow()
	case *written:
		a.onWritten(m)
	case *lookedUp:
		a.onLookedUp(m)
	case *settled:
		a.settle(m)
	case reported:
		a.commit()
	case halted:
		a.restate(m.edition)
	case beat:
		a.repeat()
	}
}

// decide makes one decision, if anything has asked for one since the last and it is this
// process that decides. It holds at once, or when the store has it.
func (a *queueActor) decide() {
	if !a.decidesHere() {
		return // the cell keeps what has come
	}
	view := a.cell.take()
	if view == nil {
		return // an earlier wake has decided on it
	}
	d := a.make(view, a.device.view.Load())
	if a.system.cfg.Store != nil {
		a.write(d, view)
		return
	}
	a.hold(d)
	a.publish(d, d.changed, false, view.replies)
	a.timed(view)
	a.policy.unannounced = false
	a.finish(d, view)
}

// make decides from what is known. It changes nothing: the decision may be one that does not hold.
func (a *queueActor) make(v *view, device *deviceView) *decision {
	v.others, v.target = a.others(), soonest(a.deadline.Load(), a.device.sharing.goal.Load())
	v.lease = a.lease(device)
	v.lease.Refused = v.measured.LeaseRefused
	d := &decision{at: time.Now(), commitOnPublish: device.known && !device.local && !device.reporting, known: device.known, local: device.local}
	d.Worker, d.Queue, d.Decision, d.Records = a.device.name, a.name, a.number+1, v.records
	d.Before = policy.State{Topology: a.topology.Issued.State, Plan: a.policy.Issued.State}
	d.After = d.Before
	d.Request = requestOf(v, device)
	d.slots, d.look = a.ask(&d.Request, &d.Before.Plan)
	d.Ran, d.hostNs = v.runs, v.measured.HostNs
	cfg := &a.system.cfg
	if d.look == 0 && cfg.Policy.AuditLaunches != 0 {
		d.Request.Draw = policy.Draw(d.Worker, d.Queue, d.Decision)
	}
	if device.known {
		d.Plan, d.After, d.hold, d.Err = cfg.decide(a.name, &d.Request, d.Before)
	} else {
		d.Err = a.device.unknown()
	}
	if d.Err != nil {
		d.explain(&cfg.Policy)
	}
	a.compare(d)
	d.changed = d.changed || a.policy.unannounced
	return d
}

// hold has a decision count: both stages issue what it leaves, and it is the queue's newest.
func (a *queueActor) hold(d *decision) {
	a.number = d.Decision
	if d.known {
		a.topology.Issue(d.Decision, d.After.Topology, d.commitOnPublish)
		a.policy.Issue(d.Decision, d.After.Plan, d.commitOnPublish)
	}
	if !d.local {
		a.hasSlots(d.Request.QueueLen > 0)
		a.recent.Add(d.Decision, d.After)
		a.looked.Store(max(d.look, a.looked.Load())) // one recommendation asks for it
	}
	before := a.latest.Load()
	a.cell.count(func(n *Counts) {
		d.count(n)
		if before != nil && before.edition != d.edition {
			n.PlansChanged++
		}
	})
	a.policy.unannounced = d.changed
	a.show(d)
}

// timed tells how long the first record that a decision answers has waited for it. That record may be much older
// where another process has decided until now.
func (a *queueActor) timed(v *view) {
	if v.since.IsZero() || a.storing.standing.State == StandsBy {
		return
	}
	a.system.cfg.Meter.Decided(time.Since(v.since))
}

// lease is what the worker's resident kernel offers.
func (a *queueActor) lease(d *deviceView) policy.Lease {
	if w := a.device.worker.Load(); w != nil {
		return w.engine.Lease()
	}
	return d.lease
}

// compare gives a decision's plan its edition, and notes whether it launches something else than
// the plan before.
func (a *queueActor) compare(d *decision) {
	last, planned := a.latest.Load(), a.planned.Load()
	if planned != nil {
		d.edition = planned.edition
	}
	switch {
	case d.planned() && (planned == nil || d.launch() != planned.launch()):
		d.edition++
		d.changed = true
	default:
		d.changed = last == nil || last.Decision == 0 || last.planned() != d.planned()
	}
}

// show makes a decision the queue's newest, for whoever launches and reports.
func (a *queueActor) show(d *decision) {
	a.latest.Store(d)
	if d.planned() {
		a.planned.Store(d)
		if !d.tries() {
			a.usual.Store(d)
		}
	}
}

// finish makes room for the next decision once this one is published.
func (a *queueActor) finish(d *decision, v *view) {
	a.panics.row.Store(0)
	switch a.cell.decided(v) {
	case dueNow:
		a.dispatch(wakeDecision)
	case dueLater:
		a.decideLater()
	}
	if w := a.device.worker.Load(); w != nil {
		a.system.shell.send(w.self, planned{})
	}
	if sink := a.system.cfg.OnDecision; sink != nil {
		sink(d.DecisionInput)
	}
	v.walk.answer(&d.DecisionInput)
}

// count counts a decision.
func (d *decision) count(n *Counts) {
	n.Decisions++
	if d.Err != nil {
		return
	}
	if d.Plan.Topology != d.Plan.RawTopology {
		n.SwitchesHeld++
	}
	if was := d.Before.Topology.Topology; was != policy.TopologyNone && was != d.After.Topology.Topology {
		n.TopologySwitches++
	}
}

// settle tells both stages how a launch of a decision ended. If a failure took back
// what was issued, the queue decides again: the last recommendation no longer matches
// the state of the stages, and perhaps nobody will report on this queue again. That
// decision launches nothing by itself and takes nothing back, so it causes no further
// one.
func (a *queueActor) settle(m *settled) {
	topology := a.topology.Settle(m.decision, m.ok, m.state.Topology)
	plan := a.policy.Settle(m.decision, m.ok, m.state.Plan)
	if topology || plan {
		a.dispatch(a.cell.requestDecision())
	}
}

// commit takes the outcomes that a remote worker reported. They settle decisions that another
// process may have made.
func (a *queueActor) commit() {
	a.follow()
	a.outcomes = a.cell.takeOutcomes(a.outcomes[:0])
	a.hasSlots(len(a.outcomes) > 0)
	a.settleAll(a.outcomes)
}

// settleAll settles launches of a remote worker.
func (a *queueActor) settleAll(outcomes []outcome) {
	for _, o := range outcomes {
		if d := a.latest.Load(); d != nil && d.Decision == o.Decision && d.audits() {
			a.dispatch(a.cell.requestDecision()) // an audit is for one launch
		}
		if state, ok := a.recent.Find(o.Decision); ok {
			a.settle(&settled{launch: o.Launch, decision: o.Decision, ok: o.OK, state: state})
		}
	}
	if a.cell.carried {
		a.lately = append(a.lately, outcomes...)
		a.lately = a.lately[max(0, len(a.lately)-maxOutcomes):]
	}
}

// settleAnew settles the launches that another process knew and had not settled when it decided,
// and those that it did not know. Its hysteresis, which has all others, has been taken over.
func (a *queueActor) settleAnew(m *cellMemory) {
	known := a.cell.reportsOf(m)
	anew := slices.Clone(m.Outcomes)
	for _, o := range append(a.lately, a.cell.takeOutcomes(nil)...) {
		if o.Seq > known {
			anew = append(anew, o)
		}
	}
	a.lately = nil
	a.settleAll(anew)
}

// restate says in the recommendation that the worker has given up on its plan, or no longer.
func (a *queueActor) restate(edition uint64) {
	if d := a.repeated(); d != nil && d.edition == edition { // else the plan has changed meanwhile
		a.publish(d, false, false, nil)
	}
}

// repeat publishes the last recommendation again, and says in the log that work waits for a
// plan. Only a local worker's queue has work here.
func (a *queueActor) repeat() {
	a.hasSlots(false)
	a.tryAgain()
	d := a.repeated()
	if d == nil || a.storing.fence.Busy() && !a.storing.fence.Reading() {
		return // what is being written is about to replace it
	}
	a.publish(d, false, true, nil)
	if slots := a.pending.Load(); slots > 0 && !d.planned() {
		a.system.complain.Warn("work waits because the queue's decision is no plan", a.device.name, a.name, "slots", slots, "error", d.reason)
	}
}

func (a *queueActor) restarted(lost message) {
	a.panicked(lost)
	a.recover("queue", lost)
}

// publish sends what the queue decided to its subscribers. The publisher has
// encoded the record when it returns, so one record serves many.
func (f *family) publish(d *decision, changed, heartbeat bool, replies []string) {
	r := f.recommendation(d)
	r.Changed, r.Heartbeat = changed, heartbeat
	f.system.publisher.Recommend(f.device.name, f.name, r, replies)
	f.cell.count(func(n *Counts) {
		if heartbeat {
			n.Heartbeats++
		} else {
			n.Recommendations++
		}
	})
}
