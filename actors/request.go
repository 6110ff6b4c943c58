package actors

import (
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
)

// deviceView is what a decision needs to know of the queue's worker.
type deviceView struct {
	limits       policy.Limits
	memoryBudget uint64 // bytes, 0: none
	known        bool
	local        bool
	reporting    bool   // the remote worker has reported a launch
	mode         string // of its engine's launches, "" if nobody said
	identity     string // of device and driver, the same for all devices of a kind; "" if not known
}

// requestOf puts a decision's request together from the queue's own records,
// its worker and the tuner's view. A budget of 0 is "none", so the smaller of
// two given budgets holds.
func requestOf(v *view, d *deviceView, tuned *session.View) policy.Request {
	q, g := &v.queue, v.graphs()
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
	}
	if !q.Has.Has(telemetry.HasQueueLen) && v.hasBacklog {
		r.QueueLen = v.backlog
	}
	v.walk.join(&r)
	if tuned != nil {
		r.Tuned = tuned.For(r.QueueLen)
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
	p.RawTopology, p.ScheduledGroups, p.Tuned = 0, 0, 0
	p.Reasons, p.ReasonCount = [policy.MaxReasons]policy.Reason{}, 0
	return p
}
