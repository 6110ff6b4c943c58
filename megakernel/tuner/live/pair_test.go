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

// A report during an exploration is folded in at once; the next look may be chosen later.
// Meanwhile the incumbent runs, and such launches use up no budget.
func TestExplorationGoesOnWhereThinkingIsLate(t *testing.T) {
	l := load{65_536, 300, 8}
	r := newRing(&simulatedH200, l, 4)
	u := New(Config{Space: simulatedH200.space(l)})
	looks := map[policy.Geometry]bool{}
	for n := 0; u.Next().Left > 0; n++ {
		if n > 10*defaultBudget {
			t.Fatalf("still explores: %+v", u.Next())
		}
		if err := u.Take(r.launch(u.Next().Geometry)); err != nil {
			t.Fatal(err)
		}
		looks[u.Next().Geometry] = true
		if !u.thinks {
			continue
		}
		for range 2 { // launches that did not wait
			if u.Next().Geometry != u.Choice() {
				t.Fatalf("%+v runs beside the incumbent %+v", u.Next().Geometry, u.Choice())
			}
			left := u.Next().Left
			_ = u.Take(r.launch(u.Choice()))
			if u.Next().Left != left {
				t.Fatal("a launch that was no look counts as one")
			}
		}
		u.Think()
		looks[u.Next().Geometry] = true
	}
	if len(looks) < defaultBudget/3 {
		t.Errorf("only %d geometries ran", len(looks))
	}
}

// With several launches in flight those of the look and of the incumbent that were
// already under way are no looks of their own.
func TestExplorationEndsWithLaunchesInFlight(t *testing.T) {
	l := load{65_536, 300, 8}
	r := newRing(&simulatedH200, l, 4)
	u := New(Config{Space: simulatedH200.space(l)})
	var flying []policy.Geometry
	n := 0
	for ; u.Next().Left > 0 && n < 1000; n++ {
		flying = append(flying, u.Next().Geometry)
		if len(flying) > 3 {
			observe(t, u, r.launch(flying[0]))
			flying = flying[1:]
		}
	}
	if n > 400 || u.n < defaultBudget/2 {
		t.Errorf("%d launches gave %d pairs", n, u.n)
	}
}

func TestHintIsNeverKeptBeforeItRan(t *testing.T) {
	l := load{4096, 60, 0}
	r := newRing(&simulatedH200, l, 1)
	u := New(Config{Space: simulatedH200.space(l)})
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
		if next := u.Next(); next.Why != Exploiting || next.Left != 0 || next.Geometry != mine {
			t.Errorf("scattered by %v: %+v", sd, next)
		}
		if noise := u.Noise(); noise < .5*sd && noise < .3 || noise > mostNoise {
			t.Errorf("scattered by %v: the noise is %v", sd, noise)
		}
	}
}

// A change that is the same for all geometries says nothing against the choice: after a
// look along each parameter the earlier differences count again.
func TestChangeOfAllIsSeenThroughSoon(t *testing.T) {
	kept := 0
	const seeds = 20
	for seed := range uint64(seeds) {
		u, r := settled(t, &simulatedH200, load{65_536, 300, 8}, seed)
		g, known := u.Choice(), len(u.Entry(cache.Key{}).Measurements)
		r.speed = 1.5
		looks := 0
		for range 60 {
			if u.Next().Why == Reexploring {
				looks++
			}
			observe(t, u, r.launch(u.Next().Geometry))
		}
		if u.Changes() != 1 || u.Next().Left != 0 {
			t.Errorf("seed %d: %d changes, then %+v", seed, u.Changes(), u.Next())
		}
		if looks == confirming && u.Choice() == g && len(u.Entry(cache.Key{}).Measurements) >= known {
			kept++
		}
		if got, want := u.Next().NsPerSlot, simulatedH200.ns(r.load, u.Choice())*1.5/65_536; math.Abs(got/want-1) > .06 {
			t.Errorf("seed %d: expects %.4f ns a slot, it takes %.4f", seed, got, want)
		}
	}
	if kept < seeds*3/4 {
		t.Errorf("only %d of %d runs are over after %d looks, with all that was known", kept, seeds, confirming)
	}
}
