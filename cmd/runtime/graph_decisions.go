package main

import (
	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry/decisionlog"
)

// logLevels appends what a director decided to the decision log, so that it can be replayed.
func (w *graphWalker) logLevels(job *frontier.Job, levels []frontier.Level) {
	if w.log == nil || !job.Ruled() {
		return
	}
	for i := range levels {
		l := &levels[i]
		e := decisionlog.Entry{
			Worker: w.worker, Queue: w.queue, Decision: w.begun.Decision, Director: true, Job: w.job, Level: l.Level,
			Request: w.situation.Request(&l.View),
			Before:  policy.State{Topology: policy.TopologyState{Topology: l.Previous}},
			After:   policy.State{Topology: policy.TopologyState{Topology: l.Topology}},
		}
		e.Plan = policy.Recommendation{
			RawTopology: l.Raw, Topology: l.Topology, FrontierDensityBps: e.Request.FrontierDensityBps, MemoryPressureBps: job.MemoryPressureBps, ReasonCount: 1,
		}
		e.Plan.Reasons[0] = l.Reason
		w.log.AddWaiting(&e)
	}
}
