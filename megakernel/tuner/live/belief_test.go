package live

import (
	"math"
	"testing"

	"ringmaster/megakernel/policy"
)

// A machine that differs from the model in its speed, its threads and the cost of a slot is
// recognised by a few launches, one of which was disturbed.
func TestTheModelOfASoftwareRendererIsFittedToTheWorkload(t *testing.T) {
	limits := policy.Limits{MaxWorkgroupSizeX: 1024, MaxInvocationsPerWorkgroup: 1024, MaxWorkgroupsPerDimension: 65535}
	s, err := NewSpace(Workload{Limits: limits, Slots: 4096})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ slot, threads, speed float64 }{{0.05, 2, 0.7}, {1.5, 2, 1}, {4, 8, 1.3}} {
		u := New(Config{Space: s})
		cost := func(g Geometry) float64 {
			at, _ := s.Find(g)
			return c.speed * s.parts[at].us(c.slot, c.threads)
		}
		shapes := []Geometry{{32, 1, 512, 4096}, {64, 2, 256, 4096}, {256, 4, 128, 4096}, {128, 16, 64, 2048}, {512, 1, 4096, 4096}, {32, 8, 128, 1024}, {32, 2, 64, 4096}, {64, 1, 128, 4096}, {128, 4, 512, 2048}}
		for i, g := range shapes {
			ns := 1000 * cost(g)
			if i == 1 {
				ns *= 1.9
			}
			observe(t, u, Report{Geometry: g, Slots: 4096, Ns: uint64(ns)})
		}
		believed := u.likeliest()
		if believed.gpu || believed.fails {
			t.Errorf("%+v: believes %+v", c, believed)
		}
		slot, threads := believed.values()
		if math.Abs(math.Log(slot/c.slot)) > 2*slotStep || threads != c.threads {
			t.Errorf("%+v: believes in %.3g microseconds of a slot and %g threads", c, slot, threads)
		}
		least := math.Inf(1)
		for i := range s.Len() {
			least = math.Min(least, cost(s.At(i)))
		}
		if got := cost(s.shapes[s.best(believed)]) / least; got > 1.02 {
			t.Errorf("%+v: the geometry expected to be best takes %.3f of the best", c, got)
		}
	}
}
