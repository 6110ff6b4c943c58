package policy

import (
	"encoding/json"
	"fmt"
)

// Topology is the way a launch walks its work.
type Topology uint8

// Topologies. None is the zero value: what a queue without a graph has, and "no decision
// yet" in a state.
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

// LaunchMode is how a launch reaches the device.
type LaunchMode uint8

// Launch modes.
const (
	LaunchWave  LaunchMode = iota // a dispatch of its own
	LaunchLease                   // a round of a kernel that stays on the device
)

// Lease is what the worker's resident kernel offers a queue; the zero value is none.
type Lease struct {
	Slots   uint32 `json:"slots,omitzero"`   // most of a round
	Always  bool   `json:"always,omitzero"`  // the operator wants it for whatever fits
	Refused bool   `json:"refused,omitzero"` // of late it did not take slots of the queue: they run for too long
}

// Presence marks the request fields that were measured although they are zero.
type Presence uint8

// Presence bits of a Request.
const (
	HasFrontierDensity Presence = 1 << iota
	HasMemoryPressure
	HasFrontierEdges // FrontierOutDegreeSum, FrontierNodes and UnexploredEdges
)

// Limits are the device limits a plan must respect, and the description it follows.
type Limits struct {
	MaxWorkgroupSizeX          uint32 `json:"max_workgroup_size_x,omitzero"` // invocations along x
	MaxWorkgroupsPerDimension  uint32 `json:"max_workgroups_per_dimension,omitzero"`
	MaxInvocationsPerWorkgroup uint32 `json:"max_invocations_per_workgroup,omitzero"`
	SubgroupSize               uint32 `json:"subgroup_size,omitzero"` // 0 if unknown

	// What the device is, as far as it is known: units that run workgroups
	// independently of each other, and invocations that each of them holds at once.
	// A device is described if neither is 0.
	Units     uint32 `json:"units,omitzero"`
	UnitLanes uint32 `json:"unit_lanes,omitzero"`
}

// Geometry is the shape of a launch: what the tuner measures, remembers and asks for.
// In a request a field of 0 is no opinion; each of the others is taken as far as the
// limits allow. In an order and in the report of a launch it says what is to run and what
// ran, and only the depth may be 0: as many slots as there are.
type Geometry struct {
	Width  uint32 `json:"width,omitzero"`  // invocations of a workgroup
	Groups uint32 `json:"groups,omitzero"` // workgroups
	Chunk  uint32 `json:"chunk,omitzero"`  // slots claimed by one ticket
	Depth  uint32 `json:"depth,omitzero"`  // most slots of a launch
}

// String is width x groups x chunk, and x depth if that is bounded.
func (g Geometry) String() string {
	s := fmt.Sprintf("%dx%dx%d", g.Width, g.Groups, g.Chunk)
	if g.Depth != 0 {
		s += fmt.Sprintf("x%d", g.Depth)
	}
	return s
}

// given says whether the tuner has an opinion of any part.
func (g *Geometry) given() bool { return g.Width|g.Groups|g.Chunk|g.Depth != 0 }

// Request is everything a decision looks at, besides the state before it.
type Request struct {
	QueueLen              uint32   `json:"queue_len,omitzero"`               // items
	RequestedWorkerGroups uint32   `json:"requested_worker_groups,omitzero"` // ceiling; 0 derives it from the limits
	Limits                Limits   `json:"limits,omitzero"`
	RequestedHitCapacity  uint32   `json:"requested_hit_capacity,omitzero"` // 0 derives it
	ExpectedHitsPerItem   uint32   `json:"expected_hits_per_item,omitzero"` // 0 counts as 1
	HotOpcodeCount        uint32   `json:"hot_opcode_count,omitzero"`
	HotWindowCount        uint32   `json:"hot_window_count,omitzero"`
	RequeueCount          uint64   `json:"requeue_count,omitzero"`
	MaxPriorityAge        uint32   `json:"max_priority_age,omitzero"` // ticks
	GraphNodeCount        uint32   `json:"graph_node_count,omitzero"` // 0: no graph
	GraphEdgeCount        uint32   `json:"graph_edge_count,omitzero"`
	FrontierDensityBps    uint16   `json:"frontier_density_bps,omitzero"`
	MemoryPressureBps     uint16   `json:"memory_pressure_bps,omitzero"`
	FrontierOutDegreeSum  uint64   `json:"frontier_out_degree_sum,omitzero"` // edges leaving the frontier
	FrontierNodes         uint32   `json:"frontier_nodes,omitzero"`
	UnexploredEdges       uint64   `json:"unexplored_edges,omitzero"`
	ResidentDeviceBytes   uint64   `json:"resident_device_bytes,omitzero"`
	MemoryBudgetBytes     uint64   `json:"memory_budget_bytes,omitzero"` // 0: no budget
	Tuned                 Geometry `json:"tuned,omitzero"`
	Cost                  Cost     `json:"cost,omitzero"`        // of the queue's launches, as measured
	Interpreted           Cost     `json:"interpreted,omitzero"` // of those of late that an interpreter ran, if they are enough
	Compiled              Cost     `json:"compiled,omitzero"`    // of those of late that a compiled kernel ran, if they are enough
	WaveSlots             uint32   `json:"wave_slots,omitzero"`  // half of those launches had as many or fewer, of each of the two; 0: not known
	Lease                 Lease    `json:"lease,omitzero"`
	Leased                Cost     `json:"leased,omitzero"`         // of those of late that ran on the resident kernel, if they are enough
	WaveHostNs            uint64   `json:"wave_host_ns,omitzero"`   // for how long the host has to do with a wave beyond what a round of a lease takes it; 0: not known
	CompiledReady         bool     `json:"compiled_ready,omitzero"` // a kernel compiled for what the queue runs is built
	Unmeasured            bool     `json:"unmeasured,omitzero"`     // the worker reports its launches, and of this queue none yet
	OtherQueues           uint32   `json:"other_queues,omitzero"`   // of the worker that have work, or had some lately
	TargetMs              uint32   `json:"target_ms,omitzero"`      // least latency target or deadline of the queue and of those others; 0: none
	Draw                  uint64   `json:"draw,omitzero"`           // random number of the decision, of 53 bits, by which it may be an audit; 0: it is none
	Present               Presence `json:"present,omitzero"`
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
	RuleNoGraph     // vertices of the graph; there is none
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
	// The same, where a compiled kernel keeps it fused that takes less time, if no longer
	// clearly less.
	RuleFusedCost // picoseconds of the device for a slot

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

	// The same, where an audit tries another geometry: the value is of how many it was drawn,
	// and the threshold one decision in how many is an audit.
	RuleAudit // geometries

	// A launch beside other queues: the value is what a launch of all that waits would
	// take, up to the depth, and the threshold what it may take.
	RuleTurn // nanoseconds of the device
	// The same, where a latency target or deadline, the queue's or another's, allows less.
	RuleTarget // nanoseconds of the device
	// The same for a queue of which no launch was measured: the value is what waits, up to
	// the depth.
	RuleFirstLaunch // slots

	// Budget, where the hit capacity was reduced: the value is the capacity
	// wanted, saturated, and the threshold the one that fits.
	RuleBudget // hits
	// Where what is resident leaves nothing of the budget and the plan needs nothing of it:
	// the launch allocates no memory, and what it finishes may free some.
	RuleNoMemoryNeeded // resident bytes, against the budget

	// How a launch reaches the device, where the worker has a resident kernel: whether a round
	// of it has room, which at the threshold it has, or refused of late what would fit.
	RuleLeaseSlots   // slots of the planned launch
	RuleLeaseRefused // slots of the planned launch
	// The same, where a round and a wave were measured: the value is what a round takes for
	// the planned launch, and the threshold when it is left, or taken.
	RuleLeaseCost // nanoseconds of the device
	// Where a wave is made to learn what it takes: the value is what a round takes.
	RuleLeaseLearn // nanoseconds of the device

	// Mode: the first of these that calls for a compiled kernel, or
	// RuleModeQueueLen for the interpreter.
	RuleModeQueueLen   // slots queued
	RuleModeHotOpcodes // hot opcodes
	RuleModeHotWindows // hot windows
	RuleModeFused      // as the topology, which it ends with
	// The same, where a launch of both kernels was measured: the value is what the compiled
	// one takes for the planned launch, and the threshold when it is left, or taken.
	RuleModeCost // nanoseconds of the device
	// Where a launch is made to learn what a kernel takes: the value is what the other takes.
	RuleModeLearn // nanoseconds of the device
)

// Reason is the evidence of one rule.
type Reason struct {
	Rule      Rule   `json:"rule,omitzero"`
	Held      bool   `json:"held,omitzero"` // hysteresis kept the previous outcome
	Threshold uint64 `json:"threshold,omitzero"`
	Value     uint64 `json:"value,omitzero"`
	// Distance is the smallest change of Value, all else equal, after which
	// the rule would decide otherwise in the next decision, or after as many as
	// Config.Dwell asks for. 0: Value is past the threshold already, and the outcome is
	// held until then, or because the queue is empty.
	Distance uint64 `json:"distance,omitzero"`
}

// MaxReasons bounds the reasons of one recommendation: topology, memory
// pressure, shedding, workers, geometry, turn, budget, launch mode, mode.
const MaxReasons = 9

// Reasons are the reasons of one recommendation, in the order of the rules.
type Reasons [MaxReasons]Reason

// MarshalJSON leaves out the places after the last reason. A reader takes them as zero.
func (r Reasons) MarshalJSON() ([]byte, error) {
	n := len(r)
	for n > 0 && r[n-1] == (Reason{}) {
		n--
	}
	return json.Marshal(r[:n])
}

// Recommendation is a launch plan.
type Recommendation struct {
	WorkgroupSizeX     uint32     `json:"workgroup_size_x,omitzero"`     // invocations per workgroup
	SlotCount          uint32     `json:"slot_count,omitzero"`           // queue length padded to whole workgroups
	DispatchGrid       [3]uint32  `json:"dispatch_grid,omitzero"`        // workgroups
	WorkerGroups       uint32     `json:"worker_groups,omitzero"`        // ceiling the grid was cut from
	ClaimChunk         uint32     `json:"claim_chunk,omitzero"`          // slots claimed by one ticket
	BatchDepth         uint32     `json:"batch_depth,omitzero"`          // most slots of one launch, a multiple of WorkgroupSizeX
	InFlight           uint32     `json:"in_flight,omitzero"`            // most launches of the queue under way at a time
	HitCapacity        uint32     `json:"hit_capacity,omitzero"`         // hits
	HitCapacityReduced bool       `json:"hit_capacity_reduced,omitzero"` // to fit the memory budget
	Pressure           Pressure   `json:"pressure,omitzero"`
	LaunchMode         LaunchMode `json:"launch_mode,omitzero"`
	Mode               Mode       `json:"mode,omitzero"`
	Topology           Topology   `json:"topology,omitzero"`
	PromoteHotOpcodes  bool       `json:"promote_hot_opcodes,omitzero"` // hysteresis included
	PromoteHotWindows  bool       `json:"promote_hot_windows,omitzero"` // hysteresis included
	AgePriorityWork    bool       `json:"age_priority_work,omitzero"`
	EstimatedPeakBytes uint64     `json:"estimated_peak_bytes,omitzero"`
	MemoryBudgetBytes  uint64     `json:"memory_budget_bytes,omitzero"`

	// Evidence.
	FrontierDensityBps uint16    `json:"frontier_density_bps,omitzero"` // after inference
	MemoryPressureBps  uint16    `json:"memory_pressure_bps,omitzero"`  // after inference
	RawTopology        Topology  `json:"raw_topology,omitzero"`         // before hysteresis
	ScheduledGroups    uint32    `json:"scheduled_groups,omitzero"`     // worker request after shedding, before hysteresis; 0: automatic, not shed
	Tuned              TunedAxes `json:"tuned,omitzero"`
	Reasons            Reasons   `json:"reasons,omitzero"`
	ReasonCount        uint8     `json:"reason_count,omitzero"`
}

// Geometry is the shape of the planned launch.
func (rec *Recommendation) Geometry() Geometry {
	return Geometry{Width: rec.WorkgroupSizeX, Groups: rec.DispatchGrid[0], Chunk: rec.ClaimChunk, Depth: rec.BatchDepth}
}

// Launch is what a plan has launched: two plans with the same one are the same to whoever
// carries them out, whatever they were made from.
type Launch struct {
	Geometry   Geometry
	InFlight   uint32
	LaunchMode LaunchMode
	Mode       Mode
	Walk       Topology // the kernel of a graph's level; an empty queue launches none and keeps the last kernel
}

// Launch is what the plan launches; after is the state that the decision left.
func (rec *Recommendation) Launch(after *State) Launch {
	return Launch{Geometry: rec.Geometry(), InFlight: rec.InFlight, LaunchMode: rec.LaunchMode, Mode: rec.Mode, Walk: after.Topology.Topology}
}

// State is what a decision remembers for the next one. Its parts belong to
// the stages of the same name; the zero value is "no decision yet".
type State struct {
	Topology TopologyState `json:"topology,omitzero"`
	Plan     PlanState     `json:"plan,omitzero"`
}

// TopologyState is what the stages up to stabilise remember.
type TopologyState struct {
	Topology Topology `json:"topology,omitzero"`
	Asked    uint8    `json:"asked,omitzero"` // decisions in a row that asked for another one
}

// PlanState is what the stages from shed on remember.
type PlanState struct {
	WorkgroupSizeX uint32 `json:"workgroup_size_x,omitzero"`
	Groups         uint32 `json:"groups,omitzero"`
	Mode           Mode   `json:"mode,omitzero"`

	// What FullHysteresis holds.
	PromoteHotOpcodes bool     `json:"promote_hot_opcodes,omitzero"`
	PromoteHotWindows bool     `json:"promote_hot_windows,omitzero"`
	Topology          Topology `json:"topology,omitzero"`
	CeilingGroups     uint32   `json:"ceiling_groups,omitzero"`   // worker groups before shedding
	ScheduledGroups   uint32   `json:"scheduled_groups,omitzero"` // worker groups after shedding and hysteresis

	// What Steady holds: the queue length that plans are made for, how many decisions in a
	// row need far less and the most of them, and how many asked for another mode and for
	// another number of workers.
	Length       uint32 `json:"length,omitzero"`
	LowMost      uint32 `json:"low_most,omitzero"`
	Low          uint8  `json:"low,omitzero"`
	ModeAsked    uint8  `json:"mode_asked,omitzero"`
	WorkersAsked uint8  `json:"workers_asked,omitzero"`

	// What launchMode holds, and how many decisions in a row asked for another.
	LaunchMode      LaunchMode `json:"launch_mode,omitzero"`
	LaunchModeAsked uint8      `json:"launch_mode_asked,omitzero"`

	// What BoundLaunches holds: the most slots of a launch beside other queues; 0: no bound.
	TurnSlots uint32 `json:"turn_slots,omitzero"`
}
