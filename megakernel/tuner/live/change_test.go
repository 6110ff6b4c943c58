package live

import (
	"math"
	"testing"

	"ringmaster/megakernel/tuner/cache"
)

// settled is a tuner that has explored and run for a while.
func settled(t *testing.T, m *machine, l load, seed uint64) (*Tuner, *ring) {
	t.Helper()
	r := newRing(m, l, seed)
	u := New(Config{Space: m.space(l)})
	for range 100 {
		observe(t, u, r.launch(u.Next().Geometry))
	}
	if u.Next().Left > 0 {
		t.Fatalf("after 100 launches: %v", u.Next())
	}
	return u, r
}

func observe(t *testing.T, u *Tuner, r Report) {
	t.Helper()
	if err := u.Observe(r); err != nil {
		t.Fatal(err)
	}
}

func TestStepChangeIsNoticedWithinTwelveLaunches(t *testing.T) {
	l := load{65_536, 300, 8}
	for _, factor := range []float64{0.5, 0.8, 0.9, 1.1, 1.25, 2, 10} {
		slowest := 0
		for seed := range uint64(30) {
			u, r := settled(t, &simulatedH200, l, seed)
			r.speed = factor
			before, took := u.Changes(), 0
			for u.Changes() == before && took < 40 {
				observe(t, u, r.launch(u.Next().Geometry))
				took++
			}
			if took > 12 {
				t.Errorf("step by %g, seed %d: noticed after %d launches", factor, seed, took)
			}
			if n := u.Next(); n.Why != Reexploring || n.Left == 0 {
				t.Errorf("step by %g, seed %d: then %v", factor, seed, u.Next().Why)
			}
			slowest = max(slowest, took)
		}
		t.Logf("step by %g: noticed after at most %d launches", factor, slowest)
	}
}

func TestAfterAChangeTheBestIsFoundAgain(t *testing.T) {
	// The opcodes become forty times heavier: what was best no longer is.
	light, heavy := load{65_536, 60, 0}, load{65_536, 2500, 0}
	m := &simulatedH200
	best := math.Inf(1)
	s := m.space(heavy)
	for c := range s.Len() {
		best = math.Min(best, m.ns(heavy, s.At(c)))
	}
	const seeds = 10
	mean := 0.0
	for seed := range uint64(seeds) {
		u, r := settled(t, m, light, seed)
		r.load = heavy
		for range 12 + 2*(defaultBudget/2) {
			observe(t, u, r.launch(u.Next().Geometry))
		}
		mean += m.ns(heavy, u.Next().Geometry) / best / seeds
	}
	t.Logf("after the change: %.3f of the best", mean)
	if mean > 1.05 {
		t.Errorf("%.3f times the best time", mean)
	}
}

func TestSteadyLoadChangesGeometryAtMostOnceInAThousandLaunches(t *testing.T) {
	launches, changes, alarms := 0, 0, 0
	for _, m := range []*machine{&simulatedH200, &simulatedLlvmpipe} {
		for _, l := range []load{{4096, 60, 0}, {65_536, 300, 8}, {1 << 20, 2500, 0}} {
			for seed := range uint64(20) {
				r := newRing(m, l, seed)
				u := New(Config{Space: m.space(l)})
				for u.Next().Left > 0 {
					observe(t, u, r.launch(u.Next().Geometry))
				}
				own, before := 0, u.Next().Geometry
				for range 1000 {
					observe(t, u, r.launch(before))
					if g := u.Next().Geometry; g != before {
						before = g
						own++
					}
				}
				if own > 1 {
					t.Errorf("%s %+v seed %d: %d changes of geometry", m.name, l, seed, own)
				}
				launches += 1000
				changes += own
				alarms += u.Changes()
			}
		}
	}
	t.Logf("%d launches, %d changes of geometry, %d false alarms", launches, changes, alarms)
}

// Launches of between a third of the usual size and all of it take different times
// per slot. That is no change; a real change among them is noticed.
func TestSizeOfALaunchIsNoChange(t *testing.T) {
	l := load{65_536, 300, 8}
	for seed := range uint64(20) {
		u, r := settled(t, &simulatedH200, l, seed)
		launch := func() {
			g := u.Next().Geometry
			part := l
			part.slots = l.slots/3 + uint32(r.random.IntN(int(2*l.slots/3)))
			r.load = part
			observe(t, u, r.launch(g))
		}
		for range 300 {
			launch()
		}
		if u.Changes() != 0 {
			t.Errorf("seed %d: %d changes noticed where only the size varied", seed, u.Changes())
		}
		before, took := u.Changes(), 0
		r.speed = 1.5
		for u.Changes() == before && took < 40 {
			launch()
			took++
		}
		if took > 12 {
			t.Errorf("seed %d: step among sizes noticed after %d launches", seed, took)
		}
	}
}

func TestOneSlowLaunchIsNoChangeAndHardlyMovesTheMean(t *testing.T) {
	u, r := settled(t, &simulatedH200, load{65_536, 300, 8}, 1)
	g := u.Next().Geometry
	before := u.Next().NsPerSlot
	hiccup := r.launch(g)
	hiccup.Ns *= 20
	hiccup.WallNs = 0
	observe(t, u, hiccup)
	if after := u.Next(); u.Changes() != 0 || after.Geometry != g || math.Abs(after.NsPerSlot/before-1) > 0.01 {
		t.Errorf("%v ns a slot, then %+v", before, after)
	}
}

// The longer a load goes on changing, the less it is explored.
func TestLoadThatNeverSettlesIsExploredLessAndLess(t *testing.T) {
	u, r := settled(t, &simulatedH200, load{65_536, 300, 8}, 1)
	explored, first, changes := 0, 0, u.Changes()
	for i := range 3000 {
		if i%40 == 0 {
			r.speed = 3.2 - r.speed // between 1 and 2.2
		}
		if u.Next().Why == Reexploring {
			explored++
			if u.Changes() == changes+1 {
				first++
			}
		}
		observe(t, u, r.launch(u.Next().Geometry))
	}
	noticed := u.Changes() - changes
	if noticed < 50 {
		t.Fatalf("%d changes noticed of 75", noticed)
	}
	if each := float64(explored-first) / float64(noticed-1); each > float64(first)/2 || each > 4 {
		t.Errorf("%d launches for the first change, %.1f for each of the others", first, each)
	}
}

// A load that rises in steps and falls slowly changes the time of all geometries again and
// again. What is believed of those that are not in use must not drift away from what they take.
func TestStepsUpAndSlowFallsDoNotCarryEstimatesAway(t *testing.T) {
	l := load{65_536, 300, 8}
	for seed := range uint64(5) {
		u, r := settled(t, &simulatedH200, l, seed)
		for range 60 {
			const fall = 300
			for i := range fall {
				r.speed = math.Pow(8, 1-float64(i)/fall)
				_ = u.Observe(r.launch(u.Next().Geometry))
			}
		}
		for _, m := range u.Entry(cache.Key{}).Measurements {
			if off := m.Mean * float64(l.slots) / (r.machine.ns(l, m.Geometry) * r.speed); off > 2 || off < 0.5 {
				t.Errorf("seed %d: %+v is believed to take %.3g times as long as it does", seed, m.Geometry, off)
			}
		}
	}
}
