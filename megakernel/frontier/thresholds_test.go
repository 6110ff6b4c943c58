package frontier

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"ringmaster/megakernel/policy"
)

// What the director computes is the policy's own decision, for any graph, level and
// previous topology, above all near the thresholds.
func TestThresholdsDecideWhatThePolicyDecides(t *testing.T) {
	near := func(t *rapid.T, name string, most uint32, marks ...uint64) uint32 {
		mark := rapid.SampledFrom(append(marks, 0, uint64(most)/2, uint64(most))).Draw(t, name)
		off := rapid.Int64Range(-2, 2).Draw(t, name+" beside")
		return uint32(min(max(int64(min(mark, uint64(most)))+off, 0), int64(most)))
	}
	rapid.Check(t, func(t *rapid.T) {
		cfg := rapid.SampledFrom([]policy.Config{policy.Standard(), policy.Reference()}).Draw(t, "config")
		cfg.DenseLookBps = rapid.Uint16Range(1, policy.FullBps).Draw(t, "look")
		s := Situation{
			Nodes: rapid.Uint32Range(1, 1<<32-2).Draw(t, "nodes"), Edges: rapid.Uint32Range(0, 1<<32-2).Draw(t, "edges"),
			HotOpcodes:        rapid.SampledFrom([]uint32{0, 6, 8}).Draw(t, "hot"),
			MemoryPressureBps: rapid.SampledFrom([]uint16{0, 8_249, 8_250, 8_499, 8_500}).Draw(t, "pressure"), PressureKnown: true,
		}
		if rapid.Bool().Draw(t, "small") {
			s.Nodes, s.Edges = s.Nodes%10_000+1, s.Edges%100_000
		}
		th, err := NewThresholds(&cfg, &s)
		if err != nil {
			t.Fatal(err)
		}
		unexplored := rapid.Uint32Range(0, s.Edges).Draw(t, "unexplored")
		root := uint64(0) // where the square of the work is the product
		for bit := uint64(1) << 31; bit > 0; bit >>= 1 {
			if (root+bit)*(root+bit) <= uint64(th.PullNodes)*uint64(unexplored) {
				root += bit
			}
		}
		v := View{
			Nodes: s.Nodes, Edges: s.Edges, UnexploredEdges: unexplored,
			FrontierNodes: max(near(t, "frontier", s.Nodes, uint64(th.SparseMost), uint64(th.HybridMost), uint64(th.SparseKeep), uint64(th.HybridLow), uint64(th.HybridHigh), uint64(th.DenseKeep)), 1),
			FrontierEdges: near(t, "out-edges", s.Edges, uint64(th.SparseWork), uint64(th.RiseWork), uint64(unexplored), root),
			Previous:      rapid.SampledFrom([]policy.Topology{policy.TopologyNone, policy.TopologySparse, policy.TopologyHybrid, policy.TopologyDense, policy.TopologyFused, policy.TopologyMemoryConstrained}).Draw(t, "previous"),
		}
		want := s.Classify(&cfg, &v)
		raw, topology := th.Decide(v.FrontierNodes, v.FrontierEdges, v.UnexploredEdges, v.Previous)
		if want.Err != nil || raw != want.Raw || topology != want.Topology {
			t.Fatalf("%v, then %v; the policy says %v, then %v (%v)", raw, topology, want.Raw, want.Topology, want.Err)
		}
	})
}

// The first round of a job picks one of the options instead of deciding.
func TestOptionsAreWhatIsDecided(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	topologies := []policy.Topology{policy.TopologyNone, policy.TopologyEmpty, policy.TopologySparse, policy.TopologyHybrid, policy.TopologyDense, policy.TopologyMemoryConstrained}
	for range 20_000 {
		limits := Thresholds{ByEdges: 1, Wide: uint32(policy.TopologyDense), Kept: uint32(policy.TopologyDense), Relaxed: rng.Uint32N(2),
			SparseWork: rng.Uint32N(40), RiseWork: rng.Uint32N(80), PullNodes: rng.Uint32N(60)}
		prev, nodes, edges, unexplored := topologies[rng.IntN(len(topologies))], rng.Uint32N(100), rng.Uint32N(100), rng.Uint32N(200)
		work := max(nodes, edges)
		lowMost, got, mid, high := limits.options(prev)
		switch {
		case work <= lowMost:
		case work <= unexplored && work*work <= limits.PullNodes*unexplored:
			got = mid
		default:
			got = high
		}
		if _, want := limits.Decide(nodes, edges, unexplored, prev); got != want {
			t.Fatalf("%d nodes, %d edges, %d unexplored after %v: %v, decided is %v (%+v)", nodes, edges, unexplored, prev, got, want, limits)
		}
	}
}
