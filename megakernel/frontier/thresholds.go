package frontier

import (
	"fmt"
	"math"
	"structs"

	"ringmaster/megakernel/policy"
)

// Thresholds are the policy's rule for one graph in the form that the director compares (shaders/decide.glsl): what does
// not change from level to level is worked out beforehand by package policy, and shares of nodes have become numbers of
// nodes. Every comparison is of 32-bit numbers and exact, because a level has at most the nodes and edges of the graph.
// The rule itself is policy.Classify and policy.EdgeRule; there is no other copy of it in Go. The words are those of Job in
// shaders/control.glsl, in the same order.
type Thresholds struct {
	_ structs.HostLayout

	ByEdges uint32 // 1: by the frontier's work; 0: by its share of the nodes
	Pressed uint32 // 1: memory pressure is at its threshold
	Relaxed uint32 // 1: memory pressure is below the band, a constrained walk ends
	Wide    uint32 // the topology of a dense frontier
	Kept    uint32 // the same, when it was fused before
	Full    uint32 // 1: hysteresis also between dense and fused

	// By edges; see policy.EdgeRule.
	SparseWork uint32 // most work that is sparse
	RiseWork   uint32 // most work at which a sparse walk is kept
	PullNodes  uint32 // what a pull looks at, times the work, for each unexplored edge

	// By nodes, numbers of frontier nodes.
	SparseMost uint32 // most that is sparse
	HybridMost uint32 // most that is hybrid
	SparseKeep uint32 // most at which a sparse walk is kept
	HybridLow  uint32 // least at which a hybrid walk is not yet sparse
	HybridHigh uint32 // most at which a hybrid walk is not yet dense
	DenseKeep  uint32 // least at which a dense walk is kept
}

// Situation is what, besides the configuration, a job's decisions have in common.
type Situation struct {
	Nodes, Edges           uint32
	HotOpcodes, HotWindows uint32
	MemoryPressureBps      uint16
	PressureKnown          bool
}

// Request is the policy's request for a level.
func (s *Situation) Request(v *View) policy.Request {
	req := policy.Request{
		QueueLen:             v.FrontierNodes,
		HotOpcodeCount:       s.HotOpcodes,
		HotWindowCount:       s.HotWindows,
		GraphNodeCount:       s.Nodes,
		GraphEdgeCount:       s.Edges,
		MemoryPressureBps:    s.MemoryPressureBps,
		FrontierOutDegreeSum: uint64(v.FrontierEdges),
		FrontierNodes:        v.FrontierNodes,
		UnexploredEdges:      uint64(v.UnexploredEdges),
		Present:              policy.HasFrontierDensity | policy.HasFrontierEdges,
	}
	if s.Nodes > 0 {
		req.FrontierDensityBps = uint16(uint64(v.FrontierNodes) * policy.FullBps / uint64(s.Nodes))
	}
	if s.PressureKnown {
		req.Present |= policy.HasMemoryPressure
	}
	return req
}

// Classify is the policy's own decision of a level.
func (s *Situation) Classify(cfg *policy.Config, v *View) (policy.Classification, error) {
	req := s.Request(v)
	return policy.Classify(cfg, &req, v.Previous)
}

// newThresholds are the thresholds of a valid configuration; a configuration
// that is not is an error.
func newThresholds(cfg *policy.Config, s *Situation) (Thresholds, error) {
	if err := cfg.Validate(); err != nil {
		return Thresholds{}, err
	}
	if s.MemoryPressureBps > policy.FullBps {
		return Thresholds{}, fmt.Errorf("memory pressure of %d bps: at most %d: %w", s.MemoryPressureBps, policy.FullBps, ErrJob)
	}
	req := policy.Request{HotOpcodeCount: s.HotOpcodes, HotWindowCount: s.HotWindows, GraphNodeCount: s.Nodes, GraphEdgeCount: s.Edges}
	signals := policy.Observe(cfg, &req)
	edges := cfg.EdgeRule(s.Nodes)
	return Thresholds{
		ByEdges: bit(cfg.TopologyByEdges),
		Pressed: bit(s.MemoryPressureBps >= cfg.MemoryPressureBps),
		Relaxed: bit(uint32(s.MemoryPressureBps) < uint32(cfg.MemoryPressureBps-cfg.MemoryHysteresisBps)),
		Wide:    uint32(policy.DenseOrFused(cfg, &req, &signals, policy.TopologyNone)),
		Kept:    uint32(policy.DenseOrFused(cfg, &req, &signals, policy.TopologyFused)),
		Full:    bit(cfg.FullHysteresis),

		SparseWork: saturate(edges.SparseMost),
		RiseWork:   saturate(edges.SparseKeep),
		PullNodes:  saturate(edges.PullNodes),

		SparseMost: atMost(s.Nodes, int(cfg.SparseFrontierBps)),
		HybridMost: atMost(s.Nodes, int(cfg.DenseFrontierBps)-1),
		SparseKeep: atMost(s.Nodes, int(cfg.SparseFrontierBps)+int(cfg.FrontierHysteresisBps)),
		HybridLow:  atLeast(s.Nodes, int(cfg.SparseFrontierBps)-int(cfg.FrontierHysteresisBps)),
		HybridHigh: atMost(s.Nodes, int(cfg.DenseFrontierBps)+int(cfg.FrontierHysteresisBps)),
		DenseKeep:  atLeast(s.Nodes, int(cfg.DenseFrontierBps)-int(cfg.FrontierHysteresisBps)),
	}, nil
}

// atMost is the largest number of nodes whose share, in whole basis points, is at most bps.
func atMost(nodes uint32, bps int) uint32 {
	if nodes == 0 {
		return 0
	}
	return saturate((uint64(bps+1)*uint64(nodes) - 1) / policy.FullBps)
}

// atLeast is the smallest number of nodes whose share is at least bps.
func atLeast(nodes uint32, bps int) uint32 {
	return saturate((uint64(bps)*uint64(nodes) + policy.FullBps - 1) / policy.FullBps)
}

func saturate(v uint64) uint32 { return uint32(min(v, math.MaxUint32)) }

func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}
