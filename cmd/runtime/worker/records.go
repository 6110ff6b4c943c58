package worker

import (
	"errors"

	"ringmaster/actors"
	"ringmaster/megakernel"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/telemetry"
)

// launchRecord is the wire form of a report, but for what the worker actor knows of the launch's place among others.
func launchRecord(r *megakernel.Report) telemetry.Launch {
	l := telemetry.Launch{
		Status: telemetry.LaunchOK, Applied: actors.WireGeometry(r.Applied), AppliedDepth: r.Applied.Depth, NotApplied: r.NotApplied,
		ElapsedNs: r.ElapsedNs, TimeSource: TimeSource(r.TimeSource), WallNs: r.WallNs,
		Executed: uint64(r.Executed), Faulted: uint64(r.Faulted), Requeued: uint64(r.Requeued),
		OpcodeCounts: r.Opcodes[:], Fingerprint: r.Fingerprint[:],
	}
	if r.Leased {
		l.Mode = telemetry.ModeLease
	}
	l.Has = telemetry.HasStatus |
		telemetry.HasAppliedWorkgroupSizeX | telemetry.HasAppliedGroups | telemetry.HasAppliedClaimChunk | telemetry.HasAppliedDepth |
		telemetry.HasElapsedNs | telemetry.HasTimeSource | telemetry.HasWallNs |
		telemetry.HasExecuted | telemetry.HasFaulted | telemetry.HasRequeued | telemetry.HasOpcodeCounts | telemetry.HasFingerprint
	if l.NotApplied != "" {
		l.Has |= telemetry.HasNotApplied
	}
	if r.TimeSource != gpu.TimeNone { // else nothing ran
		l.Kernel = r.Kernel.String()
		l.Has |= telemetry.HasMode | telemetry.HasKernel | telemetry.HasExecutionMode
		if r.Kernel.Kind == kernel.Fused || r.Kernel.Kind == kernel.Exact {
			l.ExecutionMode = telemetry.ExecutionJIT
		}
		if !r.Leased { // a lease knows nothing of kernels
			l.CompiledReady = r.CompiledReady
			l.Has |= telemetry.HasCompiledReady
		}
	}
	return l
}

// TimeSource is the wire form of the clock of a launch.
func TimeSource(t gpu.TimeSource) telemetry.TimeSource {
	switch t {
	case gpu.TimeDevice:
		return telemetry.TimeQuery
	case gpu.TimeFinish:
		return telemetry.TimeWall
	}
	return telemetry.TimeNone
}

func doneRecord(b *megakernel.BatchResult) telemetry.Done {
	d := telemetry.Done{Batch: b.ID, Executed: b.Executed, Faulted: b.Faulted, Results: b.Results, Dropped: b.Dropped, Error: droppedBecause(b.Err)}
	for _, f := range b.Faults[:min(len(b.Faults), telemetry.MaxFaults)] {
		d.Faults = append(d.Faults, telemetry.Fault{Index: f.Index, Code: uint32(f.Code)})
	}
	return d
}

// droppedBecause is what a done record says of why slots did not run.
func droppedBecause(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, megakernel.ErrHeapLost):
		return "heap lost"
	case errors.Is(err, megakernel.ErrCanceled):
		return "canceled"
	case errors.Is(err, megakernel.ErrDeadline):
		return "deadline"
	case gpu.Lost(err):
		return "device lost"
	}
	return err.Error()
}

// Announcement describes the device and the operator's opcodes to everybody else.
// A nil catalog has the built-in opcodes only.
func Announcement(device Device, opcodes *kernel.Catalog) telemetry.Worker {
	info := device.Info()
	w := telemetry.Worker{
		Vendor: info.Vendor, Renderer: info.Renderer, Driver: info.Version,
		DeviceUUID: info.Capabilities.DeviceUUID, SubgroupSize: info.Capabilities.SubgroupSize,
		Capabilities: info.Capabilities.List(),
	}
	w.MaxWorkgroupSizeX, w.MaxWorkgroupsPerDimension, w.MaxInvocationsPerWorkgroup = device.WorkgroupLimits()
	w.Has = telemetry.HasWorkerMaxWorkgroupSizeX | telemetry.HasWorkerMaxWorkgroupsPerDimension | telemetry.HasWorkerMaxInvocationsPerWorkgroup |
		telemetry.HasSubgroupSize | telemetry.HasVendor | telemetry.HasRenderer | telemetry.HasDriver |
		telemetry.HasDeviceUUID | telemetry.HasMemoryBudgetBytes | telemetry.HasCapabilities | telemetry.HasOpcodes
	if w.Units, w.UnitLanes, _ = device.Units(); w.Units != 0 && w.UnitLanes != 0 {
		w.Has |= telemetry.HasUnits | telemetry.HasUnitLanes
	}
	if opcodes != nil {
		for _, op := range opcodes.User() {
			w.Opcodes = append(w.Opcodes, telemetry.Opcode{ID: op.ID, Name: op.Name})
		}
	}
	return w
}
