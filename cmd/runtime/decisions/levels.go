package decisions

import (
	"fmt"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry/decisionlog"
)

// levelsOf names the row of the levels that a queue's directors decided.
func levelsOf(queue string) string { return queue + " levels" }

// level replays one level of a graph job that the director decided on the device.
func (r *replayer) level(h *decisionlog.Header, e *decisionlog.Entry) {
	q := r.queue(h, levelsOf(e.Worker+"."+e.Queue))
	q.levels, q.queue = true, e.Worker+"."+e.Queue
	cfg, before := &h.Config, e.Before
	switch next := q.level + 1; {
	case q.last == 0 || q.job != e.Job:
		q.missing += uint64(e.Level)
	case e.Level == next && r.other != nil:
		before = q.own
	case e.Level == next:
		before = q.after // a director goes on from the level before
	case e.Level > next:
		q.missing += uint64(e.Level - next)
	}
	if r.other != nil {
		cfg = r.other
	}
	again := directAgain(cfg, e, before)
	if r.other != nil {
		again.Before = e.Before // differs as the levels before do
	}
	q.job, q.level, q.last, q.after, q.own = e.Job, e.Level, e.Decision+1, e.After, again.After
	r.entries++
	r.settle(q, e, &again, fmt.Sprintf("decision %d, job %d, level %d", e.Decision, e.Job, e.Level))
}

// directAgain is the entry with what the policy decides for the level now.
func directAgain(cfg *policy.Config, e *decisionlog.Entry, before policy.State) decisionlog.Entry {
	again := *e
	again.Before = before
	c, err := policy.Classify(cfg, &e.Request, before.Topology.Topology)
	if err != nil {
		again.After, again.Plan, again.Error = policy.State{Topology: before.Topology}, policy.Recommendation{}, err.Error()
		return again
	}
	again.After = policy.State{Topology: policy.TopologyState{Topology: c.Topology}}
	again.Plan = policy.Recommendation{
		RawTopology: c.Raw, Topology: c.Topology, FrontierDensityBps: c.FrontierDensityBps, MemoryPressureBps: c.MemoryPressureBps, ReasonCount: 1,
	}
	again.Plan.Reasons[0] = c.Reason
	again.Error = ""
	return again
}
