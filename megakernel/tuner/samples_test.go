package tuner

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ringmaster/megakernel/policy"
)

func TestCandidatesFitTheDevice(t *testing.T) {
	for _, c := range []struct {
		limits policy.Limits
		want   []uint32
	}{
		{policy.Limits{MaxWorkgroupSizeX: 1_024, MaxInvocationsPerWorkgroup: 1_024}, []uint32{32, 64, 128, 256, 512, 1_024}},
		{policy.Limits{MaxWorkgroupSizeX: 1_024, MaxInvocationsPerWorkgroup: 256, SubgroupSize: 64}, []uint32{64, 128, 256}},
		{policy.Limits{MaxWorkgroupSizeX: 255, MaxInvocationsPerWorkgroup: 1_024, SubgroupSize: 8}, []uint32{32, 64, 128}},
		{policy.Limits{MaxWorkgroupSizeX: 20, MaxInvocationsPerWorkgroup: 1_024}, []uint32{16}},
		{policy.Limits{MaxWorkgroupSizeX: 48, MaxInvocationsPerWorkgroup: 48, SubgroupSize: 64}, []uint32{32}},
		{policy.Limits{MaxWorkgroupSizeX: 256}, nil},
	} {
		if got := Candidates(c.limits); !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %v, want %v", c.limits, got, c.want)
		}
	}
}

// The policy takes every candidate as it is, so that none is suggested for ever
// without being run.
func TestPolicyAcceptsEveryCandidate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := policy.Limits{
			MaxWorkgroupSizeX:          rapid.Uint32Range(1, 2_000).Draw(t, "max x"),
			MaxWorkgroupsPerDimension:  65_535,
			MaxInvocationsPerWorkgroup: rapid.Uint32Range(1, 2_000).Draw(t, "max invocations"),
			SubgroupSize:               rapid.Uint32Range(0, 128).Draw(t, "subgroup"),
		}
		cfg := policy.Standard()
		for _, w := range Candidates(limits) {
			req := policy.Request{QueueLen: 1_000, Limits: limits, Tuned: policy.Geometry{Width: w}}
			rec, _, err := policy.Decide(&cfg, &req, policy.State{})
			if err != nil || rec.WorkgroupSizeX != w {
				t.Fatalf("asked for %d, got %d, %v", w, rec.WorkgroupSizeX, err)
			}
		}
	})
}

func TestObserveGivesMeanAndVariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.SliceOfN(rapid.Uint64Range(1, 1e9), 1, 50).Draw(t, "ns")
		var s Samples
		sum := 0.0
		for _, v := range ns {
			s.Observe(64, 10, v)
			sum += float64(v) / 10
		}
		mean, squares := sum/float64(len(ns)), 0.0
		for _, v := range ns {
			squares += (float64(v)/10 - mean) * (float64(v)/10 - mean)
		}
		got := s.Of(64)
		variance := 0.0
		if len(ns) > 1 {
			variance = squares / float64(len(ns)-1)
		}
		if got.Count != uint64(len(ns)) || math.Abs(got.Mean-mean) > 1e-9*mean || math.Abs(got.Variance()-variance) > 1e-9*mean*mean {
			t.Fatalf("got %+v, want mean %v, variance %v", got, mean, variance)
		}
	})
}

func TestObserveIgnoresLaunchesThatMeasuredNothing(t *testing.T) {
	var s Samples
	s.Observe(0, 1, 1)
	s.Observe(64, 0, 1)
	s.Observe(64, 1, 0)
	if s != (Samples{}) {
		t.Errorf("got %+v", s)
	}
}

func TestSamplesForgetTheWidthThatHasNotRunForTheLongest(t *testing.T) {
	var s Samples
	for w := range uint32(MaxWidths) {
		s.Observe(w+1, 1, 1)
	}
	s.Observe(1, 1, 1) // now 2 is the oldest
	s.Observe(99, 1, 1)
	if len(s.All()) != MaxWidths || s.Of(2).Count != 0 || s.Of(1).Count != 2 || s.Of(99).Count != 1 {
		t.Errorf("got %+v", s.All())
	}
}
