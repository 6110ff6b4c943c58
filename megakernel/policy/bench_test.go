package policy

import (
	"math/rand/v2"
	"testing"
)

var sink uint32

// mixedRequests is a fixed mix of requests as queues send them: every
// topology, automatic and explicit workers, given and inferred signals, and
// the states that previous decisions left.
func mixedRequests(cfg *Config, n int) ([]Request, []State) {
	rng := rand.New(rand.NewPCG(1, 2))
	reqs, states := make([]Request, n), make([]State, n)
	widths := []uint32{0, 0, 64, 128, 256, 512}
	for i := range reqs {
		nodes := rng.Uint32N(200_000)
		reqs[i] = Request{
			QueueLen:              rng.Uint32N(1 << rng.UintN(18)),
			RequestedWorkerGroups: []uint32{0, 0, 1, 64, 256, 1_000}[rng.IntN(6)],
			Limits: Limits{
				MaxWorkgroupSizeX:          1_024,
				MaxWorkgroupsPerDimension:  []uint32{65_535, 1<<31 - 1}[rng.IntN(2)],
				MaxInvocationsPerWorkgroup: 1_024,
				SubgroupSize:               []uint32{0, 32}[rng.IntN(2)],
			},
			ExpectedHitsPerItem: rng.Uint32N(4),
			HotOpcodeCount:      rng.Uint32N(12),
			HotWindowCount:      rng.Uint32N(5),
			RequeueCount:        rng.Uint64N(2),
			MaxPriorityAge:      rng.Uint32N(40),
			GraphNodeCount:      nodes,
			GraphEdgeCount:      nodes * rng.Uint32N(8),
			ResidentDeviceBytes: rng.Uint64N(1 << 30),
			MemoryBudgetBytes:   1<<30 + 1<<28,
			Tuned:               Geometry{Width: widths[rng.IntN(len(widths))]},
		}
		if rng.IntN(2) == 0 {
			reqs[i].FrontierDensityBps = uint16(rng.UintN(6_000))
		}
		if rng.IntN(4) == 0 {
			reqs[i].MemoryPressureBps = uint16(7_000 + rng.UintN(3_000))
		}
		if i > 0 {
			_, states[i], _ = Decide(cfg, &reqs[i-1], states[i-1])
		}
	}
	return reqs, states
}

func BenchmarkDecide(b *testing.B) {
	for name, cfg := range map[string]Config{"standard": Standard(), "reference": Reference()} {
		reqs, states := mixedRequests(&cfg, 1024)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			// Not b.Loop: it would keep, and so time, a second copy of the result.
			b.ResetTimer()
			for i := range b.N {
				rec, next, err := Decide(&cfg, &reqs[i&1023], states[i&1023])
				if err != nil {
					b.Fatal(err)
				}
				sink += rec.SlotCount + uint32(rec.Mode) + next.Plan.Groups
			}
		})
	}
}

func TestDecideDoesNotAllocate(t *testing.T) {
	for name, cfg := range map[string]Config{"standard": Standard(), "reference": Reference()} {
		reqs, states := mixedRequests(&cfg, 1024)
		failed := 0
		for i := range reqs {
			if _, _, err := Decide(&cfg, &reqs[i], states[i]); err != nil {
				failed++
			}
		}
		if failed > 0 {
			t.Errorf("%s: %d of the mixed requests fail", name, failed)
		}
		i := 0
		if n := testing.AllocsPerRun(2048, func() {
			rec, _, _ := Decide(&cfg, &reqs[i&1023], states[i&1023])
			sink += rec.SlotCount
			i++
		}); n != 0 {
			t.Errorf("%s: %v allocations a decision, want 0", name, n)
		}
	}
}

// BenchmarkDiffuse spreads 1,024 priorities by a turn.
func BenchmarkDiffuse(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 4))
	siblings := make([]Sibling, 1024)
	for i := range siblings {
		siblings[i] = Sibling{Priority: rng.Float64() * 100, Coefficient: rng.Float64()}
	}
	b.ReportAllocs()
	for b.Loop() {
		Diffuse(siblings)
	}
}
