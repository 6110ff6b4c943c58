package policy

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
	classify(cfg, &o.Request, &o.Signals, &prev, &c)
	return c, prev
}

// classify fills a zero classification and, unless it carries an error, moves
// the state on.
func classify(cfg *Config, req *Request, sig *Signals, state *TopologyState, c *Classification) {
	if cfg.StrictBps && max(sig.FrontierDensityBps, sig.MemoryPressureBps) > FullBps {
		c.Err = ErrBps
		return
	}
	var b edgeBounds
	if sig.ByEdges {
		b = newEdgeBounds(cfg, req)
	}
	c.Raw = rawTopology(cfg, req, sig, &b)
	c.Topology, c.Err = stabilise(cfg, req, sig, &b, c.Raw, state.Topology)
	if c.Err != nil {
		return
	}
	state.Topology = c.Topology
	c.Reason.Held = c.Topology != c.Raw
	switch {
	case c.Topology == TopologyFused && !sig.hot():
		warmReason(cfg, req, sig, &c.Reason)
	case sig.ByEdges && c.Topology != TopologyEmpty && c.Topology != TopologyMemoryConstrained:
		b.reason(c.Topology, &c.Reason)
	default:
		topologyReason(cfg, sig, c)
	}
}

// rawTopology is the walk the current values ask for. A request without any
// density is sparse: nothing says that a wide walk would pay.
func rawTopology(cfg *Config, req *Request, sig *Signals, b *edgeBounds) Topology {
	switch {
	case req.QueueLen == 0:
		return TopologyEmpty
	case sig.MemoryPressureBps >= cfg.MemoryPressureBps:
		return TopologyMemoryConstrained
	case sig.ByEdges:
		return b.raw(wide(cfg, req, sig, TopologyNone))
	case sig.FrontierDensityBps <= cfg.SparseFrontierBps:
		return TopologySparse
	case sig.FrontierDensityBps < cfg.DenseFrontierBps:
		return TopologyHybrid
	default:
		return wide(cfg, req, sig, TopologyNone)
	}
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

// stabilise keeps prev while the value that left it is still inside the band
// around the threshold. An empty queue and memory pressure at the threshold
// are taken at once; jumps over a whole band are too. Bounds are computed only
// on the rows that need them, so that only those rows can fail.
func stabilise(cfg *Config, req *Request, sig *Signals, b *edgeBounds, raw, prev Topology) (Topology, error) {
	if raw == prev || raw == TopologyEmpty || raw == TopologyMemoryConstrained {
		return raw, nil
	}
	if sig.ByEdges && prev != TopologyMemoryConstrained {
		return b.stabilise(raw, prev, wide(cfg, req, sig, prev)), nil
	}
	density := uint32(sig.FrontierDensityBps)
	hold := false
	switch prev {
	case TopologyMemoryConstrained:
		lo, err := below(cfg.MemoryPressureBps, cfg.MemoryHysteresisBps)
		if err != nil {
			return raw, err
		}
		hold = uint32(sig.MemoryPressureBps) >= lo

	case TopologySparse:
		hi, err := above(cfg.SparseFrontierBps, cfg.FrontierHysteresisBps)
		if err != nil {
			return raw, err
		}
		hold = density <= hi

	case TopologyHybrid:
		if raw == TopologySparse {
			lo, err := below(cfg.SparseFrontierBps, cfg.FrontierHysteresisBps)
			if err != nil {
				return raw, err
			}
			hold = density >= lo
			break
		}
		hi, err := above(cfg.DenseFrontierBps, cfg.FrontierHysteresisBps)
		if err != nil {
			return raw, err
		}
		hold = density <= hi

	case TopologyDense, TopologyFused:
		if raw == TopologySparse || raw != TopologyHybrid && !cfg.FullHysteresis {
			break
		}
		lo, err := below(cfg.DenseFrontierBps, cfg.FrontierHysteresisBps)
		if err != nil {
			return raw, err
		}
		hold = density >= lo
		if hold && cfg.FullHysteresis {
			return wide(cfg, req, sig, prev), nil
		}
		if prev == TopologyFused {
			// The reference holds a fused walk without asking for a graph.
			hold = hold && req.GraphEdgeCount >= cfg.FusionEdgeThreshold && sig.hot()
		}
	}
	if hold {
		return prev, nil
	}
	return raw, nil
}

func below(threshold, width uint16) (uint32, error) {
	if threshold < width {
		return 0, ErrHysteresisUnderflow
	}
	return uint32(threshold - width), nil
}

func above(threshold, width uint16) (uint32, error) {
	sum := uint32(threshold) + uint32(width)
	if sum > 0xFFFF {
		return 0, ErrHysteresisOverflow
	}
	return sum, nil
}
