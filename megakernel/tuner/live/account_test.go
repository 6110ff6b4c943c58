package live

import (
	"math"
	"math/rand/v2"
	"testing"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/gp"
)

// surface is a device without any structure that the model could know: what a geometry takes is drawn
// from its parameters, up to rough times as much or as little as usual.
type surface struct {
	usual, rough float64
	seed         uint64
	random       *rand.Rand
}

func (s *surface) ns(g policy.Geometry) float64 {
	of := rand.New(rand.NewPCG(s.seed<<32|uint64(g.Width)<<16|uint64(g.Groups), uint64(g.Chunk)<<32|uint64(g.Depth)))
	return s.usual * math.Pow(s.rough, 2*of.Float64()-1)
}

func (s *surface) launch(g policy.Geometry, slots uint32) Report {
	ns := uint64(s.ns(g) * math.Exp(.03*s.random.NormFloat64()))
	return Report{Geometry: g, Slots: slots, Ns: ns, WallNs: ns + 1000, CountsNs: ns}
}

// What looks lose stays within the share on any device, except for the one look that turned out worse
// than was feared, which is paid off before the next.
func TestLossesStayWithinTheirShare(t *testing.T) {
	const slots = 4096
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 5))
		s := &surface{usual: math.Pow(10, 3+5*random.Float64()), rough: 1 + 30*random.Float64(), seed: seed, random: random}
		u := New(Config{Space: simulatedH200.space(load{slots: slots})})
		var used, lost, last float64
		for range 1500 {
			next := u.Next()
			report := s.launch(next.Geometry, slots)
			if next.Look {
				if lost > lostShare*used*1.1 { // the tuner knows the incumbent's time by a few launches
					t.Fatalf("seed %d: a look after %.3g of %.3g ns are lost", seed, lost, used)
				}
				last = math.Max(float64(report.Ns)-s.ns(u.Choice()), 0)
				lost += last
			} else {
				used += float64(report.Ns)
			}
			_ = u.Observe(report)
		}
		if lost-last > lostShare*used*1.1 {
			t.Errorf("seed %d: %.3g of %.3g ns are lost, %.3g in the last look", seed, lost, used, last)
		}
	}
}

// Nobody is served sooner by a queue for which nobody waits.
func TestQueueForWhichNobodyWaitsNeverLooks(t *testing.T) {
	l := load{65_536, 300, 8}
	r, u := newRing(&simulatedH200, l, 1), simulatedH200.fresh(t, l)
	for range 3000 {
		report := r.launch(u.Next().Geometry)
		report.CountsNs = 0
		observe(t, u, report)
		if u.Next().Look || u.Choice() != u.Own() {
			t.Fatalf("%+v", u.Next())
		}
	}
}

func TestShortQueueNeverLooks(t *testing.T) {
	for _, l := range loads(1) {
		r, u := newRing(&simulatedH200, l, 1), simulatedH200.fresh(t, l)
		for range int(1 / lostShare) {
			if u.Next().Look {
				t.Fatalf("%+v: a look that takes twice as long is not paid for yet", l)
			}
			observe(t, u, r.launch(u.Next().Geometry))
		}
	}
}

// A look at another width has another kernel built, which costs as much as many launches.
func TestBuildOfAKernelIsPaidFor(t *testing.T) {
	l := load{4096, 60, 0}
	m := &simulatedH200
	own := m.fresh(t, l).Own()
	widths := func(build uint64) (launches int) {
		r := newRing(m, l, 1)
		u := New(Config{Space: m.space(l), Own: own, BuildNs: build})
		for ; launches < 3000; launches++ {
			if next := u.Next(); next.Look && next.Geometry.Width != own.Width {
				return launches
			}
			observe(t, u, r.launch(u.Next().Geometry))
		}
		return launches
	}
	build := uint64(10 * m.ns(l, own))
	if free, paid := widths(0), widths(build); free > 400 || paid < 500 {
		t.Errorf("another width ran after %d launches, and after %d where its build takes as long as 10", free, paid)
	}
}

// What counts of a launch is at most its time, and what cannot be true counts nothing.
func TestNoReportEarnsMoreThanItsTime(t *testing.T) {
	l := load{65_536, 300, 8}
	r, u := newRing(&simulatedH200, l, 1), simulatedH200.fresh(t, l)
	report := r.launch(u.Choice())
	report.CountsNs = math.MaxUint64
	observe(t, u, report)
	want := lostShare * float64(report.Ns)
	if _, allowed := u.Spent(); math.Abs(allowed/want-1) > 1e-9 {
		t.Errorf("%v ns may be lost after a launch of %d", allowed, report.Ns)
	}
	for _, ns := range []uint64{0, maxNs + 1, math.MaxUint64} {
		report.Ns, report.WallNs = ns, 0
		_ = u.Observe(report)
	}
	if lost, allowed := u.Spent(); lost != 0 || math.Abs(allowed/want-1) > 1e-9 {
		t.Errorf("impossible launches left %v of %v, had 0 of %v", lost, allowed, want)
	}
}

func TestBarredIncumbentGivesWayToThePolicysOwn(t *testing.T) {
	u, r := explored(t, simulatedH200.described(3, 32), load{65_536, 60, 0}, 1)
	if u.Choice() == u.Own() {
		t.Fatal("this device's own geometry is the best, choose another one")
	}
	u.Bar(u.Choice())
	if u.Choice() != u.Own() || u.Next().Geometry != u.Own() {
		t.Errorf("then %+v", u.Next())
	}
	u.Bar(u.Own())
	observe(t, u, r.launch(u.Own()))
	if u.Choice() != u.Own() {
		t.Error("the policy's own geometry always runs")
	}
}

func TestExcessIsTheExpectedOne(t *testing.T) {
	for _, c := range []struct{ mean, sd, want float64 }{{0, 1e-12, 0}, {.5, 1e-12, math.Expm1(.5)}, {-3, .1, 0}, {0, .1, .0425}, {5, .1, math.Expm1(worstRatio)}} {
		if got := excess(c.mean, c.sd); math.Abs(got-c.want) > .001 {
			t.Errorf("%v ± %v: %v, want %v", c.mean, c.sd, got, c.want)
		}
	}
}

func TestWhatIsOwedOutlivesAChange(t *testing.T) {
	u, _ := explored(t, &simulatedH200, load{65_536, 300, 8}, 1)
	u.account = account{used: 1000, lost: 100}
	u.change()
	if left := u.account.left(); math.Abs(left+80) > 1e-9 {
		t.Errorf("owed 80, then %v is left", left)
	}
	u.account = account{used: 1000, lost: 1}
	u.change()
	if u.account != (account{}) {
		t.Errorf("what was earned before a change is not forgotten: %+v", u.account)
	}
}

// What a look is expected to gain, for as much time again, is more than what it is expected to lose, and
// what it is feared to lose is paid for.
func TestEveryLookPaysAndIsPaidFor(t *testing.T) {
	for _, l := range loads(1) {
		r, u := newRing(&simulatedH200, l, 2), simulatedH200.fresh(t, l)
		for range 600 {
			observe(t, u, r.launch(u.Next().Geometry))
			if !u.Next().Look {
				continue
			}
			var p process
			p.condition(u.space, u.pairs[:u.n])
			mean, sd := p.difference(u.look.config, u.current)
			gain, loss := gp.Improvement(-mean, sd)*u.account.used, excess(mean, sd)*u.launchNs()
			if gain <= loss || feared(mean, sd)*u.launchNs() > u.account.left() {
				t.Fatalf("%+v: gains %.3g, loses %.3g, is feared to lose %.3g of %.3g", l, gain, loss, feared(mean, sd)*u.launchNs(), u.account.left())
			}
		}
	}
}
