package actors

import (
	"errors"
	"sync"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
)

// summary is what outlives a decision: enough to repeat its recommendation, to
// launch it and to settle its launch. It is constant once it is shared.
type summary struct {
	number  uint64
	edition uint64 // counts the distinct plans of the queue
	records SequenceRange
	planned bool   // plan is valid
	reason  string // why there is no plan, or why nobody launches it

	queueLen        uint32
	densityBps      uint16
	pressureBps     uint16
	topology, raw   policy.Topology
	commitOnPublish bool
	limits          policy.Limits
	tuned           policy.Geometry // what the tuner asked for
	slots           uint32          // of a launch, about which it was asked
	look            uint64          // number of the look that tuned is, 0: none
	memoryBudget    uint64
	cost            policy.Cost
	first           bool // its launch is cut short because none was measured
	plan            policy.Recommendation
	after           policy.State
	hold            time.Duration // see Decider
}

// summaryOf is the summary of a decision. One without a plan still says how the queue
// would have been walked, if that is known.
func summaryOf(d *decision, cfg *policy.Config) *summary {
	s := &summary{
		number: d.number, records: d.view.records, planned: d.err == nil,
		queueLen: d.request.QueueLen, densityBps: d.plan.FrontierDensityBps, pressureBps: d.plan.MemoryPressureBps,
		topology: d.plan.Topology, raw: d.plan.RawTopology, commitOnPublish: d.commitOnPublish,
		limits: d.request.Limits, tuned: d.request.Tuned, slots: d.slots, look: d.look, memoryBudget: d.request.MemoryBudgetBytes,
		cost: d.request.Cost, first: d.request.Unmeasured && d.request.OtherQueues != 0,
		plan: d.plan, after: d.after, hold: d.hold,
	}
	if d.err == nil {
		return s
	}
	s.reason = d.err.Error()
	if !errors.Is(d.err, ErrNoLimits) {
		walk, _ := policy.Classify(cfg, &d.request, d.before.Topology.Topology)
		s.topology, s.raw, s.densityBps, s.pressureBps = walk.Topology, walk.Raw, walk.FrontierDensityBps, walk.MemoryPressureBps
	}
	return s
}

// launch is what the decision has launched.
func (s *summary) launch() policy.Launch { return s.plan.Launch(&s.after) }

// forTuner is what the tuner needs to know of the plan behind a launch. Where others who wait
// have shortened the launch, that its depth is another says nothing of what the tuner asked for.
func (s *summary) forTuner() *session.Plan {
	asked := s.tuned
	if s.after.Plan.TurnSlots != 0 && asked.Depth > s.plan.BatchDepth {
		asked.Depth = 0
	}
	return &session.Plan{Asked: asked, Given: s.plan.Geometry(), Slots: s.slots, Look: s.look}
}

// withReason is the same decision with a reason why it is not carried out.
func (s *summary) withReason(reason string) *summary {
	again := *s
	again.reason = reason
	return &again
}

// recommendation is the wire form of a decision.
func (s *summary) recommendation(validForMs uint32) *telemetry.Recommendation {
	r := new(telemetry.Recommendation)
	s.write(r, validForMs)
	return r
}

// write makes r the wire form of a decision, reusing the room of its reasons.
func (s *summary) write(r *telemetry.Recommendation, validForMs uint32) {
	p := &s.plan
	*r = telemetry.Recommendation{
		Decision:            s.number,
		AnsweredIncarnation: s.records.Incarnation,
		AnsweredSeq:         s.records.Last,
		AnsweredSentNs:      s.records.SentNs,
		Error:               s.reason,
		QueueLen:            s.queueLen,
		FrontierDensityBps:  s.densityBps,
		MemoryPressureBps:   s.pressureBps,
		CommittedOnPublish:  s.commitOnPublish,
		LaunchMode:          p.LaunchMode.String(),
		ExecutionMode:       p.Mode.String(),
		Topology:            s.topology.String(),
		SwitchHeld:          s.topology != s.raw,
		MemoryBudgetBytes:   s.memoryBudget,
		ValidForMs:          validForMs,
		Reasons:             r.Reasons[:0],
	}
	if !s.planned {
		return
	}
	r.WorkgroupSizeX, r.Groups, r.ClaimChunk = p.WorkgroupSizeX, p.DispatchGrid[0], p.ClaimChunk
	r.BatchDepth, r.DispatchGrid, r.WorkerGroups = p.BatchDepth, p.DispatchGrid, p.WorkerGroups
	r.HitCapacity, r.InFlight = p.HitCapacity, p.InFlight
	for i := range p.Reasons[:p.ReasonCount] {
		w := &p.Reasons[i]
		r.Reasons = append(r.Reasons, telemetry.Reason{Rule: w.Rule.String(), Threshold: w.Threshold, Value: w.Value, Distance: w.Distance, Held: w.Held})
	}
}

var recommendations = sync.Pool{New: func() any { return new(telemetry.Recommendation) }}
