package live

import (
	"math"
	"testing"

	"ringmaster/megakernel/tuner/cache"
)

func TestStepChangeIsNoticedWithinTwelveLaunches(t *testing.T) {
	l := load{65_536, 300, 8}
	for _, factor := range []float64{0.5, 0.8, 0.9, 1.1, 1.25, 2, 10} {
		slowest := 0
		for seed := range uint64(30) {
			u, r := explored(t, &simulatedH200, l, seed)
			r.speed = factor
			before, took := u.Changes(), 0
			for u.Changes() == before && took < 40 {
				observe(t, u, r.launch(u.Next().Geometry))
				took++
			}
			if took > 12 {
				t.Errorf("step by %g, seed %d: noticed after %d launches", factor, seed, took)
			}
			if lost, allowed := u.Spent(); u.Over() || u.Next().Look || lost != 0 || allowed != 0 {
				t.Errorf("step by %g, seed %d: nothing was earned since, and then %+v, %v of %v", factor, seed, u.Next(), lost, allowed)
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
	best := m.best(heavy)
	const seeds = 5
	mean := 0.0
	for seed := range uint64(seeds) {
		u, r := explored(t, m, light, seed)
		r.load = heavy
		for n := 0; (u.Changes() == 0 || !u.Over()) && n < mostOfAnExploration; n++ {
			observe(t, u, r.launch(u.Next().Geometry))
		}
		mean += m.ns(heavy, u.Choice()) / best / seeds
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
				u, r := explored(t, m, l, seed)
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
		u, r := explored(t, &simulatedH200, l, seed)
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
	u, r := explored(t, &simulatedH200, load{65_536, 300, 8}, 1)
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

// A load that changes again and again is short-lived each time.
func TestLoadThatNeverSettlesIsNotExplored(t *testing.T) {
	u, r := explored(t, &simulatedH200, load{65_536, 300, 8}, 1)
	looks := 0
	for i := range 3000 {
		if i%40 == 0 {
			r.speed = 3.2 - r.speed // between 1 and 2.2
		}
		if u.Next().Look {
			looks++
		}
		_ = u.Observe(r.launch(u.Next().Geometry))
	}
	if u.Changes() < 50 || looks > u.Changes()/10 {
		t.Errorf("%d looks after %d changes", looks, u.Changes())
	}
}

// A load that rises in steps and falls slowly changes the time of all geometries again and
// again. What is believed of those that are not in use must not drift away from what they take.
func TestStepsUpAndSlowFallsDoNotCarryEstimatesAway(t *testing.T) {
	l := load{65_536, 300, 8}
	for seed := range uint64(5) {
		u, r := explored(t, &simulatedH200, l, seed)
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
