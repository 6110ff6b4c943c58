package main

import (
	"math"
	"testing"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/live"
	"ringmaster/megakernel/tuner/trial"
	"ringmaster/ring"
)

// swept is a workload of a given size on a device that is fastest at one geometry and
// a tenth slower with each doubling away from it.
func swept(t *testing.T, slots uint32, best policy.Geometry) *liveWork {
	t.Helper()
	best.Depth = slots
	space, err := live.NewSpace(live.Workload{
		Slots:  slots,
		Limits: policy.Limits{MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 1 << 20, MaxInvocationsPerWorkgroup: 1024, SubgroupSize: 32},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &liveWork{load: &trial.Load{Slots: make([]ring.Slot, slots)}, space: space, best: best, times: make(map[int]float64)}
	for c := range space.Len() {
		w.times[c] = 1000 * (1 + distance(space.At(c), best)/10)
	}
	return w
}

func TestTheFixedGeometryIsTheBestCompromise(t *testing.T) {
	works := []*liveWork{
		swept(t, 4096, policy.Geometry{Width: 64, Groups: 16, Chunk: 256}),
		swept(t, 4096, policy.Geometry{Width: 256, Groups: 16, Chunk: 256}),
		swept(t, 65536, policy.Geometry{Width: 128, Groups: 16, Chunk: 256}),
	}
	if got, want := likelyFixed(works, 1)[0], (policy.Geometry{Width: 128, Groups: 16, Chunk: 256}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	// A geometry that was not measured counts as the nearest one that was.
	at, _ := works[2].space.Find(works[2].best)
	works[2].times = map[int]float64{at: 1000}
	if got := works[2].estimate(policy.Geometry{Width: 1024, Groups: 1, Chunk: 4096}); got != 1 {
		t.Errorf("estimated at %.2f of the best", got)
	}
}

// near says that a ratio is what it should be, except for rounding.
func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestTheLiveBenchmarkHoldsLaunchesAgainstThoseOfTheirTime(t *testing.T) {
	choice, look := policy.Geometry{Width: 64}, policy.Geometry{Width: 32}
	c := liveCourse{swept: map[policy.Geometry]float64{look: 3}}
	for i := range liveLaunches {
		machine := 1.0
		if i >= 200 && i < 300 {
			machine = 1.9 // something else runs
		}
		s := live.Suggestion{Geometry: choice}
		ns := 110 * machine
		switch {
		case i < 10:
			s, ns = live.Suggestion{Geometry: look, Look: true}, 300*machine
			if i == 5 {
				ns *= 20 // disturbed: it counts as twice its time in the sweep
			}
		case i%70 == 69:
			ns *= 5
		case i%50 == 49:
			ns *= 20 // disturbed
		}
		c.add(s, ns)
		if i%liveBeside == 0 {
			c.best = append(c.best, 100*machine)
			c.fixed = append(c.fixed, 120*machine)
		}
	}
	tuner, fixed := c.over(0, 0)
	if want := (490*1.1 + 9*3 + 6) / 500; !near(tuner, want) || !near(fixed, 1.2) {
		t.Errorf("%.4f of the best, want %.4f; fixed %.4f", tuner, want, fixed)
	}
	if c.switches() != 0 || !near(c.dearest(), 60) || c.lasts() != 490 {
		t.Errorf("%d changes, dearest look %.2f, %d launches at the choice", c.switches(), c.dearest(), c.lasts())
	}
	// Launches that did not run count as the comparison says.
	c.launches = c.launches[:100]
	c.add(live.Suggestion{Geometry: policy.Geometry{Width: 128}}, 100)
	if tuner, fixed := c.over(1.3, 1.4); !near(tuner, (9*3+6+90*1.1+1+399*1.3)/500) || !near(fixed, (101*1.2+399*1.4)/500) || c.switches() != 1 {
		t.Errorf("%.4f of the best with %d changes, fixed %.4f", tuner, c.switches(), fixed)
	}
}

func TestComparisonsCountTheRoundsThatNothingDisturbed(t *testing.T) {
	one, two := policy.Geometry{Width: 32, Groups: 1}, policy.Geometry{Width: 32, Groups: 2}
	compared := comparison{all: []policy.Geometry{one, two}}
	for i := range 40 {
		round := []float64{150, 100 + float64(i%3)}
		if i%2 == 0 {
			round[1] *= 1.9 // a processor less, which one workgroup does not notice
		}
		if i%5 == 0 {
			round[0] *= 30 // preempted
		}
		compared.rounds = append(compared.rounds, round)
	}
	if got := compared.times(); got[one] != 150 || got[two] < 100 || got[two] > 102 {
		t.Errorf("%v", got)
	}
}
