package policy

import "math"

// Classification is how a launch walks its work, and why.
type Classification struct {
	Signals
	Raw      Topology // what the current values ask for
	Topology Topology // after hysteresis
	Reason   Reason   // Held if hysteresis kept the previous topology
}

// Classify is the first half of a decision: observe, raw topology, stabilise. The
// error is ErrBps, ErrHysteresisUnderflow or ErrHysteresisOverflow.
//
// In a graph job a kernel decides the same for every level on the device: its
// code is DirectorSource. A change of the rules below is a change of that file.
func Classify(cfg *Config, req *Request, prev Topology) (c Classification, err error) {
	err = c.classify(cfg, req, prev)
	return c, err
}

// DirectorSource is the device's copy of rawTopology and stabilise, from the top
// of the repository. Package frontier derives the thresholds that it compares
// with, and its tests hold the two together.
const DirectorSource = "megakernel/frontier/shaders/decide.glsl"

// rawTopology is the walk that the current values ask for; the first match
// wins. A graph without any density is sparse: nothing says that a wide walk would
// pay.
func rawTopology(cfg *Config, req *Request, sig *Signals) Topology {
	switch {
	case cfg.GraphTopology && !req.hasGraph():
		return TopologyNone
	case req.QueueLen == 0:
		return TopologyEmpty
	case sig.MemoryPressureBps >= cfg.MemoryPressureBps:
		return TopologyMemoryConstrained
	case sig.ByEdges:
		rule := cfg.EdgeRule(req.GraphNodeCount)
		return rule.Raw(req.frontierWork(), req.UnexploredEdges, DenseOrFused(cfg, req, sig, TopologyNone))
	case sig.FrontierDensityBps <= cfg.SparseFrontierBps:
		return TopologySparse
	case sig.FrontierDensityBps < cfg.DenseFrontierBps:
		return TopologyHybrid
	default:
		return DenseOrFused(cfg, req, sig, TopologyNone)
	}
}

// hasGraph says whether a request says anything of a graph: its size, or its frontier.
func (r *Request) hasGraph() bool {
	return r.GraphNodeCount|r.GraphEdgeCount != 0 || r.FrontierDensityBps != 0 || r.Present&(HasFrontierDensity|HasFrontierEdges) != 0
}

// DenseOrFused is the walk of a dense frontier that was walked as prev before:
// fused on a graph with enough edges and with something to specialise for, which may
// cool by a band once it is: opcodes or windows that a publisher calls hot, or a compiled
// kernel that was measured to take clearly less time.
func DenseOrFused(cfg *Config, req *Request, sig *Signals, prev Topology) Topology {
	hot := sig.hot() || prev == TopologyFused && sig.warm()
	if hot && req.GraphNodeCount > 0 && req.GraphEdgeCount >= cfg.FusionEdgeThreshold {
		return TopologyFused
	}
	return TopologyDense
}

// stabilise keeps the previous topology while the value is inside the band
// around the threshold that it crossed. No graph, an empty queue and memory pressure
// at the threshold take effect at once.
func stabilise(cfg *Config, req *Request, sig *Signals, raw, prev Topology) (Topology, error) {
	switch {
	case raw == prev, raw == TopologyNone, raw == TopologyEmpty, raw == TopologyMemoryConstrained:
		return raw, nil
	case prev == TopologyMemoryConstrained:
		return keepFrom(cfg.MemoryPressureBps, cfg.MemoryHysteresisBps, sig.MemoryPressureBps, prev, raw)
	case sig.ByEdges:
		rule := cfg.EdgeRule(req.GraphNodeCount)
		return rule.Stabilise(raw, prev, DenseOrFused(cfg, req, sig, prev), req.frontierWork()), nil
	default:
		return stabiliseByDensity(cfg, req, sig, raw, prev)
	}
}

// stabiliseByDensity is stabilise where the share of vertices decides. A jump
// over the whole hybrid range takes effect at once.
func stabiliseByDensity(cfg *Config, req *Request, sig *Signals, raw, prev Topology) (Topology, error) {
	density, band := sig.FrontierDensityBps, cfg.FrontierHysteresisBps
	switch {
	case prev == TopologySparse:
		return keepUpTo(cfg.SparseFrontierBps, band, density, prev, raw)
	case prev == TopologyHybrid && raw == TopologySparse:
		return keepFrom(cfg.SparseFrontierBps, band, density, prev, raw)
	case prev == TopologyHybrid:
		return keepUpTo(cfg.DenseFrontierBps, band, density, prev, raw)
	case prev != TopologyDense && prev != TopologyFused, raw == TopologySparse:
		return raw, nil
	case cfg.FullHysteresis:
		return keepFrom(cfg.DenseFrontierBps, band, density, DenseOrFused(cfg, req, sig, prev), raw)
	case raw != TopologyHybrid: // the reference has no band between dense and fused
		return raw, nil
	}
	kept, err := keepFrom(cfg.DenseFrontierBps, band, density, prev, raw)
	if prev == TopologyFused && (!sig.hot() || req.GraphEdgeCount < cfg.FusionEdgeThreshold) {
		kept = raw // the reference asks for edges here, and not for a graph
	}
	return kept, err
}

// keepFrom is kept from a band below the threshold on, and raw below that.
func keepFrom(threshold, band, value uint16, kept, raw Topology) (Topology, error) {
	switch {
	case band > threshold:
		return raw, ErrHysteresisUnderflow
	case value >= threshold-band:
		return kept, nil
	default:
		return raw, nil
	}
}

// keepUpTo is kept up to a band above the threshold, and raw above that.
func keepUpTo(threshold, band, value uint16, kept, raw Topology) (Topology, error) {
	switch {
	case band > math.MaxUint16-threshold:
		return raw, ErrHysteresisOverflow
	case value <= threshold+band:
		return kept, nil
	default:
		return raw, nil
	}
}

// tell notes the walk in the recommendation, with what it was decided from.
func (c *Classification) tell(cfg *Config, req *Request, rec *Recommendation) {
	rec.Topology, rec.RawTopology = c.Topology, c.Raw
	rec.FrontierDensityBps, rec.MemoryPressureBps = c.FrontierDensityBps, c.MemoryPressureBps
	rec.MemoryBudgetBytes = req.MemoryBudgetBytes
	rec.addReason().follows(c.Reason.Rule, &c.Reason)
	if c.PressureKnown && c.Topology != TopologyNone {
		memoryReason(cfg, c, rec.addReason())
	}
}

// topologyReason says which rule keeps the topology, and where it is left. Ends
// of bands saturate: they explain, they do not decide.
func topologyReason(cfg *Config, req *Request, c *Classification) {
	r := &c.Reason
	switch {
	case c.Topology == TopologyNone:
		r.Rule, r.Threshold, r.Distance = RuleNoGraph, 1, 1
	case c.Topology == TopologyEmpty:
		r.Rule, r.Threshold, r.Distance = RuleQueueEmpty, 1, 1
	case c.Topology == TopologyMemoryConstrained:
		r.leavesBelow(RuleConstrained, uint64(c.MemoryPressureBps), below(cfg.MemoryPressureBps, cfg.MemoryHysteresisBps))
	case c.Topology == TopologyFused && !c.hot() && c.WarmOpcodes:
		r.leavesBelow(RuleFusedHotOpcodes, uint64(req.HotOpcodeCount), sub(uint64(cfg.HotOpcodeThreshold), uint64(cfg.HotOpcodeHysteresis)))
	case c.Topology == TopologyFused && !c.hot() && !c.WarmWindows:
		r.leavesAbove(RuleFusedCost, req.Compiled.SlotPs, sub(req.Interpreted.SlotPs, 1))
	case c.Topology == TopologyFused && !c.hot():
		r.leavesBelow(RuleFusedHotWindows, uint64(req.HotWindowCount), sub(uint64(cfg.HotWindowThreshold), uint64(cfg.HotWindowHysteresis)))
	case c.ByEdges:
		rule := cfg.EdgeRule(req.GraphNodeCount)
		rule.reason(c.Topology, req.frontierWork(), req.UnexploredEdges, r)
	default:
		densityReason(cfg, c.Topology, uint64(c.FrontierDensityBps), r)
	}
	r.Held = c.Topology != c.Raw
}

func densityReason(cfg *Config, topology Topology, density uint64, r *Reason) {
	band := cfg.FrontierHysteresisBps
	switch topology {
	case TopologySparse:
		r.leavesAbove(RuleSparse, density, above(cfg.SparseFrontierBps, band))
	case TopologyHybrid:
		r.leavesRange(RuleHybrid, density, below(cfg.SparseFrontierBps, band), above(cfg.DenseFrontierBps, band))
	case TopologyDense:
		r.leavesBelow(RuleDense, density, below(cfg.DenseFrontierBps, band))
	case TopologyFused:
		r.leavesBelow(RuleFused, density, below(cfg.DenseFrontierBps, band))
	}
}
