package policy

import "math"

// Classification is the topology of a decision and why.
type Classification struct {
	Raw      Topology // what the current values ask for
	Topology Topology // after hysteresis
	Reason   Reason   // Held if hysteresis kept the previous topology
	Err      error    // ErrBps, ErrHysteresisUnderflow or ErrHysteresisOverflow, returned by Plan
}

// Classify runs the stages raw topology and stabilise. On an error the state
// returned is prev.
func Classify(cfg *Config, o *Observation, prev TopologyState) (Classification, TopologyState) {
	var c Classification
	c.Raw, c.Topology, c.Err = classify(cfg, &o.Request, &o.Signals, prev.Topology, &c.Reason)
	if c.Err == nil {
		prev.Topology = c.Topology
	}
	return c, prev
}

// bit is 1 for true: a flag of the processor, without a branch. Branches on values
// that differ from queue to queue are mispredicted, which would take most of a
// decision's time. So the decision adds up comparisons where their outcome is open,
// and branches where it is nearly always the same.
func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// The topologies as numbers to count with. The processor moves conditionally
// 32 bits and not 8.
const (
	empty  = uint32(TopologyEmpty)
	sparse = uint32(TopologySparse)
	hybrid = uint32(TopologyHybrid)
	dense  = uint32(TopologyDense)
	fused  = uint32(TopologyFused)
	memory = uint32(TopologyMemoryConstrained)
)

// classify returns the walk that the current values ask for and the one after
// hysteresis, and fills in the reason, a zero one, unless there is an error.
func classify(cfg *Config, req *Request, sig *Signals, prev Topology, why *Reason) (raw, topology Topology, err error) {
	if cfg.StrictBps && max(sig.FrontierDensityBps, sig.MemoryPressureBps) > FullBps {
		return TopologyNone, TopologyNone, ErrBps
	}
	if sig.ByEdges {
		return classifyByEdges(cfg, req, sig, prev, why)
	}
	h := heatOf(cfg, req, sig)
	asked, was := askedByDensity(cfg, req, sig, h), uint32(prev)

	is := asked
	if asked != was {
		if is, err = hold(cfg, req, sig, h, was, asked); err != nil {
			return Topology(asked), Topology(asked), err
		}
	}
	if is == empty || is == fused && h.hot == 0 {
		otherReason(cfg, req, sig, Topology(is), why)
	} else {
		value, lo, hi := cfg.band(sig, is)
		edge, distance := nearest(is, value, lo, hi)
		why.Rule = topologyRules[is%8]
		why.Value, why.Threshold, why.Distance = uint64(uint32(value)), uint64(uint32(edge)), uint64(uint32(distance))
	}
	why.Held = is != asked
	return Topology(asked), Topology(is), nil
}

// hold keeps the previous topology, was, while the value is still inside the band
// around the threshold that it crossed; a dense walk is then fused or not as a new one
// would be. An empty queue, memory pressure at the threshold and jumps over a whole
// band take effect at once. The ends of a band can be errors only if the band is asked
// for.
func hold(cfg *Config, req *Request, sig *Signals, h heat, was, asked uint32) (uint32, error) {
	// The end of the band that was is left by, and how far inside the value is.
	value, lo, hi := cfg.band(sig, was)
	edge, inside := lo, value-lo
	up := bit(asked > was) & bit(was <= hybrid)
	if up != 0 {
		edge, inside = hi, hi-value
	}
	wasWide := bit(was-dense <= fused-dense)
	may := bit(asked-sparse <= fused-sparse) & bit(was-sparse <= memory-sparse) &^ (wasWide & bit(asked == sparse))
	kept := was
	if cfg.FullHysteresis {
		again := dense + uint32(h.fusible&(h.hot|bit(was == fused)&h.warm))
		if wasWide != 0 {
			kept = again
		}
	} else if wasWide != 0 {
		may &= bit(asked == hybrid)
		if was == fused && inside >= 0 {
			// The reference holds a fused walk without asking for a graph.
			inside = int32(h.hot&bit(req.GraphEdgeCount >= cfg.FusionEdgeThreshold)) - 1
		}
	}
	switch {
	case may&bit(uint32(edge) > math.MaxUint16) == 0: // neither negative
	case up != 0:
		return asked, ErrHysteresisOverflow
	default:
		return asked, ErrHysteresisUnderflow
	}
	if may&bit(inside >= 0) != 0 {
		asked = kept
	}
	return asked, nil
}

// heat says, in bits, what a dense walk may be fused for.
type heat struct {
	fusible uint8 // the graph is large enough
	hot     uint8 // something is promoted
	warm    uint8 // or was, and is within the band
}

func heatOf(cfg *Config, req *Request, sig *Signals) heat {
	return heat{
		fusible: bit(req.GraphNodeCount != 0) & bit(req.GraphEdgeCount >= cfg.FusionEdgeThreshold),
		hot:     bit(sig.PromoteHotOpcodes) | bit(sig.PromoteHotWindows),
		warm:    bit(sig.WarmOpcodes) | bit(sig.WarmWindows),
	}
}

// askedByDensity is the walk the current values ask for. A request without any
// density is sparse: nothing says that a wide walk would pay. Sparse, hybrid,
// dense and fused are successive numbers, to which comparisons add up.
func askedByDensity(cfg *Config, req *Request, sig *Signals, h heat) uint32 {
	above := bit(sig.FrontierDensityBps > cfg.SparseFrontierBps)
	wide := above & bit(sig.FrontierDensityBps >= cfg.DenseFrontierBps)
	asked := sparse + uint32(above+wide+wide&h.fusible&h.hot)
	if sig.MemoryPressureBps >= cfg.MemoryPressureBps {
		asked = memory
	}
	if req.QueueLen == 0 {
		asked = empty
	}
	return asked
}

// band is the range of a value in which a topology is kept, both ends
// included. What is sparse is not left downwards, and what is dense not
// upwards: there the end means nothing.
func (c *Config) band(sig *Signals, topology uint32) (value, lo, hi int32) {
	// Read before the comparisons, or these would become branches.
	pressure, toMemory, memoryWidth := sig.MemoryPressureBps, c.MemoryPressureBps, c.MemoryHysteresisBps
	v, least, most, width := sig.FrontierDensityBps, c.SparseFrontierBps, c.DenseFrontierBps, c.FrontierHysteresisBps
	if topology == sparse {
		most = c.SparseFrontierBps
	}
	if topology >= dense {
		least = c.DenseFrontierBps
	}
	if topology == memory {
		v, least, width = pressure, toMemory, memoryWidth
	}
	return int32(v), int32(least) - int32(width), int32(most) + int32(width)
}

// nearest is the end of the band that the value is nearer to, and by how much
// the value must move to leave the topology there.
func nearest(topology uint32, value, lo, hi int32) (edge, distance int32) {
	edge = max(lo, 0)
	distance, up := max(value+1-edge, 0), max(hi+1-value, 0)
	if bit(topology == sparse)|bit(topology == hybrid)&bit(up < distance) != 0 {
		edge, distance = hi, up
	}
	return edge, distance
}

var topologyRules = [8]Rule{
	TopologySparse:            RuleSparse,
	TopologyHybrid:            RuleHybrid,
	TopologyDense:             RuleDense,
	TopologyFused:             RuleFused,
	TopologyMemoryConstrained: RuleConstrained,
}

// wide is the walk of a dense frontier: fused on a graph with enough edges and
// with something hot to specialise for, which may cool by a band once it is.
func wide(cfg *Config, req *Request, sig *Signals, prev Topology) Topology {
	hot := sig.hot() || prev == TopologyFused && sig.warm()
	if hot && req.GraphNodeCount > 0 && req.GraphEdgeCount >= cfg.FusionEdgeThreshold {
		return TopologyFused
	}
	return TopologyDense
}

// classifyByEdges is classify by the out-edges of the frontier.
func classifyByEdges(cfg *Config, req *Request, sig *Signals, prev Topology, why *Reason) (raw, topology Topology, err error) {
	b := newEdgeBounds(cfg, req)
	raw = b.raw(wide(cfg, req, sig, TopologyNone))
	switch {
	case req.QueueLen == 0:
		raw = TopologyEmpty
	case sig.MemoryPressureBps >= cfg.MemoryPressureBps:
		raw = TopologyMemoryConstrained
	}
	topology = raw
	if raw != prev && raw != TopologyEmpty && raw != TopologyMemoryConstrained {
		if prev != TopologyMemoryConstrained {
			topology = b.stabilise(raw, prev, wide(cfg, req, sig, prev))
		} else if cfg.MemoryPressureBps < cfg.MemoryHysteresisBps {
			return raw, raw, ErrHysteresisUnderflow
		} else if sig.MemoryPressureBps >= cfg.MemoryPressureBps-cfg.MemoryHysteresisBps {
			topology = prev
		}
	}
	why.Held = topology != raw
	switch {
	case topology == TopologyFused && !sig.hot() || topology == TopologyEmpty || topology == TopologyMemoryConstrained:
		otherReason(cfg, req, sig, topology, why)
	default:
		b.reason(topology, why)
	}
	return raw, topology, nil
}
