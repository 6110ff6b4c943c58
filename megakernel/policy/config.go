package policy

import (
	"errors"
	"fmt"
	"math/bits"
)

// FullBps is the whole in basis points.
const FullBps = 10_000

// Config holds every constant a decision depends on. It is plain data; share
// one value between any number of decisions and do not change it meanwhile.
// Start from Reference or Standard and call Validate after a change: the
// decision itself does not check it.
type Config struct {
	// MinHitCapacity is the smallest derived hit capacity, in hits.
	MinHitCapacity uint32 `json:"min_hit_capacity,omitzero" toml:"min_hit_capacity"`
	// HitCapacityMultiplier is the head room of a derived hit capacity; under
	// memory pressure it is 1.
	HitCapacityMultiplier uint32 `json:"hit_capacity_multiplier,omitzero" toml:"hit_capacity_multiplier"`
	// SaturatedWaves is how many launches' worth of queued slots, one slot
	// for each invocation, count as saturated.
	SaturatedWaves uint32 `json:"saturated_waves,omitzero" toml:"saturated_waves"`
	// HotOpcodeThreshold and HotWindowThreshold are the counts from which hot
	// opcodes and windows are promoted.
	HotOpcodeThreshold uint32 `json:"hot_opcode_threshold,omitzero" toml:"hot_opcode_threshold"`
	HotWindowThreshold uint32 `json:"hot_window_threshold,omitzero" toml:"hot_window_threshold"`
	// JITQueueLenThreshold is the queue length, in slots, from which a
	// compiled kernel pays even without hot opcodes.
	JITQueueLenThreshold uint32 `json:"jit_queue_len_threshold,omitzero" toml:"jit_queue_len_threshold"`
	// PriorityAgeThreshold is the age, in ticks, from which waiting work is aged.
	PriorityAgeThreshold uint32 `json:"priority_age_threshold,omitzero" toml:"priority_age_threshold"`

	// SparseFrontierBps: a frontier density at or below it is sparse.
	SparseFrontierBps uint16 `json:"sparse_frontier_bps,omitzero" toml:"sparse_frontier_bps"`
	// DenseFrontierBps: a frontier density at or above it is dense.
	DenseFrontierBps uint16 `json:"dense_frontier_bps,omitzero" toml:"dense_frontier_bps"`
	// MemoryPressureBps: a memory pressure at or above it is constrained.
	MemoryPressureBps uint16 `json:"memory_pressure_bps,omitzero" toml:"memory_pressure_bps"`
	// FrontierHysteresisBps and MemoryHysteresisBps are the half widths of the
	// bands around those thresholds in which the previous topology is kept.
	FrontierHysteresisBps uint16 `json:"frontier_hysteresis_bps,omitzero" toml:"frontier_hysteresis_bps"`
	MemoryHysteresisBps   uint16 `json:"memory_hysteresis_bps,omitzero" toml:"memory_hysteresis_bps"`

	// FusionEdgeThreshold is the number of edges from which a dense and hot
	// frontier is fused.
	FusionEdgeThreshold uint32 `json:"fusion_edge_threshold,omitzero" toml:"fusion_edge_threshold"`
	// ScratchBytesPerHit sizes the hit buffer in the memory estimate.
	ScratchBytesPerHit uint32 `json:"scratch_bytes_per_hit,omitzero" toml:"scratch_bytes_per_hit"`

	// Used with TopologyByEdges only. A frontier is dense when its out-edges
	// exceed the unexplored edges, or their square exceeds DenseLookBps of the
	// product of those with the vertices, and sparse when they are at most
	// 1/SparseNodeDivisor of the vertices. A sparse one stays so until it
	// exceeds that by EdgeHysteresisBps of it.
	DenseLookBps      uint16 `json:"dense_look_bps,omitzero" toml:"dense_look_bps"`
	SparseNodeDivisor uint16 `json:"sparse_node_divisor,omitzero" toml:"sparse_node_divisor"`
	EdgeHysteresisBps uint16 `json:"edge_hysteresis_bps,omitzero" toml:"edge_hysteresis_bps"`

	// Used with FullHysteresis only. What a count has gained at the threshold of
	// the same name, it keeps until it is more than this far below it. The number
	// of workers is kept unless the new one differs by more than that share of it.
	HotOpcodeHysteresis   uint32 `json:"hot_opcode_hysteresis,omitzero" toml:"hot_opcode_hysteresis"`
	HotWindowHysteresis   uint32 `json:"hot_window_hysteresis,omitzero" toml:"hot_window_hysteresis"`
	JITQueueLenHysteresis uint32 `json:"jit_queue_len_hysteresis,omitzero" toml:"jit_queue_len_hysteresis"` // slots
	WorkerHysteresisBps   uint16 `json:"worker_hysteresis_bps,omitzero" toml:"worker_hysteresis_bps"`

	// Used with ByCost only. A way of running launches is left for another that takes this much
	// less time; the interpreter is left for a compiled kernel that takes less at all.
	CostHysteresisBps uint16 `json:"cost_hysteresis_bps,omitzero" toml:"cost_hysteresis_bps"`

	// Used with Steady only. Dwell is how many decisions in a row must ask for what
	// hysteresis keeps before it is given up. At least 1.
	Dwell uint8 `json:"dwell,omitzero" toml:"dwell"`

	// AuditLaunches: one decision in so many asks for a geometry drawn from the usual one and its
	// neighbours, so that what others cost can be estimated (see audit.go). 0: none. Used
	// with SeparateWidth and TuneGeometry.
	AuditLaunches uint32 `json:"audit_launches,omitzero" toml:"audit_launches"`

	Sizing Sizing `json:"sizing,omitzero" toml:"sizing"`

	// SeparateWidth makes the workgroup width and the number of workgroups
	// two numbers (see geometry.go). Off, the number of groups is also used
	// as the width, as the reference does: automatic sizing on a device with
	// 65,535 groups then gives groups 255 wide, and shedding narrows them to
	// widths such as 51 that are no multiple of a subgroup.
	SeparateWidth bool `json:"separate_width,omitzero" toml:"separate_width"`
	// ShedAutomatic sheds an automatic worker request too, starting from the
	// ceiling derived from the limits. Off, a request of 0 keeps the whole
	// device whatever the pressure, as the reference does.
	ShedAutomatic bool `json:"shed_automatic,omitzero" toml:"shed_automatic"`
	// TopologyByEdges decides the topology by the frontier's out-edges, where
	// the request carries them and a graph (see EdgeRule). Off, and without
	// them, it is decided by the share of vertices, which calls the level of
	// a power-law graph with a few per cent of the vertices and half of the
	// edges sparse, as in the reference.
	TopologyByEdges bool `json:"topology_by_edges,omitzero" toml:"topology_by_edges"`
	// GraphTopology gives a topology to queues with a graph only. A queue whose request
	// says nothing of a graph has none, and none of what follows from one: memory pressure
	// sheds no workers, takes no launch out of flight and no head room from hits, because
	// none of that frees memory; it has hits if it reports some; and a plan without hits
	// needs no memory, so that no budget stops the work that would free it. Off, every
	// queue has a topology and hits, as in the reference.
	GraphTopology bool `json:"graph_topology,omitzero" toml:"graph_topology"`
	// FullHysteresis extends hysteresis from the walks to everything else that
	// can flap: dense against fused, the promotion flags, the mode, and the
	// number of workers that shedding leaves (see shed.go). Off, these follow
	// every change, as in the reference.
	FullHysteresis bool `json:"full_hysteresis,omitzero" toml:"full_hysteresis"`
	// Steady keeps noise out of plans (see steady.go): an empty queue changes nothing, a
	// plan is made for a length that covers the queue for a while, and what hysteresis
	// keeps is left when Dwell decisions in a row ask for it. Off, the last value decides,
	// and an empty queue takes back what the queue had gained, as in the reference.
	Steady bool `json:"steady,omitzero" toml:"steady"`
	// FitBudget replaces a plan that exceeds the memory budget by the largest
	// one that fits: the hit capacity, derived or requested, is reduced, but not
	// below MinHitCapacity or a smaller requested capacity, and the
	// recommendation says so. Off, such a plan is an error, as in the reference.
	FitBudget bool `json:"fit_budget,omitzero" toml:"fit_budget"`
	// StrictBps gives a share one meaning. A frontier density or memory
	// pressure above 10,000 bps is refused with ErrBps, and the hit capacity
	// loses its head room when the topology is memory constrained, hysteresis
	// included. Off, any 16 bits are a share, and the head room goes with the
	// pressure alone, so that inside the band a plan is constrained in its
	// topology and not in its hits, as in the reference.
	StrictBps bool `json:"strict_bps,omitzero" toml:"strict_bps"`
	// Pipelined allows several launches of a queue to be under way at a time
	// where its backlog fills them (see inFlight in capacity.go). Off, there is one, as
	// in the reference.
	Pipelined bool `json:"pipelined,omitzero" toml:"pipelined"`
	// SizeByUnits chooses the geometry of a device that is described by its units
	// and what they hold at once (see units.go). Used with SeparateWidth. Off, and
	// where there is no description, the limits of the API decide, as in the
	// reference.
	SizeByUnits bool `json:"size_by_units,omitzero" toml:"size_by_units"`
	// BoundLaunches bounds how long a launch takes while other queues of the worker have
	// work, or had some lately, by the measured cost of the queue's launches (see
	// turn.go). Used with SeparateWidth. Off, a launch takes what waits, up to its depth,
	// as in the reference.
	BoundLaunches bool `json:"bound_launches,omitzero" toml:"bound_launches"`
	// ByCost chooses between the interpreter and a compiled kernel by what launches take on
	// each, once both were measured (see mode.go). Off, and until then, the queue's length,
	// hot code and the walk decide, as in the reference.
	ByCost bool `json:"by_cost,omitzero" toml:"by_cost"`
	// TuneGeometry lets the tuner choose groups, claim chunk and batch depth as
	// well as the width, and has the plan say so. Off, the tuner chooses the width
	// only. Without SeparateWidth it chooses nothing when this is off, as in the
	// reference, and the width when this is on.
	TuneGeometry bool `json:"tune_geometry,omitzero" toml:"tune_geometry"`
}

// Sizing holds the constants of grid and geometry.
type Sizing struct {
	// OccupancyDivisor: the derived ceiling is one group for each so many
	// groups that the device allows along a dimension.
	OccupancyDivisor uint32 `json:"occupancy_divisor,omitzero" toml:"occupancy_divisor"`
	// MaxDispatchWorkgroups caps the workgroups of one dispatch.
	MaxDispatchWorkgroups uint32 `json:"max_dispatch_workgroups,omitzero" toml:"max_dispatch_workgroups"`
	// A device that allows at least PowerfulInvocations invocations in a
	// workgroup gets a derived ceiling of at least PowerfulMinGroups.
	PowerfulInvocations uint32 `json:"powerful_invocations,omitzero" toml:"powerful_invocations"`
	PowerfulMinGroups   uint32 `json:"powerful_min_groups,omitzero" toml:"powerful_min_groups"`

	// MaxDefaultWidth is the widest workgroup chosen without a tuner, and
	// DefaultSubgroup the subgroup size assumed when the device does not tell.
	// Both are used with SeparateWidth only.
	MaxDefaultWidth uint32 `json:"max_default_width,omitzero" toml:"max_default_width"`
	DefaultSubgroup uint32 `json:"default_subgroup,omitzero" toml:"default_subgroup"`
	// MaxClaimWidths is the largest claim chunk in multiples of the width.
	// Used with SeparateWidth; off, a chunk is one width.
	MaxClaimWidths uint32 `json:"max_claim_widths,omitzero" toml:"max_claim_widths"`
	// BatchDepth is the most slots of one launch, before rounding down to
	// whole workgroups.
	BatchDepth uint32 `json:"batch_depth,omitzero" toml:"batch_depth"`
	// MaxInFlight is the most launches of a queue under way at a time. Used
	// with Pipelined; off, there is one.
	MaxInFlight uint32 `json:"max_in_flight,omitzero" toml:"max_in_flight"`
	// MaxTunedDepth is the most slots of a launch that the tuner may ask for:
	// while one runs, the worker's other queues wait. Used with TuneGeometry.
	MaxTunedDepth uint32 `json:"max_tuned_depth,omitzero" toml:"max_tuned_depth"`
	// TurnUs is what a launch may take on the device, in microseconds, while other queues
	// wait for it. Used with BoundLaunches.
	TurnUs uint32 `json:"turn_us,omitzero" toml:"turn_us"`
}

// Reference returns the configuration that reproduces the launch policy of
// vyre-runtime 0.6.2 to the last field.
func Reference() Config {
	return Config{
		MinHitCapacity:        1_024,
		HitCapacityMultiplier: 2,
		SaturatedWaves:        4,
		HotOpcodeThreshold:    8,
		HotWindowThreshold:    4,
		JITQueueLenThreshold:  4_096,
		PriorityAgeThreshold:  32,
		SparseFrontierBps:     500,
		DenseFrontierBps:      4_000,
		MemoryPressureBps:     8_500,
		FrontierHysteresisBps: 250,
		MemoryHysteresisBps:   250,
		FusionEdgeThreshold:   65_536,
		ScratchBytesPerHit:    16,
		DenseLookBps:          8_000,
		SparseNodeDivisor:     18,
		EdgeHysteresisBps:     2_500,
		HotOpcodeHysteresis:   2,
		HotWindowHysteresis:   1,
		JITQueueLenHysteresis: 512,
		WorkerHysteresisBps:   2_500,
		CostHysteresisBps:     2_500,
		Dwell:                 8,
		Sizing: Sizing{
			OccupancyDivisor:      256,
			MaxDispatchWorkgroups: 1_024,
			PowerfulInvocations:   4_096,
			PowerfulMinGroups:     64,
			MaxDefaultWidth:       256,
			DefaultSubgroup:       32,
			MaxClaimWidths:        4,
			BatchDepth:            65_536,
			MaxInFlight:           3,
			MaxTunedDepth:         1 << 20,
			TurnUs:                2_000,
		},
	}
}

// Standard returns the default configuration: the reference's thresholds with
// every departure switched on.
func Standard() Config {
	cfg := Reference()
	cfg.SeparateWidth = true
	cfg.ShedAutomatic = true
	cfg.TopologyByEdges = true
	cfg.GraphTopology = true
	cfg.FullHysteresis = true
	cfg.Steady = true
	cfg.FitBudget = true
	cfg.StrictBps = true
	cfg.Pipelined = true
	cfg.SizeByUnits = true
	cfg.BoundLaunches = true
	cfg.ByCost = true
	cfg.TuneGeometry = true
	return cfg
}

// Validate reports every problem of the configuration, joined into one error,
// or nil. A valid configuration never returns ErrHysteresisUnderflow,
// ErrHysteresisOverflow or ErrMemoryThreshold from a decision, its hysteresis
// bands do not overlap, and every topology it can enter it can also leave.
func (c *Config) Validate() error {
	var p problems
	p.atLeastOne("min hit capacity", c.MinHitCapacity)
	p.atLeastOne("hit capacity multiplier", c.HitCapacityMultiplier)
	p.atLeastOne("saturated waves", c.SaturatedWaves)
	p.atLeastOne("priority age threshold", c.PriorityAgeThreshold)
	p.atLeastOne("dwell", uint32(c.Dwell))
	p.demand(c.AuditLaunches != 1, "audit launches of 1 would make every decision an audit, want 0 or at least 2")

	p.atLeastOne("hot opcode threshold", c.HotOpcodeThreshold)
	p.atLeastOne("hot window threshold", c.HotWindowThreshold)
	p.loses("hot opcode", c.HotOpcodeThreshold, c.HotOpcodeHysteresis)
	p.loses("hot window", c.HotWindowThreshold, c.HotWindowHysteresis)
	p.loses("jit queue length", c.JITQueueLenThreshold, c.JITQueueLenHysteresis)
	p.demand(c.WorkerHysteresisBps < FullBps, "worker hysteresis of %d bps is not below %d", c.WorkerHysteresisBps, FullBps)
	p.demand(c.CostHysteresisBps < FullBps, "cost hysteresis of %d bps is not below %d", c.CostHysteresisBps, FullBps)

	// 0 < sparse-h, sparse+h < dense-h, dense+h < 10,000: a band that reached 0 or the whole
	// could be entered and never left.
	sparse, dense, h := int(c.SparseFrontierBps), int(c.DenseFrontierBps), int(c.FrontierHysteresisBps)
	p.demand(sparse > h, "sparse frontier %d bps does not exceed its hysteresis of %d bps", sparse, h)
	p.demand(sparse+h < dense-h, "sparse frontier %d bps and dense frontier %d bps overlap within a hysteresis of %d bps each", sparse, dense, h)
	p.demand(dense+h < FullBps, "dense frontier %d bps plus hysteresis of %d bps is not below %d", dense, h, FullBps)
	p.demand(c.MemoryPressureBps <= FullBps, "memory pressure threshold %d bps is above %d", c.MemoryPressureBps, FullBps)
	p.demand(c.MemoryPressureBps > c.MemoryHysteresisBps, "memory pressure threshold %d bps does not exceed its hysteresis of %d bps",
		c.MemoryPressureBps, c.MemoryHysteresisBps)
	p.atLeastOne("dense look bps", uint32(c.DenseLookBps))
	p.atLeastOne("sparse node divisor", uint32(c.SparseNodeDivisor))
	p.demand(c.DenseLookBps <= FullBps, "dense look of %d bps is above %d", c.DenseLookBps, FullBps)
	p.demand(c.EdgeHysteresisBps <= FullBps, "edge hysteresis of %d bps is above %d", c.EdgeHysteresisBps, FullBps)
	c.Sizing.validate(&p)
	return errors.Join(p...)
}

func (s *Sizing) validate(p *problems) {
	p.atLeastOne("occupancy divisor", s.OccupancyDivisor)
	p.atLeastOne("max dispatch workgroups", s.MaxDispatchWorkgroups)
	p.atLeastOne("powerful min groups", s.PowerfulMinGroups)
	p.atLeastOne("max claim widths", s.MaxClaimWidths)
	p.atLeastOne("batch depth", s.BatchDepth)
	p.atLeastOne("max in flight", s.MaxInFlight)
	p.atLeastOne("max tuned depth", s.MaxTunedDepth)
	p.atLeastOne("turn", s.TurnUs)
	power := bits.OnesCount32(s.DefaultSubgroup) == 1 && s.DefaultSubgroup >= 2
	p.demand(power, "default subgroup %d is not a power of two of at least 2", s.DefaultSubgroup)
	p.demand(s.MaxDefaultWidth >= s.DefaultSubgroup, "max default width %d is below the default subgroup %d", s.MaxDefaultWidth, s.DefaultSubgroup)
}

// problems are those of a configuration.
type problems []error

func (p *problems) demand(ok bool, format string, args ...any) {
	if !ok {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

func (p *problems) atLeastOne(name string, v uint32) {
	p.demand(v != 0, "%s is 0, want at least 1", name)
}

// loses demands that what a count has gained can be lost again.
func (p *problems) loses(name string, threshold, band uint32) {
	p.demand(band == 0 || band < threshold, "%s threshold %d does not exceed its hysteresis of %d", name, threshold, band)
}
