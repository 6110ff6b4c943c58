package live

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"ringmaster/megakernel/policy"
)

// outcome of one tuner on one workload, against the exhaustive best.
type outcome struct {
	own    float64 // regret of the policy's own geometry: 0.05 is 5 % slower
	regret float64 // of the geometry in use once nothing is worth a look
	total  float64 // of 500 launches, over the clairvoyant's
}

func play(t *testing.T, m *machine, l load, seed uint64) (o outcome) {
	best, r, u := m.best(l), newRing(m, l, seed), m.fresh(t, l)
	o.own = m.ns(l, u.Own())/best - 1
	for i := 0; i < 500 || !u.Over() && i < mostOfAnExploration; i++ {
		g := u.Next().Geometry
		if i < 500 {
			o.total += m.ns(l, g) / best / 500
		}
		if err := u.Observe(r.launch(g)); err != nil && !errors.Is(err, ErrTooFast) {
			t.Fatal(err)
		}
	}
	o.regret = m.ns(l, u.Choice())/best - 1
	return o
}

// clamped fits a geometry to a launch as the engine does: depth and chunk to
// its slots, groups to its tickets.
func clamped(g policy.Geometry, l load) policy.Geometry {
	g.Depth = min(g.Depth, l.slots)
	g.Chunk = min(g.Chunk, g.Depth)
	g.Groups = min(g.Groups, (g.Depth+g.Chunk-1)/g.Chunk)
	return g
}

// A queue that stays saturated finds the better geometry, and loses less on the way than the policy's
// own costs. Short tests play one run each.
func TestChoiceOfASaturatedQueueIsNearTheExhaustiveBest(t *testing.T) {
	const seeds = 2
	// A GPU that does not say what it is and is taken for a software renderer.
	silent := simulatedH200
	silent.name, silent.limits.SubgroupSize, silent.limits.MaxWorkgroupsPerDimension = "silent GPU", 0, 65_535
	for _, c := range []struct {
		machine     *machine
		scale       float64
		mean, worst float64
	}{
		{simulatedH200.described(132, 2048), 1, 0.03, 0.36},
		{simulatedLlvmpipe.described(4, 8), 0.5, 0.03, 0.15},
		{&simulatedH200, 1, 0.03, 0.15},
		{&simulatedLlvmpipe, 0.5, 0.05, 0.2},
		{&silent, 1, 0.05, 0.4},
		{simulatedH200.described(3, 32), 1, 0.05, 0.4}, // it says something else than it is
	} {
		t.Run(fmt.Sprintf("%s, %d units", c.machine.name, c.machine.limits.Units), func(t *testing.T) {
			t.Parallel()
			all := loads(c.scale)
			var own, mean, worst, total float64
			for _, l := range all {
				for seed := range uint64(seeds) {
					o := play(t, c.machine, l, seed)
					own += o.own / seeds / float64(len(all))
					mean += o.regret / seeds / float64(len(all))
					total += o.total / seeds / float64(len(all))
					worst = max(worst, o.regret)
				}
			}
			t.Logf("%s, %d units: own %.4f, regret mean %.4f worst %.4f, total %.4f", c.machine.name, c.machine.limits.Units, own, mean, worst, total)
			if mean > c.mean || worst > c.worst || mean > own {
				t.Errorf("%s, %d units: regret mean %.3f of at most %.2f and %.3f without looks, worst %.3f of %.2f", c.machine.name, c.machine.limits.Units, mean, c.mean, own, worst, c.worst)
			}
			if total > 1+own+lostShare {
				t.Errorf("%s, %d units: 500 launches take %.3f of the best, and %.3f without looks", c.machine.name, c.machine.limits.Units, total, 1+own)
			}
		})
	}
}

// Before anything is measured the policy's own geometry runs, and the tuner begins from it.
func TestThePolicysOwnGeometryOfADescribedDeviceIsNearTheBest(t *testing.T) {
	standard := policy.Standard()
	for _, c := range []struct {
		machine      *machine
		units, lanes uint32
		scale        float64
		mean, worst  float64
	}{
		{&simulatedH200, 132, 2048, 1, 1.10, 1.5},
		{&simulatedLlvmpipe, 4, 8, 0.5, 1.10, 1.5},
	} {
		m := *c.machine
		m.limits.Units, m.limits.UnitLanes = c.units, c.lanes
		// What a launch gains if it is split is left out: what the host does overlaps with
		// launches in flight, and recorded rings gain nothing by fitting a cache.
		m.host, m.cache = 0, math.Inf(1)
		var mean, worst float64
		all := loads(c.scale)
		for _, l := range all {
			s := m.space(l)
			best := math.Inf(1)
			for c := range s.Len() {
				best = math.Min(best, m.ns(l, s.At(c)))
			}
			plan, _, err := policy.Decide(&standard, &policy.Request{QueueLen: l.slots, Limits: m.limits}, policy.State{})
			if err != nil {
				t.Fatal(err)
			}
			over := m.ns(l, clamped(plan.Geometry(), l)) / best
			t.Logf("%s, %d slots, work %g, skew %g: %s takes %.3f of the best", m.name, l.slots, l.work, l.skew, plan.Geometry(), over)
			mean, worst = mean+over/float64(len(all)), max(worst, over)
		}
		t.Logf("%s: mean %.3f, worst %.3f", m.name, mean, worst)
		if mean > c.mean || worst > c.worst {
			t.Errorf("%s: the mean is %.3f and the worst %.3f of the best, at most %.2f and %.2f", m.name, mean, worst, c.mean, c.worst)
		}
	}
}
