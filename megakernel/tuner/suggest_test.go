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

// The policy takes every candidate as it is: none could be suggested for ever
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

func observe(s *Samples, width uint32, nsPerSlot ...uint64) {
	for _, ns := range nsPerSlot {
		s.Observe(width, 1, ns)
	}
}

func TestSuggestMeasuresCurrentFirstThenInOrder(t *testing.T) {
	var s Samples
	candidates := []uint32{32, 64, 128}
	var order []uint32
	current := uint32(64)
	for range 3 * MinSamples {
		current = Suggest(&s, candidates, current)
		order = append(order, current)
		s.Observe(current, 1, 100)
	}
	if want := []uint32{64, 64, 64, 32, 32, 32, 128, 128, 128}; !slices.Equal(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
}

func TestSuggestTakesTheLowestMeanBeyondTheNoise(t *testing.T) {
	candidates := []uint32{32, 64}
	for name, c := range map[string]struct {
		at32, at64 []uint64
		current    uint32
		want       uint32
	}{
		"clear gain":                   {[]uint64{50, 51, 49}, []uint64{100, 101, 99}, 64, 32},
		"clear loss":                   {[]uint64{100, 101, 99}, []uint64{50, 51, 49}, 64, 64},
		"gain within the noise":        {[]uint64{90, 50, 130}, []uint64{100, 60, 140}, 64, 64},
		"same gain, less noise":        {[]uint64{90, 89, 91}, []uint64{100, 99, 101}, 64, 32},
		"tie stays":                    {[]uint64{70, 70, 70}, []uint64{70, 70, 70}, 64, 64},
		"current is no candidate":      {[]uint64{90, 50, 130}, []uint64{100, 60, 140}, 256, 32},
		"no candidate current, a tie":  {[]uint64{70, 70, 70}, []uint64{70, 70, 70}, 0, 32},
		"one lucky launch is no proof": {[]uint64{1, 120, 120}, []uint64{100, 101, 99}, 64, 64},
	} {
		var s Samples
		observe(&s, 32, c.at32...)
		observe(&s, 64, c.at64...)
		if got := Suggest(&s, candidates, c.current); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
	if got := Suggest(&Samples{}, nil, 77); got != 77 {
		t.Errorf("without candidates: got %d, want the current 77", got)
	}
}

// A suggestion is a candidate, depends on nothing but its arguments, and once
// everything is measured is kept for as long as nothing new is measured.
func TestSuggestIsPureAndSettles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		candidates := []uint32{32, 64, 128, 256}
		var s Samples
		launches := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2]uint64 {
			return [2]uint64{uint64(rapid.SampledFrom(candidates).Draw(t, "width")), rapid.Uint64Range(1, 1_000).Draw(t, "ns")}
		}), 0, 60).Draw(t, "launches")
		for _, l := range launches {
			s.Observe(uint32(l[0]), 1, l[1])
		}
		before := s
		width := Suggest(&s, candidates, rapid.Uint32Range(0, 300).Draw(t, "current"))
		if s != before {
			t.Fatal("samples changed")
		}
		if !slices.Contains(candidates, width) {
			t.Fatalf("%d is no candidate", width)
		}
		if again := Suggest(&s, candidates, width); s.Of(width).Count >= MinSamples && again != width {
			t.Fatalf("%d, then %d", width, again)
		}
	})
}
