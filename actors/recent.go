package actors

import "ringmaster/megakernel/policy"

// maxRecent is how many decisions of a remote worker's queue are remembered.
const maxRecent = 128

// recentDecisions remembers what the last maxRecent decisions of a remote
// worker's queue left behind, until its launch reports name them. Consecutive
// decisions that left the same behind share a run, so a queue in a steady
// state needs one.
type recentDecisions struct {
	runs   []run
	newest uint64
}

type run struct {
	first, last uint64
	state       policy.State
}

func (r *recentDecisions) add(decision uint64, after policy.State) {
	r.newest = decision
	if n := len(r.runs); n > 0 && r.runs[n-1].last+1 == decision && r.runs[n-1].state == after {
		r.runs[n-1].last = decision
		return
	}
	old := 0
	for old < len(r.runs) && !r.recent(r.runs[old].last) {
		old++
	}
	if old > 0 {
		r.runs = r.runs[:copy(r.runs, r.runs[old:])]
	}
	r.runs = append(r.runs, run{decision, decision, after})
}

func (r *recentDecisions) find(decision uint64) (policy.State, bool) {
	if !r.recent(decision) {
		return policy.State{}, false
	}
	for i := len(r.runs) - 1; i >= 0; i-- {
		if r.runs[i].first <= decision && decision <= r.runs[i].last {
			return r.runs[i].state, true
		}
	}
	return policy.State{}, false
}

func (r *recentDecisions) recent(decision uint64) bool { return decision+maxRecent > r.newest }
