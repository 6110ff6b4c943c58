package natsio

import "ringmaster/telemetry"

// The merge functions overwrite what src carries and keep the rest of dst.

func mergeQueue(dst, src *telemetry.Queue) {
	h := src.Has
	overwrite(h, telemetry.HasQueueLen, &dst.QueueLen, src.QueueLen)
	overwrite(h, telemetry.HasRequestedWorkerGroups, &dst.RequestedWorkerGroups, src.RequestedWorkerGroups)
	overwrite(h, telemetry.HasMaxWorkgroupSizeX, &dst.MaxWorkgroupSizeX, src.MaxWorkgroupSizeX)
	overwrite(h, telemetry.HasMaxWorkgroupsPerDimension, &dst.MaxWorkgroupsPerDimension, src.MaxWorkgroupsPerDimension)
	overwrite(h, telemetry.HasMaxInvocationsPerWorkgroup, &dst.MaxInvocationsPerWorkgroup, src.MaxInvocationsPerWorkgroup)
	overwrite(h, telemetry.HasRequestedHitCapacity, &dst.RequestedHitCapacity, src.RequestedHitCapacity)
	overwrite(h, telemetry.HasExpectedHitsPerItem, &dst.ExpectedHitsPerItem, src.ExpectedHitsPerItem)
	overwrite(h, telemetry.HasHotOpcodeCount, &dst.HotOpcodeCount, src.HotOpcodeCount)
	overwrite(h, telemetry.HasHotWindowCount, &dst.HotWindowCount, src.HotWindowCount)
	overwrite(h, telemetry.HasMaxPriorityAge, &dst.MaxPriorityAge, src.MaxPriorityAge)
	overwrite(h, telemetry.HasRequeueCount, &dst.RequeueCount, src.RequeueCount)
	overwrite(h, telemetry.HasExecutedCount, &dst.ExecutedCount, src.ExecutedCount)
	dst.Has |= h
}

func mergeGraph(dst, src *telemetry.Graph) {
	h := src.Has
	overwrite(h, telemetry.HasNodeCount, &dst.NodeCount, src.NodeCount)
	overwrite(h, telemetry.HasEdgeCount, &dst.EdgeCount, src.EdgeCount)
	overwrite(h, telemetry.HasFrontierDensityBps, &dst.FrontierDensityBps, src.FrontierDensityBps)
	overwrite(h, telemetry.HasFrontierOutDegreeSum, &dst.FrontierOutDegreeSum, src.FrontierOutDegreeSum)
	overwrite(h, telemetry.HasFrontierNodes, &dst.FrontierNodes, src.FrontierNodes)
	overwrite(h, telemetry.HasUnexploredEdges, &dst.UnexploredEdges, src.UnexploredEdges)
	overwrite(h, telemetry.HasResidentDeviceBytes, &dst.ResidentDeviceBytes, src.ResidentDeviceBytes)
	overwrite(h, telemetry.HasDeviceMemoryBudgetBytes, &dst.DeviceMemoryBudgetBytes, src.DeviceMemoryBudgetBytes)
	overwrite(h, telemetry.HasMemoryPressureBps, &dst.MemoryPressureBps, src.MemoryPressureBps)
	dst.Has |= h
}

func mergePriority(dst, src *telemetry.Priority) {
	overwrite(src.Has, telemetry.HasPriority, &dst.Priority, src.Priority)
	overwrite(src.Has, telemetry.HasCoefficient, &dst.Coefficient, src.Coefficient)
	dst.Has |= src.Has
}

func overwrite[T any](have, field telemetry.Presence, dst *T, value T) {
	if have.Has(field) {
		*dst = value
	}
}
