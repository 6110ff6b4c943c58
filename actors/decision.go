package actors

import (
	"errors"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
	"ringmaster/telemetry/decisionlog"
)

// DecisionInput is what one decision depended on: policy.Decide on Request and
// Before gives the same plan and After again, without any of the timing.
type DecisionInput struct {
	Worker, Queue string
	Decision      uint64        // from 1
	Records       SequenceRange // records folded since the decision before
	Request       policy.Request
	Before, After policy.State
	Plan          policy.Recommendation // zero if there was none
	Ran           decisionlog.Runs      // launches since the decision before, where decisions are audited
	Err           error                 // why there was no plan, nil if there was one; ErrNoLimits: the policy was not asked
}

// SequenceRange names consecutive records of one publisher.
type SequenceRange struct {
	Incarnation uint64
	First, Last uint64
	SentNs      int64 // of the last one
}

// Entry is the input as the log of decisions has it.
func (in *DecisionInput) Entry() decisionlog.Entry {
	e := decisionlog.Entry{
		Worker: in.Worker, Queue: in.Queue, Decision: in.Decision,
		Records: decisionlog.Records{
			Incarnation: decisionlog.ID(in.Records.Incarnation), First: in.Records.First, Last: in.Records.Last, SentNs: in.Records.SentNs,
		},
		Request: in.Request, Before: in.Before, Plan: in.Plan, After: in.After, Ran: in.Ran,
	}
	if in.Err != nil {
		e.Error = in.Err.Error()
		e.Undecided = errors.Is(in.Err, ErrNoLimits)
	}
	return e
}

// decision is enough of one to repeat its recommendation, to launch it and to settle its
// launch. It is constant once it is shared.
type decision struct {
	DecisionInput
	at              time.Time             // when it was made, or taken over
	edition         uint64                // counts the distinct plans of the queue
	changed         bool                  // it launches something else than the plan before, or says that there is none
	known, local    bool                  // the worker's device, when it was made
	fenced          bool                  // the store has it
	reason          string                // why there is no plan
	walk            policy.Classification // how the queue would have been walked, where there is no plan
	commitOnPublish bool                  // the worker has never reported a launch
	slots           uint32                // of a launch, about which the tuner was asked
	look            uint64                // number of the look that the tuner asked for, 0: none
	hold            time.Duration         // see Decider
	hostNs          uint64                // see policy.Measured
}

// planned says whether there is a plan. There is none before the first decision.
func (d *decision) planned() bool { return d.Decision != 0 && d.Err == nil }

// explain says why there is no plan, and how the queue would have been walked, if that is known.
func (d *decision) explain(cfg *policy.Config) {
	d.reason = d.Err.Error()
	if !errors.Is(d.Err, ErrNoLimits) {
		d.walk, _ = policy.Classify(cfg, &d.Request, d.Before.Topology.Topology)
	}
}

// tries says whether the decision is for one launch: a look of the tuner, or an audit.
func (d *decision) tries() bool { return d.look != 0 || d.audits() }

// audits says whether the plan's geometry was drawn at random.
func (d *decision) audits() bool { return d.Request.Draw != 0 && d.Plan.Audited() }

// letGo ends the offer of a look or an audit, and asks for the next plan.
func (f *family) letGo(d *decision) {
	if d.audits() {
		f.audited.Store(d.Decision)
	} else {
		f.looked.Store(d.look)
	}
	f.dispatch(f.cell.requestDecision())
}

// first says whether the launch is cut short because none was measured.
func (d *decision) first() bool { return d.Request.Unmeasured && d.Request.OtherQueues != 0 }

// launch is what the decision has launched.
func (d *decision) launch() policy.Launch { return d.Plan.Launch(&d.After) }

// forTuner is what the tuner needs to know of the plan behind a launch. What an audit ran at counts as
// asked for: that it is another geometry than the tuner's says nothing of that one. Where others who wait
// have shortened the launch, that its depth is another says nothing of what the tuner asked for.
func (d *decision) forTuner() *session.Plan {
	asked := d.Request.Tuned
	if d.audits() {
		given := d.Plan.Geometry()
		asked.Width, asked.Groups, asked.Chunk = given.Width, given.Groups, given.Chunk
	}
	if d.After.Plan.TurnSlots != 0 && asked.Depth > d.Plan.BatchDepth {
		asked.Depth = 0
	}
	return &session.Plan{Asked: asked, Given: d.Plan.Geometry(), Slots: d.slots, Look: d.look}
}

// unlaunched is why nobody launches a decision, "" if somebody may.
func (f *family) unlaunched(d *decision) string {
	if q := f.quarantine.Load(); q != nil {
		return q.reason
	}
	if h := f.halted.Load(); h != nil && h.edition == d.edition && d.planned() {
		return h.reason
	}
	return d.reason
}

// recommendation is the wire form of a decision.
func (f *family) recommendation(d *decision) *telemetry.Recommendation {
	p := &d.Plan
	r := &telemetry.Recommendation{
		Decision:            d.Decision,
		AnsweredIncarnation: d.Records.Incarnation,
		AnsweredSeq:         d.Records.Last,
		AnsweredSentNs:      d.Records.SentNs,
		Error:               f.unlaunched(d),
		QueueLen:            d.Request.QueueLen,
		FrontierDensityBps:  p.FrontierDensityBps,
		MemoryPressureBps:   p.MemoryPressureBps,
		CommittedOnPublish:  d.commitOnPublish,
		LaunchMode:          p.LaunchMode.String(),
		ExecutionMode:       p.Mode.String(),
		Topology:            p.Topology.String(),
		SwitchHeld:          p.Topology != p.RawTopology,
		MemoryBudgetBytes:   d.Request.MemoryBudgetBytes,
		ValidForMs:          f.validForMs(),
		Fenced:              d.fenced,
	}
	if !d.planned() {
		r.FrontierDensityBps, r.MemoryPressureBps = d.walk.FrontierDensityBps, d.walk.MemoryPressureBps
		r.Topology, r.SwitchHeld = d.walk.Topology.String(), d.walk.Topology != d.walk.Raw
		return r
	}
	r.WorkgroupSizeX, r.Groups, r.ClaimChunk = p.WorkgroupSizeX, p.DispatchGrid[0], p.ClaimChunk
	r.BatchDepth, r.DispatchGrid, r.WorkerGroups = p.BatchDepth, p.DispatchGrid, p.WorkerGroups
	r.HitCapacity, r.InFlight = p.HitCapacity, p.InFlight
	for i := range p.Reasons[:p.ReasonCount] {
		w := &p.Reasons[i]
		r.Reasons = append(r.Reasons, telemetry.Reason{Rule: w.Rule.String(), Threshold: w.Threshold, Value: w.Value, Distance: w.Distance, Held: w.Held})
	}
	return r
}

// decision is what the maker of a message decided.
func (left *inheritance) decision(m *telemetry.Stored) *decision {
	e := &left.decided.Entry
	d := &decision{at: time.Now(), edition: left.memory.Edition, commitOnPublish: m.Recommendation.CommittedOnPublish, fenced: true, reason: e.Error}
	d.DecisionInput = DecisionInput{
		Worker: e.Worker, Queue: e.Queue, Decision: e.Decision,
		Records: SequenceRange{uint64(e.Records.Incarnation), e.Records.First, e.Records.Last, e.Records.SentNs},
		Request: e.Request, Before: e.Before, After: e.After, Plan: e.Plan, Ran: e.Ran,
	}
	switch {
	case e.Undecided:
		d.Err = ErrNoLimits
	case e.Error != "":
		d.Err = errors.New(e.Error)
	}
	return d
}
