package actors

import "ringmaster/telemetry"

// take overwrites dst if the record carries the field.
func take[T any](has, bit telemetry.Presence, dst *T, v T) {
	if has&bit != 0 {
		*dst = v
	}
}

// mergeQueue overwrites the gauges that a record carries; absent ones keep
// what the same publisher said last. Counters are the cell's own business.
func mergeQueue(dst, q *telemetry.Queue) {
	h := q.Has
	take(h, telemetry.HasQueueLen, &dst.QueueLen, q.QueueLen)
	take(h, telemetry.HasRequestedWorkerGroups, &dst.RequestedWorkerGroups, q.RequestedWorkerGroups)
	take(h, telemetry.HasMaxWorkgroupSizeX, &dst.MaxWorkgroupSizeX, q.MaxWorkgroupSizeX)
	take(h, telemetry.HasMaxWorkgroupsPerDimension, &dst.MaxWorkgroupsPerDimension, q.MaxWorkgroupsPerDimension)
	take(h, telemetry.HasMaxInvocationsPerWorkgroup, &dst.MaxInvocationsPerWorkgroup, q.MaxInvocationsPerWorkgroup)
	take(h, telemetry.HasRequestedHitCapacity, &dst.RequestedHitCapacity, q.RequestedHitCapacity)
	take(h, telemetry.HasExpectedHitsPerItem, &dst.ExpectedHitsPerItem, q.ExpectedHitsPerItem)
	take(h, telemetry.HasHotOpcodeCount, &dst.HotOpcodeCount, q.HotOpcodeCount)
	take(h, telemetry.HasHotWindowCount, &dst.HotWindowCount, q.HotWindowCount)
	take(h, telemetry.HasMaxPriorityAge, &dst.MaxPriorityAge, q.MaxPriorityAge)
	dst.Has |= h
}

// mergeGraph overwrites the gauges that a record carries.
func mergeGraph(dst, g *telemetry.Graph) {
	h := g.Has
	take(h, telemetry.HasNodeCount, &dst.NodeCount, g.NodeCount)
	take(h, telemetry.HasEdgeCount, &dst.EdgeCount, g.EdgeCount)
	take(h, telemetry.HasFrontierDensityBps, &dst.FrontierDensityBps, g.FrontierDensityBps)
	take(h, telemetry.HasFrontierOutDegreeSum, &dst.FrontierOutDegreeSum, g.FrontierOutDegreeSum)
	take(h, telemetry.HasFrontierNodes, &dst.FrontierNodes, g.FrontierNodes)
	take(h, telemetry.HasUnexploredEdges, &dst.UnexploredEdges, g.UnexploredEdges)
	take(h, telemetry.HasResidentDeviceBytes, &dst.ResidentDeviceBytes, g.ResidentDeviceBytes)
	take(h, telemetry.HasDeviceMemoryBudgetBytes, &dst.DeviceMemoryBudgetBytes, g.DeviceMemoryBudgetBytes)
	take(h, telemetry.HasMemoryPressureBps, &dst.MemoryPressureBps, g.MemoryPressureBps)
	dst.Has |= h
}

// mergePriority overwrites the gauges that a record carries.
func mergePriority(dst, p *telemetry.Priority) {
	take(p.Has, telemetry.HasPriority, &dst.Priority, p.Priority)
	take(p.Has, telemetry.HasCoefficient, &dst.Coefficient, p.Coefficient)
	dst.Has |= p.Has
}
