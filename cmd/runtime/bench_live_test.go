package main

import (
	"testing"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/live"
	"ringmaster/ring"
)

// swept is a workload of a size on a device that is fastest at one geometry and
// loses a tenth with each doubling from it.
func swept(t *testing.T, slots uint32, best live.Geometry) *liveWork {
	t.Helper()
	best.Depth = slots
	space, err := live.NewSpace(live.Workload{
		Slots:  slots,
		Limits: policy.Limits{MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 1 << 20, MaxInvocationsPerWorkgroup: 1024, SubgroupSize: 32},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &liveWork{load: &tuneLoad{slots: make([]ring.Slot, slots)}, space: space, best: best, times: make(map[int]float64)}
	for c := range space.Len() {
		w.times[c] = 1000 * (1 + distance(space.At(c), best)/10)
	}
	return w
}

func TestTheFixedGeometryIsTheBestCompromise(t *testing.T) {
	works := []*liveWork{
		swept(t, 4096, live.Geometry{Width: 64, Groups: 16, Chunk: 256}),
		swept(t, 4096, live.Geometry{Width: 256, Groups: 16, Chunk: 256}),
		swept(t, 65536, live.Geometry{Width: 128, Groups: 16, Chunk: 256}),
	}
	if got, want := bestFixed(works), (live.Geometry{Width: 128, Groups: 16, Chunk: 256}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	// A geometry that was not measured counts as the nearest that was.
	at, _ := works[2].space.Find(works[2].best)
	works[2].times = map[int]float64{at: 1000}
	if got := works[2].estimate(live.Geometry{Width: 1024, Groups: 1, Chunk: 4096}); got != 1 {
		t.Errorf("estimated at %.2f of the best", got)
	}
}
