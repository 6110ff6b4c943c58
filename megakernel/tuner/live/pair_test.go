package live

import (
	"math"
	"testing"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/cache"
)

// pairAt is what a tuner makes of a look between two launches of the incumbent.
func pairAt(before, look, after float64) pair {
	u := New(Config{Space: simulatedH200.space(load{4096, 60, 0})})
	u.before = launch{ran: true, y: before}
	u.look = look1(look)
	return u.compare(launch{ran: true, y: after})
}

func look1(y float64) look { return look{config: 1, open: true, n: 1, y: y} }

func TestPairMeasuresTheDifferenceWhateverTheMachineDoes(t *testing.T) {
	calm, slow, drifting := pairAt(1, 1.2, 1), pairAt(3, 3.2, 3), pairAt(1, 1.25, 1.1)
	for name, p := range map[string]pair{"calm": calm, "slow": slow, "drifting": drifting} {
		if math.Abs(p.d-.2) > 1e-9 {
			t.Errorf("%s: the difference is %v, want 0.2", name, p.d)
		}
	}
	if calm.variance != slow.variance || drifting.variance <= calm.variance {
		t.Errorf("variances: calm %v, slow %v, drifting %v", calm.variance, slow.variance, drifting.variance)
	}
	if jump := pairAt(1, 1.2, 2); jump.variance < .2 {
		t.Errorf("the machine changed between the launches: variance %v", jump.variance)
	}
}

func TestPairOfLaunchesOfOtherSizesSaysLess(t *testing.T) {
	u := New(Config{Space: simulatedH200.space(load{4096, 60, 0})})
	u.before = launch{ran: true}
	u.look = look1(.2)
	same := u.compare(launch{ran: true})
	u.look.off = 1
	if other := u.compare(launch{ran: true}); other.variance < 2*same.variance {
		t.Errorf("variance %v, of equal sizes %v", other.variance, same.variance)
	}
}

func TestNoiseIsNotRaisedByDisturbedLaunches(t *testing.T) {
	var s spread
	for i := range 200 {
		d := .01 * math.Sqrt2
		if i%10 == 0 {
			d = 5
		}
		s.fold(d)
	}
	if s.sd() > .02 {
		t.Errorf("the noise is %v, want about 0.01", s.sd())
	}
}

// Differences chain: what was compared with an earlier incumbent is comparable with the
// one in use.
func TestProcessChainsDifferences(t *testing.T) {
	s := simulatedH200.space(load{65_536, 300, 8})
	far := int32(s.Len() - 1)
	pairs := []pair{{of: 1, than: 0, d: -.3, variance: 1e-4}, {of: far, than: 1, d: -.2, variance: 1e-4}}
	var p process
	p.condition(s, pairs)
	for _, c := range []struct {
		of, than int32
		want     float64
	}{{1, 0, -.3}, {far, 1, -.2}, {far, 0, -.5}, {0, far, .5}, {1, 1, 0}} {
		mean, sd := p.difference(c.of, c.than)
		if math.Abs(mean-c.want) > .02 || sd > .03 {
			t.Errorf("%d over %d: %.3f ± %.3f, want %.3f", c.of, c.than, mean, sd, c.want)
		}
	}
}

// A report is folded in at once; whether to look at something may be thought of later. Meanwhile
// the incumbent runs.
func TestLooksGoOnWhereThinkingIsLate(t *testing.T) {
	l := load{65_536, 300, 8}
	r, u := newRing(&simulatedH200, l, 4), simulatedH200.fresh(t, l)
	for n := 0; !u.Over(); n++ {
		if n > mostOfAnExploration {
			t.Fatalf("still not over: %+v", u.Next())
		}
		if err := u.Take(r.launch(u.Next().Geometry)); err != nil {
			t.Fatal(err)
		}
		if !u.thinks {
			continue
		}
		for range 2 { // launches that did not wait
			if u.Next().Geometry != u.Choice() {
				t.Fatalf("%+v runs beside the incumbent %+v", u.Next().Geometry, u.Choice())
			}
			looks := u.Looks()
			_ = u.Take(r.launch(u.Choice()))
			if u.Looks() != looks {
				t.Fatal("a launch that was no look counts as one")
			}
		}
		u.Think()
	}
	if u.Looks() < maxPairs/3 {
		t.Errorf("only %d looks", u.Looks())
	}
}

// With several launches in flight those of the look and of the incumbent that were
// already under way are no looks of their own.
func TestLooksEndWithLaunchesInFlight(t *testing.T) {
	l := load{65_536, 300, 8}
	r, u := newRing(&simulatedH200, l, 4), simulatedH200.fresh(t, l)
	var flying []policy.Geometry
	for n := 0; !u.Over(); n++ {
		if n > mostOfAnExploration {
			t.Fatalf("not over after %d launches and %d looks", n, u.Looks())
		}
		flying = append(flying, u.Next().Geometry)
		if len(flying) > 3 {
			_ = u.Observe(r.launch(flying[0]))
			flying = flying[1:]
		}
	}
}

func TestHintIsNeverKeptBeforeItRan(t *testing.T) {
	l := load{4096, 60, 0}
	r := newRing(&simulatedH200, l, 1)
	u := simulatedH200.fresh(t, l)
	ran := map[policy.Geometry]bool{}
	var e cache.Entry
	for c := range u.Space().Len() {
		if len(e.Measurements) < 12 {
			e.Measurements = append(e.Measurements, cache.Measurement{Geometry: u.Space().At(c), Count: 9, Mean: 1 + float64(c)/100})
		}
	}
	if u.Hint(&e) != 12 {
		t.Fatal("not taken")
	}
	for i := range 500 {
		if i > 0 && !ran[u.Choice()] {
			t.Fatalf("launch %d: %+v is kept and never ran", i, u.Choice())
		}
		for _, m := range u.Entry(cache.Key{}).Measurements {
			if !ran[m.Geometry] {
				t.Fatalf("launch %d: %+v is remembered and never ran", i, m.Geometry)
			}
		}
		ran[u.Next().Geometry] = true
		observe(t, u, r.launch(u.Next().Geometry))
	}
}

// A selection is kept whatever the means say that are stored with it: it was made in
// pairs, and the means of launches at different times were not.
func TestRestoreKeepsTheSelectionAndTheNoise(t *testing.T) {
	s := simulatedH200.space(load{4096, 60, 0})
	mine, other := s.At(3), s.At(9)
	for _, sd := range []float64{.01, .3, 1e6} {
		u := New(Config{Space: s})
		u.Restore(&cache.Entry{Selected: mine, Measurements: []cache.Measurement{
			{Geometry: mine, Count: 6, Mean: 10, M2: 5 * 100 * sd * sd},
			{Geometry: other, Count: 6, Mean: 8.5, M2: 5 * 100 * sd * sd},
		}})
		if next := u.Next(); next.Look || !u.Over() || next.Geometry != mine {
			t.Errorf("scattered by %v: %+v", sd, next)
		}
		if noise := u.Noise(); noise < .5*sd && noise < .3 || noise > mostNoise {
			t.Errorf("scattered by %v: the noise is %v", sd, noise)
		}
	}
}

// A change that is the same for all geometries says nothing against the choice.
func TestChangeOfAllKeepsTheChoice(t *testing.T) {
	kept := 0
	const seeds = 10
	for seed := range uint64(seeds) {
		u, r := explored(t, &simulatedH200, load{65_536, 300, 8}, seed)
		before := simulatedH200.ns(r.load, u.Choice())
		r.speed = 1.5
		for range 1000 {
			observe(t, u, r.launch(u.Next().Geometry))
		}
		if u.Changes() != 1 {
			t.Errorf("seed %d: %d changes, then %+v", seed, u.Changes(), u.Next())
		}
		if simulatedH200.ns(r.load, u.Choice()) <= before*1.02 {
			kept++
		}
		if got, want := u.Next().NsPerSlot, simulatedH200.ns(r.load, u.Choice())*1.5/65_536; math.Abs(got/want-1) > .06 {
			t.Errorf("seed %d: expects %.4f ns a slot, it takes %.4f", seed, got, want)
		}
	}
	if kept < seeds-1 {
		t.Errorf("only %d of %d runs keep a geometry as good", kept, seeds)
	}
}
