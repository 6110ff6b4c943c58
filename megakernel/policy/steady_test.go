package policy

import (
	"math/rand/v2"
	"testing"
)

// changes counts what is launched otherwise than by the decision before, over n decisions on
// what load sets, after as many as every hysteresis needs to settle. Every so many-th queue is
// empty (0: none), which changes nothing by itself.
func changes(t *testing.T, cfg *Config, n, empty int, load func(r *Request, rng *rand.Rand)) (launches int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var state State
	var last Launch
	for i := -100; i < n; i++ {
		req := Request{Limits: Limits{MaxWorkgroupSizeX: 1_024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1_024}}
		load(&req, rng)
		if empty > 0 && i%empty == 0 {
			req.QueueLen, req.FrontierDensityBps = 0, 0
		}
		rec, next, err := Decide(cfg, &req, state)
		if err != nil {
			t.Fatal(err)
		}
		state = next
		now := rec.Launch(&state)
		if i >= 0 {
			launches += count(now != last)
		}
		last = now
	}
	return launches
}

func between(rng *rand.Rand, lo, hi uint32) uint32 { return lo + rng.Uint32N(hi-lo+1) }

// noisy is 20 % about a mean.
func noisy(rng *rand.Rand, mean uint32) uint32 { return between(rng, mean/5*4, mean/5*6) }

func graphOf(r *Request) {
	r.GraphNodeCount, r.GraphEdgeCount, r.Present = 1_000_000, 1<<20, HasFrontierDensity|HasMemoryPressure
}

// The loads that made decisions flap: none changes a plan more often than once in 1,000
// decisions.
func TestNoiseChangesNoPlan(t *testing.T) {
	const n = 100_000
	cfg := Standard()
	before := Standard()
	before.Steady = false
	for _, load := range []struct {
		name  string
		empty int
		most  int // changes in n decisions
		set   func(r *Request, rng *rand.Rand)
	}{
		{"density 300 to 700", 0, 0, func(r *Request, rng *rand.Rand) {
			graphOf(r)
			r.QueueLen = 1_000
			r.FrontierDensityBps = uint16(between(rng, 300, 700))
		}},
		{"density 300 to 700, empties", 4, 0, func(r *Request, rng *rand.Rand) {
			graphOf(r)
			r.QueueLen = 1_000
			r.FrontierDensityBps = uint16(between(rng, 300, 700))
		}},
		{"density 4,000 ± 20 %", 0, n / 1_000, func(r *Request, rng *rand.Rand) {
			graphOf(r)
			r.QueueLen = 1_000
			r.FrontierDensityBps = uint16(noisy(rng, 4_000))
		}},
		{"density 300 ± 20 %", 4, n / 1_000, func(r *Request, rng *rand.Rand) {
			graphOf(r)
			r.QueueLen = 1_000
			r.FrontierDensityBps = uint16(noisy(rng, 300))
		}},
		{"mode 3,700 to 4,500", 0, 0, func(r *Request, rng *rand.Rand) { r.QueueLen = between(rng, 3_700, 4_500) }},
		{"mode 3,700 to 4,500, empties", 4, 0, func(r *Request, rng *rand.Rand) { r.QueueLen = between(rng, 3_700, 4_500) }},
		{"pressure 8,300 to 8,700, empties", 4, n / 1_000, func(r *Request, rng *rand.Rand) {
			graphOf(r)
			r.QueueLen = 1_000
			r.FrontierDensityBps = 2_000
			r.MemoryPressureBps = uint16(between(rng, 8_300, 8_700))
		}},
		{"pressure 8,100 to 8,900", 0, n / 1_000, func(r *Request, rng *rand.Rand) {
			graphOf(r)
			r.QueueLen = 1_000
			r.FrontierDensityBps = 2_000
			r.MemoryPressureBps = uint16(between(rng, 8_100, 8_900))
		}},
		{"pressure 8,100 to 8,900, no graph", 4, 0, func(r *Request, rng *rand.Rand) {
			r.QueueLen = 1_000
			r.MemoryPressureBps = uint16(between(rng, 8_100, 8_900))
		}},
		{"length 1,000 ± 20 %", 0, n / 1_000, func(r *Request, rng *rand.Rand) { r.QueueLen = noisy(rng, 1_000) }},
		{"length 1,000 ± 20 %, empties", 4, n / 1_000, func(r *Request, rng *rand.Rand) { r.QueueLen = noisy(rng, 1_000) }},
		{"length 4,096 ± 20 %", 0, n / 1_000, func(r *Request, rng *rand.Rand) { r.QueueLen = noisy(rng, 4_096) }},
		{"length 65,536 ± 20 %, empties", 4, n / 1_000, func(r *Request, rng *rand.Rand) { r.QueueLen = noisy(rng, 65_536) }},
		{"length 131,072 ± 20 %", 0, n / 1_000, func(r *Request, rng *rand.Rand) { r.QueueLen = noisy(rng, 131_072) }},
	} {
		now, was := changes(t, &cfg, n, load.empty, load.set), changes(t, &before, n/20, load.empty, load.set)
		t.Logf("%-36s changes in 1,000: %6.2f without Steady, %5.2f with", load.name, float64(was)*20_000/n, float64(now)*1_000/n)
		if now > load.most {
			t.Errorf("%s: %d changes in %d decisions, want at most %d", load.name, now, n, load.most)
		}
	}
}

// At any mean, and so for any step of rounding and any threshold.
func TestNoiseAboutAnyLengthChangesNoPlan(t *testing.T) {
	const n = 20_000
	cfg := Standard()
	all, worst := 0, 0
	means := 0
	for mean := uint32(300); mean < 400_000; mean += mean/23 + 1 {
		got := changes(t, &cfg, n, 5, func(r *Request, rng *rand.Rand) { r.QueueLen = noisy(rng, mean) })
		all, worst, means = all+got, max(worst, got), means+1
	}
	t.Logf("%d means: %.4f changes in 1,000 on average, %.2f at worst", means, float64(all)*1_000/n/float64(means), float64(worst)*1_000/n)
	if worst > n/1_000 {
		t.Errorf("%d changes in %d decisions at worst", worst, n)
	}
}

// A step of the load is followed within 12 decisions: after those the plan is what it will
// be, and is another one than before.
func TestAStepIsFollowed(t *testing.T) {
	const within = 12
	cfg := Standard()
	queue := func(n uint32) func(*Request, *rand.Rand) { return func(r *Request, _ *rand.Rand) { r.QueueLen = n } }
	density := func(bps uint16) func(*Request, *rand.Rand) {
		return func(r *Request, _ *rand.Rand) { graphOf(r); r.QueueLen, r.FrontierDensityBps = 1_000, bps }
	}
	pressure := func(bps uint16) func(*Request, *rand.Rand) {
		return func(r *Request, _ *rand.Rand) { density(2_000)(r, nil); r.MemoryPressureBps = bps }
	}
	for name, step := range map[string][2]func(*Request, *rand.Rand){
		"twice as long":     {queue(1_000), queue(2_000)},
		"half as long":      {queue(2_000), queue(1_000)},
		"half, noisy":       {func(r *Request, rng *rand.Rand) { r.QueueLen = noisy(rng, 20_000) }, func(r *Request, rng *rand.Rand) { r.QueueLen = noisy(rng, 10_000) }},
		"a thirtieth":       {queue(60_000), queue(2_000)},
		"compiled":          {queue(3_000), queue(5_000)},
		"interpreted":       {queue(5_000), queue(3_000)},
		"several in flight": {queue(60_000), queue(200_000)},
		"one in flight":     {queue(200_000), queue(60_000)},
		"sparse to hybrid":  {density(400), density(1_200)},
		"hybrid to sparse":  {density(1_200), density(200)},
		"hybrid to dense":   {density(1_200), density(6_000)},
		"dense to hybrid":   {density(6_000), density(1_200)},
		"fewer workers":     {density(400), density(200)},
		"more workers":      {density(200), density(400)},
		"memory is scarce":  {pressure(7_000), pressure(9_000)},
		"memory is back":    {pressure(9_000), pressure(7_000)},
		"a graph":           {queue(1_000), density(6_000)},
		"no graph":          {density(6_000), queue(1_000)},
	} {
		rng := rand.New(rand.NewPCG(3, 4))
		var state State
		run := func(decisions int, set func(*Request, *rand.Rand)) (l Launch, groups uint32) {
			for i := range decisions {
				req := Request{Limits: Limits{MaxWorkgroupSizeX: 1_024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1_024}}
				set(&req, rng)
				if i%2 == 1 {
					req.QueueLen, req.FrontierDensityBps = 0, 0
				}
				rec, next, err := Decide(&cfg, &req, state)
				if err != nil {
					t.Fatal(err)
				}
				l, groups, state = rec.Launch(&next), rec.WorkerGroups, next
			}
			return l, groups
		}
		before, groupsBefore := run(200, step[0])
		after, groupsAfter := run(2*within, step[1]) // every other one is empty
		later, groupsLater := run(200, step[1])
		if after == before && groupsAfter == groupsBefore || after != later || groupsAfter != groupsLater {
			t.Errorf("%s: %+v (%d groups) before, %+v (%d) after %d decisions, %+v (%d) later", name, before, groupsBefore, after, groupsAfter, within, later, groupsLater)
		}
	}
}

// kernels are a device whose launches take a time of their own each way, and what is known of them.
type kernels struct {
	startNs, slotNs [ways]float64
	lease           uint32 // slots of a round; 0: no lease
	history         History
	state           State
	last            Way
}

// decide makes a decision for a queue and launches it.
func (d *kernels) decide(t *testing.T, cfg *Config, queue uint32, rng *rand.Rand) {
	t.Helper()
	m := d.history.Measured()
	req := Request{
		QueueLen: queue, Limits: Limits{MaxWorkgroupSizeX: 1_024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1_024},
		Cost: m.Any, Interpreted: m.By[WayInterpreted], Compiled: m.By[WayCompiled], CompiledReady: true,
		Leased: m.By[WayLeased], Lease: Lease{Slots: d.lease},
	}
	rec, next, err := Decide(cfg, &req, d.state)
	if err != nil {
		t.Fatal(err)
	}
	d.state, d.last = next, WayInterpreted+Way(count(rec.Mode == ModeJIT))
	if rec.LaunchMode == LaunchLease {
		d.last = WayLeased
	}
	ns := (d.startNs[d.last] + d.slotNs[d.last]*float64(queue)) * (.8 + .4*rng.Float64())
	if err := d.history.Take(d.last, uint64(queue), uint64(ns)); err != nil {
		t.Fatal(err)
	}
}

// However far the ways are apart, times and lengths that are ± 20 % change what runs no more than
// once in 1,000 decisions, with all that is made to learn, and what runs is the quickest, or
// within the band of it.
func TestNoiseOfTheCostsChangesNoKernel(t *testing.T) {
	const n = 20_000
	cfg := Standard()
	for _, lease := range []uint32{0, 256} {
		for ratio := .5; ratio <= 2; ratio *= 1.07 {
			rng := rand.New(rand.NewPCG(3, uint64(ratio*1_000)))
			d := kernels{startNs: [ways]float64{20_000, 20_000, 4_000}, slotNs: [ways]float64{100, 100 * ratio, 300 * ratio}, lease: lease}
			mean := uint32(200)
			changes := 0
			var took [ways]float64
			for i := -200; i < n; i++ {
				before := d.last
				d.decide(t, &cfg, noisy(rng, mean), rng)
				if i >= 0 {
					changes += count(d.last != before)
					took[d.last]++
				}
			}
			if changes > n/1_000 {
				t.Errorf("lease of %d slots, ratio %.2f: %d changes in %d decisions", lease, ratio, changes, n)
			}
			ns := func(w Way) float64 { return d.startNs[w] + d.slotNs[w]*float64(mean) }
			quickest := min(ns(WayInterpreted), ns(WayCompiled))
			if lease != 0 {
				quickest = min(quickest, ns(WayLeased))
			}
			mostly := WayInterpreted
			for w, launches := range took {
				if launches > took[mostly] {
					mostly = Way(w)
				}
			}
			if ns(mostly) > 1.5*quickest {
				t.Errorf("lease of %d slots, ratio %.2f: %d runs, at %.2f of the quickest", lease, ratio, mostly, ns(mostly)/quickest)
			}
		}
	}
}

// When the way that runs becomes slower than another was, it is left once most of the launches
// that an estimate is made from say so and the dwell is over.
func TestAKernelThatBecomesTheSlowerOneIsLeft(t *testing.T) {
	cfg := Standard()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		d := kernels{slotNs: [ways]float64{100, 50, 10}}
		for range 200 {
			d.decide(t, &cfg, noisy(rng, 1_000), rng)
		}
		if d.last != WayCompiled {
			t.Fatal("the slower kernel runs")
		}
		d.slotNs[WayCompiled] = 300
		launches := 0
		for ; d.last == WayCompiled; launches++ {
			d.decide(t, &cfg, noisy(rng, 1_000), rng)
		}
		if launches > costRows+int(cfg.Dwell) {
			t.Errorf("after %d launches", launches)
		}
	}
}
