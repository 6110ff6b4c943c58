package actors

import "ringmaster/megakernel/policy"

// topologyActor classifies, and remembers the topology that was issued and the
// one that was committed.
type topologyActor struct {
	*family
	memory memory[policy.TopologyState]
}

func (a *topologyActor) receive(msg message) {
	switch m := msg.(type) {
	case *decision:
		a.classify(m)
	case *settled:
		if a.memory.settle(m.decision, m.ok, m.state.Topology) {
			m.reverted = true
		}
		a.send(policyStage, m)
	}
}

func (a *topologyActor) classify(d *decision) {
	d.before.Topology = a.memory.issued.state
	d.after.Topology = d.before.Topology
	if d.err == nil {
		var err error
		if d.class, err = policy.Classify(&a.system.cfg.Policy, &d.request, d.before.Topology.Topology); err == nil {
			d.after.Topology.Topology = d.class.Topology
		}
		a.memory.issue(d.number, d.after.Topology, d.commitOnPublish)
	}
	a.send(policyStage, d)
}

func (a *topologyActor) restarted(lost message) { a.revive(topologyStage, lost) }
