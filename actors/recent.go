package actors

import "ringmaster/megakernel/policy"

// recentDecisions remembers what the last decisions of a remote worker's queue
// left behind, until its launch reports name them.
type recentDecisions struct {
	ring [128]mark[policy.State]
}

func (r *recentDecisions) add(d *decision) {
	r.ring[d.number%uint64(len(r.ring))] = mark[policy.State]{d.after, d.number}
}

func (r *recentDecisions) find(decision uint64) (policy.State, bool) {
	m := r.ring[decision%uint64(len(r.ring))]
	return m.state, m.decision == decision && decision != 0
}

// commit sends the outcomes that a remote worker reported down the line.
func (a *policyActor) commit() {
	a.outcomes = a.cell.takeOutcomes(a.outcomes[:0])
	for _, o := range a.outcomes {
		if state, ok := a.recent.find(o.decision); ok {
			a.send(a.queueAddr, &settled{launch: o.launch, decision: o.decision, ok: o.ok, state: state})
		}
	}
}
