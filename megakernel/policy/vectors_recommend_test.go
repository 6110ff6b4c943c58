package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
)

type recommendIn struct {
	Prev   *string
	Policy *policyIn
	Stream *int
	Step   int
	Req    requestIn
}

type policyIn struct {
	MinHitCapacity        num `json:"min_hit_capacity"`
	HitCapacityMultiplier num `json:"hit_capacity_multiplier"`
	SaturatedWaves        num `json:"saturated_waves"`
	HotOpcodeThreshold    num `json:"hot_opcode_threshold"`
	HotWindowThreshold    num `json:"hot_window_threshold"`
	JITQueueLenThreshold  num `json:"jit_queue_len_threshold"`
	PriorityAgeThreshold  num `json:"priority_age_threshold"`
	SparseFrontierBps     num `json:"sparse_frontier_threshold_bps"`
	DenseFrontierBps      num `json:"dense_frontier_threshold_bps"`
	MemoryPressureBps     num `json:"memory_pressure_threshold_bps"`
	FusionEdgeThreshold   num `json:"fusion_edge_threshold"`
	ScratchBytesPerHit    num `json:"scratch_bytes_per_hit"`
	Sched                 *schedIn
}

// schedIn leaves out default_worker_count: no result depends on it.
type schedIn struct {
	OccupancyDivisor      num `json:"occupancy_worker_divisor"`
	MaxDispatchWorkgroups num `json:"max_dispatch_workgroups"`
	PowerfulInvocations   num `json:"powerful_invocation_threshold"`
	PowerfulMinGroups     num `json:"powerful_min_worker_groups"`
}

func (s *schedIn) apply(z *Sizing) {
	if s == nil {
		return
	}
	z.OccupancyDivisor = uint32(s.OccupancyDivisor)
	z.MaxDispatchWorkgroups = uint32(s.MaxDispatchWorkgroups)
	z.PowerfulInvocations = uint32(s.PowerfulInvocations)
	z.PowerfulMinGroups = uint32(s.PowerfulMinGroups)
}

func (p *policyIn) config() Config {
	cfg := Reference()
	if p == nil {
		return cfg
	}
	cfg.MinHitCapacity = uint32(p.MinHitCapacity)
	cfg.HitCapacityMultiplier = uint32(p.HitCapacityMultiplier)
	cfg.SaturatedWaves = uint32(p.SaturatedWaves)
	cfg.HotOpcodeThreshold = uint32(p.HotOpcodeThreshold)
	cfg.HotWindowThreshold = uint32(p.HotWindowThreshold)
	cfg.JITQueueLenThreshold = uint32(p.JITQueueLenThreshold)
	cfg.PriorityAgeThreshold = uint32(p.PriorityAgeThreshold)
	cfg.SparseFrontierBps = uint16(p.SparseFrontierBps)
	cfg.DenseFrontierBps = uint16(p.DenseFrontierBps)
	cfg.MemoryPressureBps = uint16(p.MemoryPressureBps)
	cfg.FusionEdgeThreshold = uint32(p.FusionEdgeThreshold)
	cfg.ScratchBytesPerHit = uint32(p.ScratchBytesPerHit)
	p.Sched.apply(&cfg.Sizing)
	return cfg
}

type requestIn struct {
	QueueLen                   num `json:"queue_len"`
	RequestedWorkerGroups      num `json:"requested_worker_groups"`
	MaxWorkgroupSizeX          num `json:"max_workgroup_size_x"`
	MaxWorkgroupsPerDimension  num `json:"max_compute_workgroups_per_dimension"`
	MaxInvocationsPerWorkgroup num `json:"max_compute_invocations_per_workgroup"`
	RequestedHitCapacity       num `json:"requested_hit_capacity"`
	ExpectedHitsPerItem        num `json:"expected_hits_per_item"`
	HotOpcodeCount             num `json:"hot_opcode_count"`
	HotWindowCount             num `json:"hot_window_count"`
	RequeueCount               num `json:"requeue_count"`
	MaxPriorityAge             num `json:"max_priority_age"`
	GraphNodeCount             num `json:"graph_node_count"`
	GraphEdgeCount             num `json:"graph_edge_count"`
	FrontierDensityBps         num `json:"frontier_density_bps"`
	MemoryPressureBps          num `json:"memory_pressure_bps"`
	ResidentDeviceBytes        num `json:"resident_device_bytes"`
	MemoryBudgetBytes          num `json:"device_memory_budget_bytes"`
}

func (r *requestIn) request() Request {
	return Request{
		QueueLen:              uint32(r.QueueLen),
		RequestedWorkerGroups: uint32(r.RequestedWorkerGroups),
		Limits: Limits{
			MaxWorkgroupSizeX:          uint32(r.MaxWorkgroupSizeX),
			MaxWorkgroupsPerDimension:  uint32(r.MaxWorkgroupsPerDimension),
			MaxInvocationsPerWorkgroup: uint32(r.MaxInvocationsPerWorkgroup),
		},
		RequestedHitCapacity: uint32(r.RequestedHitCapacity),
		ExpectedHitsPerItem:  uint32(r.ExpectedHitsPerItem),
		HotOpcodeCount:       uint32(r.HotOpcodeCount),
		HotWindowCount:       uint32(r.HotWindowCount),
		RequeueCount:         uint64(r.RequeueCount),
		MaxPriorityAge:       uint32(r.MaxPriorityAge),
		GraphNodeCount:       uint32(r.GraphNodeCount),
		GraphEdgeCount:       uint32(r.GraphEdgeCount),
		FrontierDensityBps:   uint16(r.FrontierDensityBps),
		MemoryPressureBps:    uint16(r.MemoryPressureBps),
		ResidentDeviceBytes:  uint64(r.ResidentDeviceBytes),
		MemoryBudgetBytes:    uint64(r.MemoryBudgetBytes),
	}
}

// recommendOut holds the fields of the original's result in the wire's names.
type recommendOut struct {
	WorkgroupSizeX     uint32    `json:"workgroup_size_x"`
	SlotCount          uint32    `json:"slot_count"`
	DispatchGrid       [3]uint32 `json:"dispatch_grid"`
	WorkerGroups       uint32    `json:"worker_groups"`
	HitCapacity        uint32    `json:"hit_capacity"`
	Pressure           string    `json:"pressure"`
	ExecutionMode      string    `json:"execution_mode"`
	Topology           string    `json:"topology"`
	PromoteHotOpcodes  bool      `json:"promote_hot_opcodes"`
	PromoteHotWindows  bool      `json:"promote_hot_windows"`
	AgePriorityWork    bool      `json:"age_priority_work"`
	EstimatedPeakBytes num       `json:"estimated_peak_device_bytes"`
	MemoryBudgetBytes  num       `json:"device_memory_budget_bytes"`

	Mid struct {
		FrontierDensityBps num    `json:"frontier_density_bps"`
		MemoryPressureBps  num    `json:"memory_pressure_bps"`
		RawTopology        string `json:"raw_topology"`
		ScheduledGroups    num    `json:"scheduled_worker_groups"`
	} `json:"mid"`
}

func outOf(rec *Recommendation) recommendOut {
	out := recommendOut{
		WorkgroupSizeX:     rec.WorkgroupSizeX,
		SlotCount:          rec.SlotCount,
		DispatchGrid:       rec.DispatchGrid,
		WorkerGroups:       rec.WorkerGroups,
		HitCapacity:        rec.HitCapacity,
		Pressure:           rec.Pressure.String(),
		ExecutionMode:      rec.Mode.String(),
		Topology:           rec.Topology.String(),
		PromoteHotOpcodes:  rec.PromoteHotOpcodes,
		PromoteHotWindows:  rec.PromoteHotWindows,
		AgePriorityWork:    rec.AgePriorityWork,
		EstimatedPeakBytes: num(rec.EstimatedPeakBytes),
		MemoryBudgetBytes:  num(rec.MemoryBudgetBytes),
	}
	out.Mid.FrontierDensityBps = num(rec.FrontierDensityBps)
	out.Mid.MemoryPressureBps = num(rec.MemoryPressureBps)
	out.Mid.RawTopology = rec.RawTopology.String()
	out.Mid.ScheduledGroups = num(rec.ScheduledGroups)
	return out
}

var vectorErrors = map[string]error{
	"panic_hysteresis_underflow":         ErrHysteresisUnderflow,
	"panic_hysteresis_overflow":          ErrHysteresisOverflow,
	"memory_threshold_over_10000":        ErrMemoryThreshold,
	"zero_max_workgroup_size_x":          ErrZeroWorkgroupSize,
	"zero_max_workgroups_per_dimension":  ErrZeroWorkgroups,
	"zero_max_invocations_per_workgroup": ErrZeroInvocations,
	"hit_capacity_overflow":              ErrHitCapacity,
	"peak_bytes_overflow":                ErrPeakBytes,
}

// wantError compares an error with a vector's error kind and members.
func wantError(v *vector, err error) error {
	if v.Err == "device_out_of_memory" {
		var oom *OutOfMemoryError
		if !errors.As(err, &oom) || oom.Requested != uint64(v.Requested) || oom.Available != uint64(v.Available) {
			return fmt.Errorf("got error %v, want %d bytes of %d", err, v.Requested, v.Available)
		}
		return nil
	}
	want, known := vectorErrors[v.Err]
	if !known {
		return fmt.Errorf("unknown error kind %q", v.Err)
	}
	if !errors.Is(err, want) {
		return fmt.Errorf("got error %v, want %v", err, want)
	}
	return nil
}

func TestReferenceReproducesRecommendations(t *testing.T) {
	type position struct {
		step  int
		state State // after the last step without an error
	}
	streams := map[int]position{}
	steps, failures := 0, 0
	eachVector(t, "recommend.jsonl.gz", func(v *vector) error {
		var in recommendIn
		if err := json.Unmarshal(v.In, &in); err != nil {
			return err
		}
		var prev State
		if in.Prev != nil {
			topology, err := parseTopology(*in.Prev)
			if err != nil {
				return err
			}
			prev.Topology.Topology = topology
		}
		if in.Stream != nil {
			steps++
			// Where a file holds a stream only in part, prev alone counts.
			if at, ok := streams[*in.Stream]; ok && at.step+1 == in.Step {
				if at.state.Topology != prev.Topology {
					return fmt.Errorf("stream %d carried %v, want %v", *in.Stream, at.state.Topology.Topology, prev.Topology.Topology)
				}
				prev = at.state
			}
			streams[*in.Stream] = position{in.Step, prev}
		}
		cfg, req := in.Policy.config(), in.Req.request()
		rec, next, err := Decide(&cfg, &req, prev)
		if v.Err != "" {
			failures++
			if rec != (Recommendation{}) || next.Plan != prev.Plan {
				return fmt.Errorf("an error came with a plan %+v or a changed plan state", rec)
			}
			return wantError(v, err)
		}
		if err != nil {
			return err
		}
		if in.Stream != nil {
			streams[*in.Stream] = position{in.Step, next}
		}
		var want recommendOut
		if err := json.Unmarshal(v.Out, &want); err != nil {
			return err
		}
		if got := outOf(&rec); got != want {
			return fmt.Errorf("got  %+v\nwant %+v", got, want)
		}
		return nil
	})
	t.Logf("%d of the cases in %d streams, %d with an error", steps, len(streams), failures)
}
