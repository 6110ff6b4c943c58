package policy

// Topology is the way a launch walks its work.
type Topology uint8

// Topologies. None is the zero value and means "no decision yet".
const (
	TopologyNone Topology = iota
	TopologyEmpty
	TopologySparse
	TopologyHybrid
	TopologyDense
	TopologyFused
	TopologyMemoryConstrained
)

// Pressure classes the queue length against the invocations of one launch.
type Pressure uint8

// Pressure classes.
const (
	PressureEmpty Pressure = iota
	PressureLight
	PressureBalanced
	PressureSaturated
)

// Mode is the kind of kernel that runs the slots.
type Mode uint8

// Execution modes.
const (
	ModeInterpreter Mode = iota
	ModeJIT
)

// Presence marks the request fields that were measured although they are zero.
type Presence uint8

// Presence bits of a Request.
const (
	HasFrontierDensity Presence = 1 << iota
	HasMemoryPressure
	HasFrontierEdges // FrontierOutDegreeSum, FrontierNodes and UnexploredEdges
)

// Limits are the device limits a plan must respect.
type Limits struct {
	MaxWorkgroupSizeX          uint32 // invocations along x
	MaxWorkgroupsPerDimension  uint32
	MaxInvocationsPerWorkgroup uint32
	SubgroupSize               uint32 // 0 if unknown
}

// Geometry is the tuner's opinion of the shape of a launch. A field of 0 is no
// opinion; each of the others is taken as far as the limits allow.
type Geometry struct {
	Width  uint32 // invocations of a workgroup
	Groups uint32 // workgroups
	Chunk  uint32 // slots claimed by one ticket
	Depth  uint32 // most slots of a launch
}

// given says whether the tuner has an opinion of any part.
func (g *Geometry) given() bool { return g.Width|g.Groups|g.Chunk|g.Depth != 0 }

// Request is everything a decision looks at, besides the state before it.
type Request struct {
	QueueLen              uint32 // items
	RequestedWorkerGroups uint32 // ceiling; 0 derives it from the limits
	Limits                Limits
	RequestedHitCapacity  uint32 // 0 derives it
	ExpectedHitsPerItem   uint32 // 0 counts as 1
	HotOpcodeCount        uint32
	HotWindowCount        uint32
	RequeueCount          uint64
	MaxPriorityAge        uint32 // ticks
	GraphNodeCount        uint32 // 0: no graph
	GraphEdgeCount        uint32
	FrontierDensityBps    uint16
	MemoryPressureBps     uint16
	FrontierOutDegreeSum  uint64 // edges leaving the frontier
	FrontierNodes         uint32
	UnexploredEdges       uint64
	ResidentDeviceBytes   uint64
	MemoryBudgetBytes     uint64 // 0: no budget
	Tuned                 Geometry
	Present               Presence
}

// TunedAxes says which parts of a plan's geometry are as the tuner wants them.
type TunedAxes uint8

// The parts of a geometry.
const (
	TunedWidth TunedAxes = 1 << iota
	TunedGroups
	TunedChunk
	TunedDepth
)

// Rule names what decided one outcome of a decision.
type Rule uint8

// Rules, by the outcome they explain. Value and Threshold of the Reason are in
// the unit named here.
const (
	RuleNone Rule = iota

	// Topology: exactly one of these leads the reasons. The threshold is the
	// edge at which this topology is left again, hysteresis included.
	RuleQueueEmpty  // slots queued
	RuleConstrained // memory pressure, bps
	RuleSparse      // frontier density, bps
	RuleHybrid      // frontier density, bps; the nearer of its two edges
	RuleDense       // frontier density, bps
	RuleFused       // frontier density, bps

	// The same, where the topology is decided by edges.
	RuleSparseEdges // out-edges of the frontier
	RuleHybridEdges // out-edges of the frontier; the nearer of its two edges
	RuleDenseEdges  // out-edges of the frontier
	RuleFusedEdges  // out-edges of the frontier

	// The same, where hot counters that have cooled keep a walk fused.
	RuleFusedHotOpcodes // hot opcodes
	RuleFusedHotWindows // hot windows

	// Memory pressure, where it is known: the hit capacity loses its head
	// room at the threshold, or has it back below it.
	RuleMemoryPressure // bps

	// Shedding, where workers were shed: the threshold is where it ends.
	RuleShedMemory // memory pressure, bps
	RuleShedSparse // frontier density, bps

	// Workers, where hysteresis keeps another number than shedding asks for:
	// the value is the number asked for, and the threshold the nearest that
	// is taken.
	RuleWorkers // worker groups

	// Geometry, where the tuner has an opinion of it: the value is the
	// workgroups it asks for, 0 if it leaves them open, and the threshold the
	// most that are taken: the worker groups that shedding left.
	RuleTuned // worker groups

	// Budget, where the hit capacity was reduced: the value is the capacity
	// wanted, saturated, and the threshold the one that fits.
	RuleBudget // hits

	// Mode: the first of these that calls for a compiled kernel, or
	// RuleModeQueueLen for the interpreter.
	RuleModeQueueLen   // slots queued
	RuleModeHotOpcodes // hot opcodes
	RuleModeHotWindows // hot windows
	RuleModeFused      // as the topology, which it ends with
)

// Reason is the evidence of one rule.
type Reason struct {
	Rule      Rule
	Held      bool // hysteresis kept the previous outcome
	Threshold uint64
	Value     uint64
	// Distance is the smallest change of Value, all else equal, after which
	// the rule would decide otherwise in the next decision.
	Distance uint64
}

// MaxReasons bounds the reasons of one recommendation: topology, memory
// pressure, shedding, workers, geometry, budget, mode.
const MaxReasons = 7

// Recommendation is a launch plan.
type Recommendation struct {
	WorkgroupSizeX     uint32    // invocations per workgroup
	SlotCount          uint32    // queue length padded to whole workgroups
	DispatchGrid       [3]uint32 // workgroups
	WorkerGroups       uint32    // ceiling the grid was cut from
	ClaimChunk         uint32    // slots claimed by one ticket; a multiple of WorkgroupSizeX unless it is tuned
	BatchDepth         uint32    // most slots of one launch, a multiple of WorkgroupSizeX
	InFlight           uint32    // most launches of the queue under way at a time
	HitCapacity        uint32    // hits
	HitCapacityReduced bool      // to fit the memory budget
	Pressure           Pressure
	Mode               Mode
	Topology           Topology
	PromoteHotOpcodes  bool // hysteresis included
	PromoteHotWindows  bool // hysteresis included
	AgePriorityWork    bool
	EstimatedPeakBytes uint64
	MemoryBudgetBytes  uint64

	// Evidence.
	FrontierDensityBps uint16   // after inference
	MemoryPressureBps  uint16   // after inference
	RawTopology        Topology // before hysteresis
	ScheduledGroups    uint32   // worker request after shedding, before hysteresis; 0: automatic, not shed
	Tuned              TunedAxes
	Reasons            [MaxReasons]Reason
	ReasonCount        uint8
}

// State is what a decision remembers for the next one. Its parts belong to
// the stages of the same name; the zero value is "no decision yet".
type State struct {
	Topology TopologyState
	Plan     PlanState
}

// TopologyState is what the stages up to stabilise remember.
type TopologyState struct {
	Topology Topology
}

// PlanState is what the stages from shed on remember.
type PlanState struct {
	WorkgroupSizeX uint32
	Groups         uint32
	Mode           Mode

	// What FullHysteresis holds.
	PromoteHotOpcodes bool
	PromoteHotWindows bool
	Topology          Topology
	CeilingGroups     uint32 // worker groups before shedding
	ScheduledGroups   uint32 // worker groups after shedding and hysteresis
	InFlight          uint32
}
