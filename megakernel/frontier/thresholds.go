package frontier

import (
	"fmt"
	"math"

	"ringmaster/megakernel/policy"
)

// Thresholds are the policy's rule for one graph in the form that the director compares:
// what does not change from level to level is worked out beforehand, and shares of nodes
// have become numbers of nodes. Every comparison is of 32-bit numbers and exact, because a
// level has at most the nodes and edges of the graph.
type Thresholds struct {
	ByEdges uint32 // 1: by the frontier's work; 0: by its share of the nodes
	Pressed uint32 // 1: memory pressure is at its threshold
	Relaxed uint32 // 1: memory pressure is below the band, a constrained walk ends
	Wide    uint32 // the topology of a dense frontier
	Kept    uint32 // the same, when it was fused before
	Full    uint32 // 1: hysteresis also between dense and fused

	// By edges; see policy.Config.
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

// thresholdWords is the number of words of Thresholds in the control block.
const thresholdWords = 15

func (t *Thresholds) words() [thresholdWords]uint32 {
	return [...]uint32{
		t.ByEdges, t.Pressed, t.Relaxed, t.Wide, t.Kept, t.Full,
		t.SparseWork, t.RiseWork, t.PullNodes,
		t.SparseMost, t.HybridMost, t.SparseKeep, t.HybridLow, t.HybridHigh, t.DenseKeep,
	}
}

// thresholdNames are the words' names in the kernels, in the order of words.
var thresholdNames = [thresholdWords]string{
	"by_edges", "pressed", "relaxed", "wide", "kept", "full_hysteresis",
	"sparse_work", "rise_work", "pull_nodes",
	"sparse_most", "hybrid_most", "sparse_keep", "hybrid_low", "hybrid_high", "dense_keep",
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
func (s *Situation) Classify(cfg *policy.Config, v *View) policy.Classification {
	req := s.Request(v)
	o := policy.Observe(cfg, &req)
	c, _ := policy.Classify(cfg, &o, policy.TopologyState{Topology: v.Previous})
	return c
}

// NewThresholds are the thresholds of a valid configuration; a configuration
// that is not is an error.
func NewThresholds(cfg *policy.Config, s *Situation) (Thresholds, error) {
	if err := cfg.Validate(); err != nil {
		return Thresholds{}, fmt.Errorf("frontier: %w", err)
	}
	if s.MemoryPressureBps > policy.FullBps {
		return Thresholds{}, fmt.Errorf("frontier: memory pressure of %d bps: at most %d: %w", s.MemoryPressureBps, policy.FullBps, ErrJob)
	}
	o := policy.Observe(cfg, &policy.Request{HotOpcodeCount: s.HotOpcodes, HotWindowCount: s.HotWindows})
	hot := o.PromoteHotOpcodes || o.PromoteHotWindows
	fusible := s.Nodes > 0 && s.Edges >= cfg.FusionEdgeThreshold
	wide := func(hot bool) uint32 {
		if hot && fusible {
			return uint32(policy.TopologyFused)
		}
		return uint32(policy.TopologyDense)
	}
	sparse := uint64(s.Nodes / uint32(max(cfg.SparseNodeDivisor, 1)))
	return Thresholds{
		ByEdges: bit(cfg.TopologyByEdges),
		Pressed: bit(s.MemoryPressureBps >= cfg.MemoryPressureBps),
		Relaxed: bit(uint32(s.MemoryPressureBps) < uint32(cfg.MemoryPressureBps-cfg.MemoryHysteresisBps)),
		Wide:    wide(hot),
		Kept:    wide(hot || o.WarmOpcodes || o.WarmWindows),
		Full:    bit(cfg.FullHysteresis),

		SparseWork: uint32(sparse),
		RiseWork:   saturate(sparse + sparse*uint64(cfg.EdgeHysteresisBps)/policy.FullBps),
		PullNodes:  cfg.PullNodes(s.Nodes),

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

// Decide is the topology of a level whose frontier is not empty, before and after
// hysteresis. The director kernel computes the same.
func (t *Thresholds) Decide(nodes, edges, unexplored uint32, prev policy.Topology) (raw, topology policy.Topology) {
	work := max(edges, nodes)
	switch {
	case t.Pressed != 0:
		return policy.TopologyMemoryConstrained, policy.TopologyMemoryConstrained
	case t.ByEdges != 0:
		raw = t.byEdges(work, unexplored)
	default:
		raw = t.byNodes(nodes)
	}
	return raw, t.held(raw, prev, nodes, work)
}

// held is the topology after hysteresis.
func (t *Thresholds) held(raw, prev policy.Topology, nodes, work uint32) policy.Topology {
	switch {
	case raw == prev:
		return raw
	case prev == policy.TopologyMemoryConstrained && t.Relaxed == 0:
		return prev
	case prev == policy.TopologyMemoryConstrained:
		return raw
	case t.ByEdges != 0:
		return t.heldByEdges(raw, prev, work)
	}
	return t.heldByNodes(raw, prev, nodes)
}

// options are the topologies that may follow prev where edges decide: low up to lowMost of work, mid where a push still
// costs less than a pull, and high.
func (t *Thresholds) options(prev policy.Topology) (lowMost uint32, low, mid, high policy.Topology) {
	const most = 1<<32 - 1
	lowMost = t.SparseWork
	if prev == policy.TopologySparse {
		lowMost = max(lowMost, t.RiseWork)
	}
	return lowMost, t.held(policy.TopologySparse, prev, 0, 0), t.held(policy.TopologyHybrid, prev, 0, most), t.held(policy.Topology(t.Wide), prev, 0, most)
}

func (t *Thresholds) byEdges(work, unexplored uint32) policy.Topology {
	switch {
	case work <= t.SparseWork:
		return policy.TopologySparse
	case work <= unexplored && uint64(work)*uint64(work) <= uint64(t.PullNodes)*uint64(unexplored):
		return policy.TopologyHybrid
	}
	return policy.Topology(t.Wide)
}

func (t *Thresholds) byNodes(nodes uint32) policy.Topology {
	switch {
	case nodes <= t.SparseMost:
		return policy.TopologySparse
	case nodes <= t.HybridMost:
		return policy.TopologyHybrid
	}
	return policy.Topology(t.Wide)
}

// wideAfter is the topology of a dense frontier when prev was before it.
func (t *Thresholds) wideAfter(prev policy.Topology) policy.Topology {
	if prev == policy.TopologyFused {
		return policy.Topology(t.Kept)
	}
	return policy.Topology(t.Wide)
}

func (t *Thresholds) heldByEdges(raw, prev policy.Topology, work uint32) policy.Topology {
	switch {
	case prev == policy.TopologySparse && work <= t.RiseWork:
		return prev
	case (prev == policy.TopologyDense || prev == policy.TopologyFused) && work > t.SparseWork:
		return t.wideAfter(prev)
	}
	return raw
}

func (t *Thresholds) heldByNodes(raw, prev policy.Topology, nodes uint32) policy.Topology {
	hold := false
	switch prev {
	case policy.TopologySparse:
		hold = nodes <= t.SparseKeep
	case policy.TopologyHybrid:
		if raw == policy.TopologySparse {
			hold = nodes >= t.HybridLow
		} else {
			hold = nodes <= t.HybridHigh
		}
	case policy.TopologyDense, policy.TopologyFused:
		if raw == policy.TopologySparse || raw != policy.TopologyHybrid && t.Full == 0 || nodes < t.DenseKeep {
			break
		}
		if t.Full != 0 {
			return t.wideAfter(prev)
		}
		hold = prev == policy.TopologyDense || policy.Topology(t.Wide) == policy.TopologyFused
	}
	if hold {
		return prev
	}
	return raw
}
