package telemetry

// Merge overwrites what newer carries and keeps the rest: the state of a
// publisher after two of its records.
func (q *Queue) Merge(newer *Queue) {
	h := newer.Has
	if h == HasAllQueue {
		*q = *newer
		return
	}
	overwrite(h, HasQueueLen, &q.QueueLen, newer.QueueLen)
	overwrite(h, HasRequestedWorkerGroups, &q.RequestedWorkerGroups, newer.RequestedWorkerGroups)
	overwrite(h, HasMaxWorkgroupSizeX, &q.MaxWorkgroupSizeX, newer.MaxWorkgroupSizeX)
	overwrite(h, HasMaxWorkgroupsPerDimension, &q.MaxWorkgroupsPerDimension, newer.MaxWorkgroupsPerDimension)
	overwrite(h, HasMaxInvocationsPerWorkgroup, &q.MaxInvocationsPerWorkgroup, newer.MaxInvocationsPerWorkgroup)
	overwrite(h, HasRequestedHitCapacity, &q.RequestedHitCapacity, newer.RequestedHitCapacity)
	overwrite(h, HasExpectedHitsPerItem, &q.ExpectedHitsPerItem, newer.ExpectedHitsPerItem)
	overwrite(h, HasHotOpcodeCount, &q.HotOpcodeCount, newer.HotOpcodeCount)
	overwrite(h, HasHotWindowCount, &q.HotWindowCount, newer.HotWindowCount)
	overwrite(h, HasMaxPriorityAge, &q.MaxPriorityAge, newer.MaxPriorityAge)
	overwrite(h, HasRequeueCount, &q.RequeueCount, newer.RequeueCount)
	overwrite(h, HasExecutedCount, &q.ExecutedCount, newer.ExecutedCount)
	q.Has |= h
}

// Merge overwrites what newer carries and keeps the rest.
func (g *Graph) Merge(newer *Graph) {
	h := newer.Has
	overwrite(h, HasNodeCount, &g.NodeCount, newer.NodeCount)
	overwrite(h, HasEdgeCount, &g.EdgeCount, newer.EdgeCount)
	overwrite(h, HasFrontierDensityBps, &g.FrontierDensityBps, newer.FrontierDensityBps)
	overwrite(h, HasFrontierOutDegreeSum, &g.FrontierOutDegreeSum, newer.FrontierOutDegreeSum)
	overwrite(h, HasFrontierNodes, &g.FrontierNodes, newer.FrontierNodes)
	overwrite(h, HasUnexploredEdges, &g.UnexploredEdges, newer.UnexploredEdges)
	overwrite(h, HasResidentDeviceBytes, &g.ResidentDeviceBytes, newer.ResidentDeviceBytes)
	overwrite(h, HasDeviceMemoryBudgetBytes, &g.DeviceMemoryBudgetBytes, newer.DeviceMemoryBudgetBytes)
	overwrite(h, HasMemoryPressureBps, &g.MemoryPressureBps, newer.MemoryPressureBps)
	overwrite(h, HasHitCount, &g.HitCount, newer.HitCount)
	overwrite(h, HasRequeuedHitCount, &g.RequeuedHitCount, newer.RequeuedHitCount)
	g.Has |= h
}

// Merge overwrites what newer carries and keeps the rest.
func (p *Priority) Merge(newer *Priority) {
	overwrite(newer.Has, HasPriority, &p.Priority, newer.Priority)
	overwrite(newer.Has, HasCoefficient, &p.Coefficient, newer.Coefficient)
	p.Has |= newer.Has
}

func overwrite[T any](have, field Presence, dst *T, value T) {
	if have.Has(field) {
		*dst = value
	}
}
