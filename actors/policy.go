package actors

import "ringmaster/megakernel/policy"

// policyActor plans, remembers the plan that was issued and the one that was
// committed, and publishes.
type policyActor struct {
	*family
	memory   memory[policy.PlanState]
	recent   recentDecisions
	last     *decision // published last, with or without a plan
	edition  uint64    // counts distinct plans
	plan     policy.Recommendation
	halted   halted
	outcomes []outcome // reused between looks at the cell
}

func (a *policyActor) receive(msg message) {
	switch m := msg.(type) {
	case *decision:
		a.decide(m)
	case *settled:
		a.memory.settle(m.decision, m.ok, m.state.Plan)
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
		d.plan, d.after.Plan, d.err = policy.Plan(&a.system.cfg.Policy, &d.observation, &d.class, d.before.Plan)
		a.memory.issue(d.number, d.after.Plan, d.commitOnPublish)
	}
	changed := a.last == nil || (d.err == nil) != (a.last.err == nil)
	if d.err == nil && (a.edition == 0 || !samePlan(d.plan, a.plan)) {
		changed = true
		a.edition++
		a.plan = d.plan
	}
	d.edition = a.edition

	r := recommendationOf(d)
	r.Changed = changed
	r.ValidForMs = a.system.cfg.validForMs()
	if d.err == nil && a.halted.edition == a.edition {
		r.Error = a.halted.reason
	}
	a.recent.add(d)
	a.count(d)
	a.last = d
	a.latest.Store(r)
	if d.err == nil {
		a.planned.Store(d)
	}
	a.system.publisher.Recommend(a.device.name, a.name, r, d.view.replies)
	a.finish(d)
}

// finish makes room for the next decision, after this one is published.
func (a *policyActor) finish(d *decision) {
	a.panics.Store(0)
	if a.cell.decided() {
		a.send(a.queueAddr, wake{})
	}
	if w := a.device.worker.Load(); w != nil && d.err == nil {
		a.send(w.self, planned{})
	}
	if sink := a.system.cfg.OnDecision; sink != nil {
		sink(DecisionInput{
			Worker: a.device.name, Queue: a.name, Decision: d.number, Records: d.view.records,
			Request: d.request, Before: d.before, After: d.after, Plan: d.plan, Err: d.err,
		})
	}
}

// count keeps the queue's totals.
func (a *policyActor) count(d *decision) {
	a.tally.decisions.Add(1)
	a.tally.recommendations.Add(1)
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

// halt says in the recommendation that the worker has given up on its plan.
func (a *policyActor) halt(m *halted) {
	r := a.latest.Load()
	if m.edition != a.edition || r == nil {
		return // the plan has changed meanwhile
	}
	a.halted = *m
	again := *r
	again.Error, again.Changed = m.reason, false
	a.latest.Store(&again)
	a.tally.recommendations.Add(1)
	a.system.publisher.Recommend(a.device.name, a.name, &again, nil)
}

// repeat publishes the last recommendation again.
func (a *policyActor) repeat() {
	r := a.latest.Load()
	if r == nil {
		return
	}
	again := *r
	again.Heartbeat, again.Changed = true, false
	a.tally.heartbeats.Add(1)
	a.system.publisher.Recommend(a.device.name, a.name, &again, nil)
}

func (a *policyActor) restarted(lost message) { a.revive(a.policyAddr, lost) }
