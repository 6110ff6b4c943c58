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
		req.QueueLen = min(req.QueueLen, 1<<20)
		rec, _, err := Decide(&cfg, &req, anyState.Draw(t, "prev"))
		if err != nil {
			t.Fatal(err)
		}
		want := req.QueueLen * max(req.ExpectedHitsPerItem, 1)
		if rec.Topology != TopologyMemoryConstrained {
			want *= cfg.HitCapacityMultiplier
		}
		if rec.HitCapacity != max(want, cfg.MinHitCapacity) {
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
