package actors

import (
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// deviceView is what a decision needs to know of the queue's worker.
type deviceView struct {
	limits       policy.Limits
	memoryBudget uint64 // bytes, 0: none
	known        bool
	local        bool
	reporting    bool // the remote worker has reported a launch
}

// requestOf puts a decision's request together from the queue's own records,
// its worker and the tuner's view. A budget of 0 is "none", so the smaller of
// two given budgets holds.
func requestOf(v *view, d *deviceView, tunedWidth uint32) policy.Request {
	q, g := &v.queue, &v.graph
	r := policy.Request{
		QueueLen:              q.QueueLen,
		RequestedWorkerGroups: q.RequestedWorkerGroups,
		Limits: d.limits.Lower(policy.Limits{
			MaxWorkgroupSizeX:          q.MaxWorkgroupSizeX,
			MaxWorkgroupsPerDimension:  q.MaxWorkgroupsPerDimension,
			MaxInvocationsPerWorkgroup: q.MaxInvocationsPerWorkgroup,
		}),
		RequestedHitCapacity: q.RequestedHitCapacity,
		ExpectedHitsPerItem:  q.ExpectedHitsPerItem,
		HotOpcodeCount:       q.HotOpcodeCount,
		HotWindowCount:       q.HotWindowCount,
		RequeueCount:         v.requeues,
		MaxPriorityAge:       q.MaxPriorityAge,
		GraphNodeCount:       g.NodeCount,
		GraphEdgeCount:       g.EdgeCount,
		FrontierDensityBps:   g.FrontierDensityBps,
		MemoryPressureBps:    g.MemoryPressureBps,
		FrontierOutDegreeSum: g.FrontierOutDegreeSum,
		FrontierNodes:        g.FrontierNodes,
		UnexploredEdges:      g.UnexploredEdges,
		ResidentDeviceBytes:  g.ResidentDeviceBytes,
		MemoryBudgetBytes:    g.DeviceMemoryBudgetBytes,
		TunedWidth:           tunedWidth,
	}
	if !q.Has.Has(telemetry.HasQueueLen) && v.hasBacklog {
		r.QueueLen = v.backlog
	}
	if r.MemoryBudgetBytes == 0 || d.memoryBudget != 0 && d.memoryBudget < r.MemoryBudgetBytes {
		r.MemoryBudgetBytes = d.memoryBudget
	}
	if g.Has.Has(telemetry.HasFrontierDensityBps) {
		r.Present |= policy.HasFrontierDensity
	}
	if g.Has.Has(telemetry.HasMemoryPressureBps) {
		r.Present |= policy.HasMemoryPressure
	}
	if g.Has.Has(telemetry.HasFrontierOutDegreeSum | telemetry.HasFrontierNodes | telemetry.HasUnexploredEdges) {
		r.Present |= policy.HasFrontierEdges
	}
	return r
}

// geometryOf is the geometry of a plan as launch reports carry it.
func geometryOf(p *policy.Recommendation) telemetry.Geometry {
	return telemetry.Geometry{WorkgroupSizeX: p.WorkgroupSizeX, Groups: p.DispatchGrid[0], ClaimChunk: p.ClaimChunk}
}

// samePlan reports whether two decisions ask for the same launch. What they
// were based on may differ.
func samePlan(a, b policy.Recommendation) bool {
	return withoutEvidence(a) == withoutEvidence(b)
}

func withoutEvidence(p policy.Recommendation) policy.Recommendation {
	p.FrontierDensityBps, p.MemoryPressureBps = 0, 0
	p.RawTopology, p.ScheduledGroups = 0, 0
	p.Reasons, p.ReasonCount = [policy.MaxReasons]policy.Reason{}, 0
	return p
}

// recommendationOf is the wire form of a decision.
func recommendationOf(d *decision) *telemetry.Recommendation {
	p := &d.plan
	r := &telemetry.Recommendation{
		Decision:            d.number,
		AnsweredIncarnation: d.view.records.Incarnation,
		AnsweredSeq:         d.view.records.Last,
		AnsweredSentNs:      d.view.records.SentNs,
		QueueLen:            d.request.QueueLen,
		FrontierDensityBps:  d.observation.FrontierDensityBps,
		MemoryPressureBps:   d.observation.MemoryPressureBps,
		CommittedOnPublish:  d.commitOnPublish,
		LaunchMode:          "wave",
		Pressure:            p.Pressure.String(),
		ExecutionMode:       p.Mode.String(),
		Topology:            d.class.Topology.String(),
		SwitchHeld:          d.class.Topology != d.class.Raw,
		MemoryBudgetBytes:   d.request.MemoryBudgetBytes,
	}
	if d.err != nil {
		r.Error = d.err.Error()
		return r
	}
	r.WorkgroupSizeX, r.Groups, r.ClaimChunk = p.WorkgroupSizeX, p.DispatchGrid[0], p.ClaimChunk
	r.BatchDepth, r.SlotCount, r.DispatchGrid = p.BatchDepth, p.SlotCount, p.DispatchGrid
	r.WorkerGroups, r.HitCapacity = p.WorkerGroups, p.HitCapacity
	r.PromoteHotOpcodes, r.PromoteHotWindows, r.AgePriorityWork = p.PromoteHotOpcodes, p.PromoteHotWindows, p.AgePriorityWork
	r.EstimatedPeakBytes = p.EstimatedPeakBytes
	r.Reasons = make([]telemetry.Reason, p.ReasonCount)
	for i := range r.Reasons {
		w := &p.Reasons[i]
		r.Reasons[i] = telemetry.Reason{Rule: w.Rule.String(), Threshold: w.Threshold, Value: w.Value, Distance: w.Distance, Held: w.Held}
	}
	return r
}
