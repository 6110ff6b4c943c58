package actors

import (
	"ringmaster/megakernel/policy"
)

// policyActor plans, remembers the plan that was issued and the one that was
// committed, and publishes.
type policyActor struct {
	*family
	memory   memory[policy.PlanState]
	recent   recentDecisions
	owed     bool // a change that no recommendation has announced yet
	halted   halted
	outcomes []outcome // reused between looks at the cell
}

func (a *policyActor) receive(msg message) {
	switch m := msg.(type) {
	case *decision:
		a.decide(m)
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

func (a *policyActor) decide(d *decision) {
	d.before.Plan = a.memory.issued.state
	d.after.Plan = d.before.Plan
	if d.err == nil {
		d.plan, d.after, d.err = policy.Decide(&a.system.cfg.Policy, &d.request, d.before)
		a.memory.issue(d.number, d.after.Plan, d.commitOnPublish)
	}
	s := summaryOf(d)
	device := a.device.view.Load()
	s.mode = device.mode
	if a.number(s) {
		a.owed = true
	}
	if s.planned && a.halted.edition == s.edition {
		s.reason = a.halted.reason
	}
	if rest := a.stopped.Load(); rest != nil {
		s.reason = rest.reason // it was on its way when the queue was stopped
	}
	if !device.local {
		a.recent.add(s.number, s.after)
	}
	a.count(d)
	a.latest.Store(s)
	if s.planned {
		a.planned.Store(s)
	}
	a.publish(s, a.owed, false, a.cell.unanswered(&d.view))
	a.owed = false
	a.finish(d)
}

// number gives the plan its edition and reports whether the plan differs from that of
// the decision before.
func (a *policyActor) number(s *summary) (changed bool) {
	last, planned := a.latest.Load(), a.planned.Load()
	if planned != nil {
		s.edition = planned.edition
	}
	if s.planned && (planned == nil || !samePlan(s.plan, planned.plan)) {
		s.edition++
		return true
	}
	return last == nil || last.number == 0 || last.planned != s.planned
}

// finish makes room for the next decision once this one is published.
func (a *policyActor) finish(d *decision) {
	a.panics.row.Store(0)
	d.published.Store(true)
	switch a.cell.decided(&d.view) {
	case dueNow:
		a.decideAgain()
	case dueLater:
		a.system.decideLater(a.family, pace)
	case dueMuchLater:
		a.system.decideLater(a.family, floodedPace)
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

// count keeps the queue's totals.
func (a *policyActor) count(d *decision) {
	a.tally.decisions.Add(1)
	if d.err != nil {
		return
	}
	if d.class.Topology != d.class.Raw {
		a.tally.held.Add(1)
	}
	if was := d.before.Topology.Topology; was != policy.TopologyNone && was != d.class.Topology {
		a.tally.switches.Add(1)
	}
}

// settle takes the outcome of a launch. If it took back what was issued, here
// or in the topology actor, the queue actor has to replace it.
func (a *policyActor) settle(m *settled) {
	if a.memory.settle(m.decision, m.ok, m.state.Plan) {
		m.reverted = true
	}
	if m.reverted {
		a.send(queueStage, reverted{m.drawn})
	}
}

// commit sends the outcomes that a remote worker reported to all stages.
func (a *policyActor) commit() {
	a.outcomes = a.cell.takeOutcomes(a.outcomes[:0])
	for _, o := range a.outcomes {
		if state, ok := a.recent.find(o.decision); ok {
			a.send(queueStage, &settled{launch: o.launch, decision: o.decision, ok: o.ok, state: state})
		}
	}
}

// halt says in the recommendation that the worker has given up on its plan.
func (a *policyActor) halt(m *halted) {
	s := a.latest.Load()
	if s == nil || m.edition != s.edition {
		return // the plan has changed meanwhile
	}
	a.halted = *m
	s = s.because(m.reason)
	a.latest.Store(s)
	a.publish(s, false, false, nil)
}

// repeat publishes the last recommendation again.
func (a *policyActor) repeat() {
	if s := a.latest.Load(); s != nil {
		a.publish(s, false, true, nil)
	}
}

func (a *policyActor) restarted(lost message) { a.revive(policyStage, lost) }
