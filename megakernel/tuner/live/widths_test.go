package live

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ringmaster/megakernel/policy"
)

func TestWidthsFitTheDevice(t *testing.T) {
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
		if got := Widths(&c.limits); !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %v, want %v", c.limits, got, c.want)
		}
	}
}

// The policy takes every width as it is, so that none is suggested for ever
// without being run.
func TestPolicyAcceptsEveryWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := policy.Limits{
			MaxWorkgroupSizeX:          rapid.Uint32Range(1, 2_000).Draw(t, "max x"),
			MaxWorkgroupsPerDimension:  65_535,
			MaxInvocationsPerWorkgroup: rapid.Uint32Range(1, 2_000).Draw(t, "max invocations"),
			SubgroupSize:               rapid.Uint32Range(0, 128).Draw(t, "subgroup"),
		}
		cfg := policy.Standard()
		for _, w := range Widths(&limits) {
			req := policy.Request{QueueLen: 1_000, Limits: limits, Tuned: policy.Geometry{Width: w}}
			rec, _, err := policy.Decide(&cfg, &req, policy.State{})
			if err != nil || rec.WorkgroupSizeX != w {
				t.Fatalf("asked for %d, got %d, %v", w, rec.WorkgroupSizeX, err)
			}
		}
	})
}
