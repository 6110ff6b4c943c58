package fixed

import (
	"testing"

	"ringmaster/megakernel/policy"
)

var limits = policy.Limits{MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024}

func described(units, lanes uint32) policy.Limits {
	l := limits
	l.Units, l.UnitLanes = units, lanes
	return l
}

func geometry(width, groups, chunk, depth uint32) policy.Geometry {
	return policy.Geometry{Width: width, Groups: groups, Chunk: chunk, Depth: depth}
}

func TestFillIsAsManyGroupsAsTheDeviceRunsAtATime(t *testing.T) {
	for name, c := range map[string]struct {
		limits policy.Limits
		want   uint32
	}{
		"H200":                           {described(132, 2048), 1056},
		"two processors":                 {described(2, 8), 2},
		"calibrated, groups of 128":      {described(40, 128), 40},
		"nobody described it":            {limits, 1},
		"more than any device announces": {described(1<<16, 1<<16), 1 << 24},
	} {
		if g := Fill(&c.limits); g != geometry(256, c.want, 256, MostDepth) {
			t.Errorf("%s: %+v, want %d groups", name, g, c.want)
		}
	}
}

func TestAPlanIsWhatTheDeviceCanLaunch(t *testing.T) {
	small := policy.Limits{MaxWorkgroupSizeX: 128, MaxWorkgroupsPerDimension: 4, MaxInvocationsPerWorkgroup: 64}
	for name, c := range map[string]struct {
		request  policy.Request
		g, want  policy.Geometry
		inFlight uint32
	}{
		"as asked":      {policy.Request{QueueLen: 9000, Limits: limits}, geometry(64, 9, 64, 5000), geometry(64, 9, 64, 5000), 1},
		"small device":  {policy.Request{Limits: small}, geometry(256, 9, 256, 16), geometry(64, 4, 64, 64), 1},
		"two launches":  {policy.Request{QueueLen: 90_000, Limits: limits}, geometry(64, 9, 64, 5000), geometry(64, 9, 64, 5000), 2},
		"nothing known": {policy.Request{QueueLen: 5}, geometry(256, 9, 0, 0), geometry(1, 1, 1, 1), 2},
	} {
		p := Plan(&c.request, c.g)
		got := geometry(p.WorkgroupSizeX, p.DispatchGrid[0], p.ClaimChunk, p.BatchDepth)
		if got != c.want || p.WorkerGroups != c.want.Groups || p.InFlight != c.inFlight || p.Mode != policy.ModeJIT || p.SlotCount != c.request.QueueLen {
			t.Errorf("%s: %+v, want %+v with %d in flight", name, p, c.want, c.inFlight)
		}
	}
}

func TestWhatFitsTheLeaseGoesThere(t *testing.T) {
	for queue, want := range map[uint32]policy.LaunchMode{0: policy.LaunchLease, 256: policy.LaunchLease, 257: policy.LaunchWave} {
		r := policy.Request{QueueLen: queue, Limits: limits, Lease: policy.Lease{Slots: 256}}
		if p := Plan(&r, geometry(64, 9, 64, 5000)); p.LaunchMode != want {
			t.Errorf("%d slots: %v", queue, p.LaunchMode)
		}
	}
}

func TestDecideKeepsTheState(t *testing.T) {
	before := policy.State{}
	r := policy.Request{QueueLen: 7, Limits: described(3, 512)}
	plan, after, hold, err := Decide("any", &r, before)
	if err != nil || hold != 0 || after != before || plan != Plan(&r, Fill(&r.Limits)) || plan.DispatchGrid[0] != 6 {
		t.Errorf("%+v, %+v, %v, %v", plan, after, hold, err)
	}
}
