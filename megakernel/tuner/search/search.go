package search

import (
	"math"
	"math/rand/v2"
	"slices"

	"ringmaster/megakernel/tuner/gp"
	"ringmaster/megakernel/tuner/space"
)

// Failed is the cost of a configuration that does not build or run.
var Failed = math.Inf(1)

// Options are the inputs of a search beside its measurements.
type Options struct {
	Seed uint64
	// History are recordings of the same kernel on other devices.
	History []*space.Recording
	// Device names where the search runs. Recordings from devices of the same
	// maker count for more.
	Device string
}

const (
	starts     = 8  // configurations measured before a model is asked
	startsFrom = 30 // random configurations of which the farthest becomes a start

	// finish is the number of measurements after which the neighbourhood gets its
	// turns; before that, there is more to learn farther away.
	finish = 80

	// After patience measurements without an improvement by a share of improved,
	// the best may be the end of a wrong path, such as one of two switches that help
	// only together. From then on until the next improvement, one of strayEvery
	// measurements is at a random configuration.
	patience   = 30
	improved   = .01
	strayEvery = 8
)

// Search proposes configurations and learns from their cost.
type Search struct {
	Measured
	rng     *rand.Rand
	fresh   *Unseen
	pool    *pool
	process *process
	trees   *trees
	chance  chance
	prior   *prior // nil without a history

	goal  float64 // cost below which a measurement is an improvement
	since int     // measurements after the last improvement
	heard int     // measurements that since knows of
}

// New returns a search that has measured nothing.
func New(s *space.Space, o Options) *Search {
	rng := Generator(o.Seed)
	grid := newGrid(s)
	m := &Search{Measured: NewMeasured(s), rng: rng, fresh: NewUnseen(rng, s.Len())}
	if len(o.History) > 0 {
		m.prior = newPrior(s, o)
	}
	m.pool = newPool(s, rng, m.prior.likely())
	start := coldHyper(len(grid.params))
	m.process = newProcess(grid, rng, m.pool, start, coldFitting(start), nil)
	seen := newSamples(newFeatures(s))
	m.chance = newChance(rng, m.pool, seen)
	m.trees = newTrees(rng, seen)
	if m.prior != nil {
		m.prior.begin(grid, rng, m.pool)
	}
	return m
}

// Generator returns the random numbers of a seed.
func Generator(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)) }

// Ask returns the configuration to measure next, by its number in the space;
// false when every configuration was measured. Asking again without telling is
// allowed and may return another configuration.
func (m *Search) Ask() (config int, ok bool) {
	if m.Full() {
		return 0, false
	}
	n := len(m.Order)
	if m.prior != nil {
		if c := m.ofPrior(); c >= 0 {
			return c, true
		}
		n /= 2 // the cold search has every second measurement
	}
	c := m.cold(n)
	if m.prior != nil {
		m.prior.cold = c
	}
	return c, true
}

// Tell reports the cost of a configuration: above zero, in any unit, lower being
// better, or Failed. It may be one that was not asked for. One that was told before
// gets the new cost.
func (m *Search) Tell(config int, cost float64) {
	m.Record(config, cost)
	if m.ran(config) {
		m.process.observe(config)
	}
	if m.prior != nil {
		m.prior.tell(m, config)
	}
}

// cold chooses without a prior: the starts first, and then by whose turn the nth
// measurement is.
func (m *Search) cold(n int) int {
	if len(m.Order) < starts || m.Best < 0 {
		return m.start()
	}
	c := -1
	switch {
	case m.stuck() && n%strayEvery == 0:
	case n%5 == 1 || n%5 == 3:
		c = m.trees.improve(&m.Measured)
	case n%5 == 2 && len(m.Order) >= finish:
		near := m.Space.AppendNeighbours(nil, m.Best)
		if c = m.improve(func(c int) bool { return slices.Contains(near, c) }); c < 0 {
			c = m.improve(nil)
		}
	default:
		c = m.improve(nil)
	}
	if c < 0 {
		c = m.fresh.Draw(&m.Measured)
	}
	return c
}

// stuck says that there has been no improvement for a while.
func (m *Search) stuck() bool {
	for ; m.heard < len(m.Order); m.heard++ {
		m.since++
		if c := m.Costs[m.Order[m.heard]]; m.goal == 0 && !math.IsInf(c, 1) || c < m.goal {
			m.goal, m.since = c*(1-improved), 0
		}
	}
	return m.since >= patience
}

// start returns the next of the first configurations: each as far as possible
// from those before.
func (m *Search) start() int {
	best, most := -1, -1.0
	for range startsFrom {
		c := m.fresh.Draw(&m.Measured)
		if c < 0 {
			break
		}
		if len(m.Order) == 0 {
			return c
		}
		m.fresh.next++
		near := math.Inf(1)
		for _, o := range m.Order {
			near = min(near, m.distance(c, o))
		}
		if near > most {
			best, most = c, near
		}
	}
	m.fresh.next = 0 // those that were not taken stay eligible
	return best
}

// distance is the squared distance of the coordinates.
func (m *Search) distance(a, b int) (sum float64) {
	x, y := m.Space.Levels(a), m.Space.Levels(b)
	for j, p := range m.Space.Params() {
		d := p.Coords[x[j]] - p.Coords[y[j]]
		sum += d * d
	}
	return sum
}

// improve returns the unmeasured configuration of those that accept takes (nil:
// all) with the largest expected improvement under the process, weighted with the
// chance that it runs; -1 if there is none in the pool.
func (m *Search) improve(accept func(config int) bool) int {
	m.look()
	y := mixedScores(m.costsOf(m.process.observed))
	m.process.update(y)
	best := slices.Max(y)
	return m.choose(accept, func(i int) float64 {
		return gp.Improvement(float64(m.process.mean[i])-best, m.process.sd(i))
	})
}

// look brings the pool and the chances up to date.
func (m *Search) look() {
	m.pool.follow(&m.Measured)
	m.chance.update(&m.Measured)
}

// choose returns the unmeasured configuration of the pool with the largest gain,
// weighted twice with the chance that it runs. The gains that a process expects
// where all fail do not shrink as it learns, because failures have no cost to learn
// from: weighted once, half of the measurements fail there.
func (m *Search) choose(accept func(config int) bool, gain func(i int) float64) int {
	at, most := -1, -1.0
	for i, c := range m.pool.configs {
		if m.Known(int(c)) || accept != nil && !accept(int(c)) {
			continue
		}
		p := m.chance.of(i)
		if score := gain(i) * p * p; score > most {
			at, most = int(c), score
		}
	}
	return at
}
