package live

import (
	"math"
	"testing"

	"ringmaster/megakernel/tuner/cache"
)

// heavy256 is a recorded ring whose launches take more than one workgroup to be fast.
func heavy256(t *testing.T) *recorded {
	t.Helper()
	for _, w := range readRecorded(t) {
		if w.name == "heavy-256" {
			return w
		}
	}
	t.Fatal("not recorded")
	return nil
}

// While something else takes a processor, one workgroup is as fast as several. Afterwards it is
// as fast as before, so that its own launches do not tell that it has become the wrong choice.
func TestAStateThatPassesIsNotChosenFor(t *testing.T) {
	w := heavy256(t)
	for seed := range uint64(20) {
		p := w.from(seed)
		p.series = make([]float64, 600)
		for i := range p.series {
			p.series[i] = 1 + 0.02*p.random.NormFloat64()
			if i < 60 {
				p.series[i] *= 1.87
			}
			if p.random.IntN(20) == 0 {
				p.series[i] *= 1.3 // preempted
			}
		}
		p.at = 0
		u := New(Config{Space: w.space})
		for range 400 {
			observe(t, u, p.launch(u.Next().Geometry))
			p.at++
		}
		if cost := w.cost[u.Choice()] / w.cost[w.best]; cost > 1.25 {
			t.Errorf("seed %d: runs at %+v, %.2f times the best", seed, u.Choice(), cost)
		}
	}
}

// An exploration that sees nothing but a state with one processor mostly recognises it, and chooses
// for two; until the state is over that costs a few percent.
func TestAStateThatLastsIsMostlyRecognised(t *testing.T) {
	w := heavy256(t)
	const seeds = 100
	wrong := 0
	for seed := range uint64(seeds) {
		p := w.from(seed)
		p.series = make([]float64, 300)
		for i := range p.series {
			p.series[i] = 1.87 * (1 + 0.03*p.random.NormFloat64())
		}
		p.at = 0
		u := New(Config{Space: w.space})
		for range p.series {
			_ = u.Observe(p.launch(u.Next().Geometry))
			p.at++
		}
		if u.Choice().Groups == 1 {
			wrong++
		}
	}
	t.Logf("%d of %d choose one workgroup", wrong, seeds)
	if wrong > seeds/3 {
		t.Errorf("%d of %d choose one workgroup", wrong, seeds)
	}
}

func TestAFewDisturbedLaunchesAreNoChange(t *testing.T) {
	for seed := range uint64(20) {
		u, r := settled(t, &simulatedH200, load{65_536, 300, 8}, seed)
		g, arms := u.Next().Geometry, u.Arms(nil)
		r.speed = 1.6
		for u.Changes() == 0 {
			observe(t, u, r.launch(u.Next().Geometry))
		}
		r.speed = 1
		for n := 0; u.Next().Why == Reexploring; n++ {
			if n == maxChecks {
				t.Fatalf("seed %d: explores at %+v", seed, u.Next())
			}
			observe(t, u, r.launch(u.Next().Geometry))
		}
		if u.Changes() != 0 || u.Next().Geometry != g {
			t.Errorf("seed %d: %d changes, %+v after %+v", seed, u.Changes(), u.Next(), g)
		}
		for i, a := range u.Arms(nil) {
			if a.Stale != arms[i].Stale {
				t.Errorf("seed %d: %+v is doubted", seed, a.Geometry)
			}
		}
	}
}

// A change that is the same for all geometries says nothing against the choice: only a few are
// looked at, and the earlier measurements count again.
func TestAChangeOfAllIsSeenThroughSoon(t *testing.T) {
	for seed := range uint64(20) {
		u, r := settled(t, &simulatedH200, load{65_536, 300, 8}, seed)
		g, known := u.Next().Geometry, 0
		for _, a := range u.Arms(nil) {
			if !a.Stale {
				known++
			}
		}
		r.speed = 1.5
		looks := map[Geometry]bool{}
		for n := 0; n < 40 && (u.Changes() == 0 || u.Next().Left > 0); n++ {
			looks[u.Next().Geometry] = true
			observe(t, u, r.launch(u.Next().Geometry))
		}
		if len(looks) > 1+axes || u.Next().Geometry != g {
			t.Errorf("seed %d: %d geometries ran; %+v after %+v", seed, len(looks), u.Next().Geometry, g)
		}
		for _, a := range u.Arms(nil) {
			if !a.Stale {
				known--
			}
		}
		if known > 0 {
			t.Errorf("seed %d: %d geometries are forgotten", seed, known)
		}
		if got, want := u.Next().NsPerSlot, simulatedH200.ns(r.load, g)*1.5/65_536; math.Abs(got/want-1) > 0.06 {
			t.Errorf("seed %d: expects %.4f ns a slot, it takes %.4f", seed, got, want)
		}
	}
}

func TestLooksNeverMakeAHintAMeasurement(t *testing.T) {
	l := load{4096, 60, 0}
	r := newRing(&simulatedH200, l, 1)
	u := New(Config{Space: simulatedH200.space(l)})
	ran := map[Geometry]bool{}
	for range 4 {
		g := u.Next().Geometry
		ran[g] = true
		observe(t, u, r.launch(g))
	}
	var e cache.Entry
	for c := range u.Space().Len() {
		if len(e.Measurements) < 12 {
			e.Measurements = append(e.Measurements, cache.Measurement{Geometry: cache.Geometry(u.Space().At(c)), Count: 9, Mean: 1})
		}
	}
	u.Hint(&e)
	for i := range 2000 {
		if i%7 == 0 {
			r.speed = 2 // a disturbed launch, so that there are looks
		}
		for _, a := range u.Arms(nil) {
			if !a.Stale && !ran[a.Geometry] {
				t.Fatalf("launch %d: %+v counts and never ran", i, a.Geometry)
			}
		}
		g := u.Next().Geometry
		ran[g] = true
		_ = u.Observe(r.launch(g))
		r.speed = 1
	}
}
