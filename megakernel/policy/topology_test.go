package policy

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// table is Classify by density as a table with a branch for every row, the way
// the reference has it.
func table(cfg *Config, req *Request, sig *Signals, prev Topology) (raw, topology Topology, err error) {
	density, pressure := int(sig.FrontierDensityBps), int(sig.MemoryPressureBps)
	toSparse, toDense, width := int(cfg.SparseFrontierBps), int(cfg.DenseFrontierBps), int(cfg.FrontierHysteresisBps)
	switch {
	case req.QueueLen == 0:
		raw = TopologyEmpty
	case pressure >= int(cfg.MemoryPressureBps):
		raw = TopologyMemoryConstrained
	case density <= toSparse:
		raw = TopologySparse
	case density < toDense:
		raw = TopologyHybrid
	default:
		raw = wide(cfg, req, sig, TopologyNone)
	}
	if raw == prev || raw == TopologyEmpty || raw == TopologyMemoryConstrained {
		return raw, raw, nil
	}
	atLeast := func(value, lo int, kept Topology) (Topology, Topology, error) {
		if lo < 0 {
			return raw, raw, ErrHysteresisUnderflow
		}
		if value >= lo {
			return raw, kept, nil
		}
		return raw, raw, nil
	}
	atMost := func(value, hi int) (Topology, Topology, error) {
		if hi > 0xFFFF {
			return raw, raw, ErrHysteresisOverflow
		}
		if value <= hi {
			return raw, prev, nil
		}
		return raw, raw, nil
	}
	switch {
	case prev == TopologyMemoryConstrained:
		return atLeast(pressure, int(cfg.MemoryPressureBps)-int(cfg.MemoryHysteresisBps), prev)
	case prev == TopologySparse:
		return atMost(density, toSparse+width)
	case prev == TopologyHybrid && raw == TopologySparse:
		return atLeast(density, toSparse-width, prev)
	case prev == TopologyHybrid:
		return atMost(density, toDense+width)
	case prev != TopologyDense && prev != TopologyFused || raw == TopologySparse:
		return raw, raw, nil
	case cfg.FullHysteresis:
		return atLeast(density, toDense-width, wide(cfg, req, sig, prev))
	case raw != TopologyHybrid:
		return raw, raw, nil
	case prev == TopologyFused && (req.GraphEdgeCount < cfg.FusionEdgeThreshold || !sig.hot()):
		_, _, err = atLeast(density, toDense-width, prev)
		return raw, raw, err
	}
	return atLeast(density, toDense-width, prev)
}

// The comparisons that classify counts with are the table, for thresholds in
// any order and for bands without ends too.
func TestClassifyIsTheTable(t *testing.T) {
	share := rapid.OneOf(anyBps, rapid.SampledFrom([]uint16{0, 1, 250, 10_001, 0xFFFF}))
	rapid.Check(t, func(t *rapid.T) {
		cfg, req, prev := anyConfig.Draw(t, "cfg"), anyRequest.Draw(t, "req"), Topology(rapid.Uint8Range(0, 8).Draw(t, "prev"))
		if rapid.Bool().Draw(t, "other thresholds") {
			for _, bps := range []*uint16{&cfg.SparseFrontierBps, &cfg.DenseFrontierBps, &cfg.FrontierHysteresisBps, &cfg.MemoryPressureBps, &cfg.MemoryHysteresisBps} {
				*bps = share.Draw(t, "threshold")
			}
		}
		req.Present &^= HasFrontierEdges
		o := Observe(&cfg, &req)
		c, next := Classify(&cfg, &o, TopologyState{prev})
		raw, topology, err := table(&cfg, &req, &o.Signals, prev)
		if c.Raw != raw || c.Topology != topology || !errors.Is(c.Err, err) {
			t.Fatalf("after %v: %v, then %v, %v; the table says %v, then %v, %v", prev, c.Raw, c.Topology, c.Err, raw, topology, err)
		}
		if want := (TopologyState{topology}); err == nil && next != want || err != nil && next.Topology != prev {
			t.Fatalf("state %+v after %v, %v", next, topology, err)
		}
	})
}
