package policy

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// withOnly is the reference with one departure.
func withOnly(t *rapid.T, departure string) Config {
	cfg := Reference()
	on, ok := switches(&cfg)[departure]
	if !ok {
		t.Fatalf("no departure %s", departure)
	}
	*on = true
	return cfg
}

func TestHeadRoomFollowsTheFinalTopology(t *testing.T) {
	cfg := Standard()
	rapid.Check(t, func(t *rapid.T) {
		req := anyRequest.Draw(t, "req")
		req.RequestedHitCapacity, req.MemoryBudgetBytes = 0, 0
		req.QueueLen = min(max(req.QueueLen, 1), 1<<20)
		rec, _, err := Decide(&cfg, &req, anyState.Draw(t, "prev"))
		if err != nil {
			t.Fatal(err)
		}
		want := req.QueueLen * max(req.ExpectedHitsPerItem, 1)
		if rec.Topology != TopologyMemoryConstrained {
			want *= cfg.HitCapacityMultiplier
		}
		want = max(want, cfg.MinHitCapacity)
		if rec.Topology == TopologyNone && req.ExpectedHitsPerItem == 0 {
			want = 0
		}
		if rec.HitCapacity != want {
			t.Fatalf("%d hits for %v, want %d", rec.HitCapacity, rec.Topology, want)
		}
	})
}

func TestStrictBpsChangesHitsOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req, prev := anyRequest.Draw(t, "req"), anyState.Draw(t, "prev")
		ref, strict := Reference(), withOnly(t, "StrictBps")
		a, as, err := Decide(&ref, &req, prev)
		b, bs, err2 := Decide(&strict, &req, prev)
		if err != nil || err2 != nil {
			t.Skip("no plan")
		}
		if b.HitCapacity > a.HitCapacity {
			t.Fatalf("%d hits became %d", a.HitCapacity, b.HitCapacity)
		}
		b.HitCapacity, b.EstimatedPeakBytes, b.Reasons = a.HitCapacity, a.EstimatedPeakBytes, a.Reasons
		if a != b || as != bs {
			t.Fatalf("%+v\n%+v", a, b)
		}
	})
}

func TestSharesAboveTheWholeAreRefused(t *testing.T) {
	cfg := Standard()
	rapid.Check(t, func(t *rapid.T) {
		req, prev := anyRequest.Draw(t, "req"), anyState.Draw(t, "prev")
		share := rapid.SampledFrom([]*uint16{&req.FrontierDensityBps, &req.MemoryPressureBps}).Draw(t, "share")
		*share = rapid.Uint16Range(FullBps+1, math.MaxUint16).Draw(t, "bps")
		rec, next, err := Decide(&cfg, &req, prev)
		if !errors.Is(err, ErrBps) || rec != (Recommendation{}) || next != prev {
			t.Fatalf("%+v, %+v, %v", rec, next, err)
		}
	})
}

var anyBudgeted = rapid.Custom(func(t *rapid.T) Request {
	req := anyRequest.Draw(t, "req")
	req.ResidentDeviceBytes = rapid.Uint64Range(0, 1<<20).Draw(t, "resident")
	req.MemoryBudgetBytes = rapid.Uint64Range(1, 1<<24).Draw(t, "budget")
	return req
})

func TestStandardIsNeverOverTheBudget(t *testing.T) {
	cfg := Standard()
	rapid.Check(t, func(t *rapid.T) {
		req := anyBudgeted.Draw(t, "req")
		cost := uint64(cfg.ScratchBytesPerHit)
		rec, _, err := Decide(&cfg, &req, anyState.Draw(t, "prev"))
		if err != nil {
			var oom *OutOfMemoryError
			least := cfg.MinHitCapacity
			if req.RequestedHitCapacity != 0 {
				least = min(least, req.RequestedHitCapacity)
			}
			need := req.ResidentDeviceBytes + uint64(least)*cost
			if !errors.As(err, &oom) || oom.Requested != need || need <= req.MemoryBudgetBytes {
				t.Fatalf("refused although the smallest plan needs %d of %d bytes: %v", need, req.MemoryBudgetBytes, err)
			}
			return
		}
		if rec.HitCapacity == 0 && rec.EstimatedPeakBytes == req.ResidentDeviceBytes {
			return // the plan itself needs nothing
		}
		if rec.EstimatedPeakBytes > req.MemoryBudgetBytes {
			t.Fatalf("peak %d over the budget of %d bytes", rec.EstimatedPeakBytes, req.MemoryBudgetBytes)
		}
		if want := req.ResidentDeviceBytes + uint64(rec.HitCapacity)*cost; rec.EstimatedPeakBytes != want {
			t.Fatalf("peak %d, want %d", rec.EstimatedPeakBytes, want)
		}
		if rec.HitCapacityReduced && rec.HitCapacity != math.MaxUint32 && rec.EstimatedPeakBytes+cost <= req.MemoryBudgetBytes {
			t.Fatalf("%d hits are not the most that fit %d bytes", rec.HitCapacity, req.MemoryBudgetBytes)
		}
	})
}

// A plan is replaced only where there was none, and only in its hits.
func TestFitBudgetChangesHitsOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req, prev := anyBudgeted.Draw(t, "req"), anyState.Draw(t, "prev")
		ref, fit := Reference(), withOnly(t, "FitBudget")
		a, _, err := Decide(&ref, &req, prev)
		b, _, err2 := Decide(&fit, &req, prev)
		if err == nil && (err2 != nil || a != b) {
			t.Fatalf("a plan that fits changed: %+v\n%+v, %v", a, b, err2)
		}
		if err == nil || err2 != nil {
			return
		}
		roomy := req
		if roomy.MemoryPressureBps == 0 && req.Present&HasMemoryPressure == 0 {
			t.Skip("the pressure follows the budget")
		}
		roomy.MemoryBudgetBytes = math.MaxUint64
		if a, _, err = Decide(&ref, &roomy, prev); err != nil {
			t.Skip("hits beyond 32 bits")
		}
		if !b.HitCapacityReduced || b.HitCapacity >= a.HitCapacity {
			t.Fatalf("%d hits became %d, reduced %v", a.HitCapacity, b.HitCapacity, b.HitCapacityReduced)
		}
		b.HitCapacity, b.HitCapacityReduced, b.EstimatedPeakBytes = a.HitCapacity, false, a.EstimatedPeakBytes
		b.MemoryBudgetBytes, b.Reasons, b.ReasonCount = a.MemoryBudgetBytes, a.Reasons, a.ReasonCount
		if a != b {
			t.Fatalf("more than the hits changed:\n%+v\n%+v", a, b)
		}
	})
}

// A queue without a graph is planned by its length and its hits: what is said of memory and
// of the walk before changes nothing of its launch.
func TestWithoutAGraphMemoryChangesNoLaunch(t *testing.T) {
	cfg := Standard()
	rapid.Check(t, func(t *rapid.T) {
		req := anyRequest.Draw(t, "req")
		req.GraphNodeCount, req.GraphEdgeCount, req.FrontierDensityBps, req.Present = 0, 0, 0, 0
		req.RequestedHitCapacity, req.ExpectedHitsPerItem = 0, 0
		roomy, prev := req, anyState.Draw(t, "prev")
		roomy.MemoryPressureBps, roomy.ResidentDeviceBytes, roomy.MemoryBudgetBytes = 0, 0, 0
		tight, _, err := Decide(&cfg, &req, prev)
		free, _, err2 := Decide(&cfg, &roomy, prev)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if tight.Topology != TopologyNone || tight.HitCapacity != 0 {
			t.Fatalf("%v with %d hits", tight.Topology, tight.HitCapacity)
		}
		if tight.Geometry() != free.Geometry() || tight.InFlight != free.InFlight || tight.Mode != free.Mode {
			t.Fatalf("memory changed the launch:\n%+v\n%+v", tight, free)
		}
	})
}
