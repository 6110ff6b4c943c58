package frontier

import (
	"testing"

	"pgregory.net/rapid"

	"ringmaster/megakernel/policy"
)

// The policy compares shares in basis points, the director numbers of nodes.
func TestNumbersOfNodesAreTheSharesOfThePolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := rapid.SampledFrom([]policy.Config{policy.Standard(), policy.Reference()}).Draw(t, "config")
		s := Situation{Nodes: rapid.Uint32Range(1, 1<<32-2).Draw(t, "nodes")}
		if rapid.Bool().Draw(t, "small") {
			s.Nodes = s.Nodes%10_000 + 1
		}
		th, err := newThresholds(&cfg, &s)
		if err != nil {
			t.Fatal(err)
		}
		sparse, dense, band := cfg.SparseFrontierBps, cfg.DenseFrontierBps, cfg.FrontierHysteresisBps
		most := map[uint16]uint32{sparse: th.SparseMost, dense - 1: th.HybridMost, sparse + band: th.SparseKeep, dense + band: th.HybridHigh}
		least := map[uint16]uint32{sparse - band: th.HybridLow, dense - band: th.DenseKeep}
		check := func(nodes uint32) {
			v := View{FrontierNodes: nodes}
			share := s.Request(&v)
			for bps, bound := range most {
				if (share.FrontierDensityBps <= bps) != (nodes <= bound) {
					t.Fatalf("%d of %d nodes are %d bps: at most %d nodes for %d bps", nodes, s.Nodes, share.FrontierDensityBps, bound, bps)
				}
			}
			for bps, bound := range least {
				if (share.FrontierDensityBps >= bps) != (nodes >= bound) {
					t.Fatalf("%d of %d nodes are %d bps: at least %d nodes for %d bps", nodes, s.Nodes, share.FrontierDensityBps, bound, bps)
				}
			}
		}
		check(rapid.Uint32Range(0, s.Nodes).Draw(t, "frontier"))
		for _, bound := range []uint32{th.SparseMost, th.HybridMost, th.SparseKeep, th.HybridLow, th.HybridHigh, th.DenseKeep} {
			for _, nodes := range []uint32{bound - 1, bound, bound + 1} {
				check(min(nodes, s.Nodes))
			}
		}
	})
}
