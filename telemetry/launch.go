package telemetry

import (
	"errors"
	"fmt"
)

// LaunchStatus is the outcome of a launch.
type LaunchStatus uint8

// Outcomes of a launch.
const (
	LaunchOK     LaunchStatus = iota // the launch ran to its end
	LaunchFailed                     // the launch did not run or was lost; Error says why
)

var launchStatusNames = []string{LaunchOK: "ok", LaunchFailed: "failed"}

// String returns the wire name of the status.
func (s LaunchStatus) String() string { return nameOf(launchStatusNames, uint8(s), "status") }

// TimeSource says what measured ElapsedNs.
type TimeSource uint8

// Sources of a launch's elapsed time.
const (
	TimeNone  TimeSource = iota // not measured
	TimeQuery                   // a GL timer query that passed the plausibility check
	TimeWall                    // a finish and the host's monotonic clock
)

var timeSourceNames = []string{TimeNone: "none", TimeQuery: "query", TimeWall: "wall"}

// String returns the wire name of the source.
func (s TimeSource) String() string { return nameOf(timeSourceNames, uint8(s), "source") }

// LaunchMode is how a launch reached the device.
type LaunchMode uint8

// Launch modes.
const (
	ModeWave  LaunchMode = iota // a dispatch of its own
	ModeLease                   // a kernel that stays on the device
)

var launchModeNames = []string{ModeWave: "wave", ModeLease: "lease"}

// String returns the wire name of the mode.
func (m LaunchMode) String() string { return nameOf(launchModeNames, uint8(m), "mode") }

// ExecutionMode is the kind of kernel that ran a launch.
type ExecutionMode uint8

// Execution modes.
const (
	ExecutionInterpreter ExecutionMode = iota // any opcode
	ExecutionJIT                              // compiled for the opcodes that the queue executes
)

var executionModeNames = []string{ExecutionInterpreter: "interpreter", ExecutionJIT: "jit"}

// String returns the wire name of the mode.
func (m ExecutionMode) String() string { return nameOf(executionModeNames, uint8(m), "execution_mode") }

// Geometry is the shape of one launch.
type Geometry struct {
	WorkgroupSizeX uint32 // invocations per workgroup
	Groups         uint32 // workgroups dispatched
	ClaimChunk     uint32 // slots claimed by one ticket
}

// Launch reports one launch.
type Launch struct {
	Has Presence

	Launch       uint64 // event id, unique within an incarnation, from 1
	Decision     uint64 // decision that was applied, 0 if none
	Status       LaunchStatus
	Error        string   // at most 256 bytes, empty when OK
	Applied      Geometry // what was dispatched
	Recommended  Geometry // what the decision asked for
	NotApplied   string   // why Applied differs from Recommended, empty when equal
	ElapsedNs    uint64   // device time
	TimeSource   TimeSource
	IdleNs       uint64 // device idle before the launch
	WallNs       uint64 // host time from submission to collection
	Executed     uint64 // slots that reached done
	Faulted      uint64 // slots that ended in a fault
	Requeued     uint64 // slots that were attempted and go round again, or were not reached
	Hits         uint64
	OpcodeCounts []uint32 // executions by opcode, index = opcode, at most 64
	Fingerprint  []byte   // names the kernel, the same at every geometry: 0 or 32 bytes, of its source
	Mode         LaunchMode
	Kernel       string // name of the kernel that ran, at most 256 bytes
	InFlight     uint32 // launches under way at the worker when it began, itself included
	AppliedDepth uint32 // most slots the launch could take, 0: as many as there were

	ExecutionMode ExecutionMode // of the kernel that ran
	CompiledReady bool          // a kernel compiled for what the queue executes is built, so that a launch may have it at once
}

// Presence bits of Launch, in schema order. Geometry is three wire fields each.
const (
	HasLaunch Presence = 1 << iota
	HasDecision
	HasStatus
	HasError
	HasAppliedWorkgroupSizeX
	HasAppliedGroups
	HasAppliedClaimChunk
	HasRecommendedWorkgroupSizeX
	HasRecommendedGroups
	HasRecommendedClaimChunk
	HasNotApplied
	HasElapsedNs
	HasTimeSource
	HasIdleNs
	HasWallNs
	HasExecuted
	HasFaulted
	HasRequeued
	HasHits
	HasOpcodeCounts
	HasFingerprint
	HasMode
	HasKernel
	HasInFlight
	HasAppliedDepth
	HasExecutionMode
	HasCompiledReady
	endLaunch
)

// HasAllLaunch are the presence bits of all fields.
const HasAllLaunch = endLaunch - 1

var launchSchema = newSchema(KindLaunch, func(l *Launch) *Presence { return &l.Has },
	u64("launch", event, "-", func(l *Launch) *uint64 { return &l.Launch }).from(1).req(),
	u64("decision", event, "-", func(l *Launch) *uint64 { return &l.Decision }),
	enum("status", event, launchStatusNames, func(l *Launch) any { return (*uint8)(&l.Status) }).req(),
	text("error", event, func(l *Launch) any { return &l.Error }),
	u32("applied_workgroup_size_x", event, "invocations", func(l *Launch) *uint32 { return &l.Applied.WorkgroupSizeX }),
	u32("applied_groups", event, "workgroups", func(l *Launch) *uint32 { return &l.Applied.Groups }),
	u32("applied_claim_chunk", event, "slots", func(l *Launch) *uint32 { return &l.Applied.ClaimChunk }),
	u32("recommended_workgroup_size_x", event, "invocations", func(l *Launch) *uint32 { return &l.Recommended.WorkgroupSizeX }),
	u32("recommended_groups", event, "workgroups", func(l *Launch) *uint32 { return &l.Recommended.Groups }),
	u32("recommended_claim_chunk", event, "slots", func(l *Launch) *uint32 { return &l.Recommended.ClaimChunk }),
	text("not_applied", event, func(l *Launch) any { return &l.NotApplied }),
	u64("elapsed_ns", event, "ns", func(l *Launch) *uint64 { return &l.ElapsedNs }),
	enum("time_source", event, timeSourceNames, func(l *Launch) any { return (*uint8)(&l.TimeSource) }),
	u64("idle_ns", event, "ns", func(l *Launch) *uint64 { return &l.IdleNs }),
	u64("wall_ns", event, "ns", func(l *Launch) *uint64 { return &l.WallNs }),
	u64("executed", event, "slots", func(l *Launch) *uint64 { return &l.Executed }),
	u64("faulted", event, "slots", func(l *Launch) *uint64 { return &l.Faulted }),
	u64("requeued", event, "slots", func(l *Launch) *uint64 { return &l.Requeued }),
	u64("hits", event, "hits", func(l *Launch) *uint64 { return &l.Hits }),
	list[Launch]("opcode_counts", event, typeU32s, "slots", 0, MaxOpcodes, func(l *Launch) any { return &l.OpcodeCounts }),
	list[Launch]("fingerprint", event, typeBytes, "-", 0, FingerprintSize, func(l *Launch) any { return &l.Fingerprint }),
	enum("mode", event, launchModeNames, func(l *Launch) any { return (*uint8)(&l.Mode) }),
	text("kernel", event, func(l *Launch) any { return &l.Kernel }),
	u32("in_flight", event, "launches", func(l *Launch) *uint32 { return &l.InFlight }),
	u32("applied_batch_depth", event, "slots", func(l *Launch) *uint32 { return &l.AppliedDepth }),
	enum("execution_mode", event, executionModeNames, func(l *Launch) any { return (*uint8)(&l.ExecutionMode) }),
	flag("compiled_ready", event, func(l *Launch) any { return &l.CompiledReady }),
)

var errStatus = errors.New("status ok with an error text")

// validate: a hash is whole or not there, and a launch that ran has no error.
func (l *Launch) validate() error {
	if n := len(l.Fingerprint); n != 0 && n != FingerprintSize {
		return fmt.Errorf("fingerprint has %d bytes, want 0 or %d", n, FingerprintSize)
	}
	if l.Status == LaunchOK && l.Error != "" {
		return errStatus
	}
	return nil
}

func (l *Launch) rows() rows { return launchSchema }
