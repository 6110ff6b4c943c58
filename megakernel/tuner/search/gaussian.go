package search

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"ringmaster/megakernel/tuner/space"
)

const (
	starts     = 8  // configurations measured before a model is asked
	startsFrom = 30 // random configurations of which the farthest becomes a start
)

// model is what the searchers with a model of the cost share: the start, the
// process, and the chance that a configuration runs.
type model struct {
	told
	rng    *rand.Rand
	fresh  *unseen
	grid   *grid
	gp     *gp
	pool   *pool
	likely []int // by a prior, the best first
	redraw int   // measurements at which the pool is drawn anew
	chance chance

	finalists finalists // scratch
}

// newModel returns a model that judges all configurations of a space. Of a space
// that is too large for that, it first judges the likeliest configurations, if a
// prior knows any, and random others.
func newModel(s *space.Space, seed uint64, likely []int) *model {
	rng := newRand(seed)
	m := &model{likely: likely, told: newTold(s), rng: rng, fresh: newUnseen(rng, s.Len())}
	m.grid = newGrid(s)
	start := coldHyper(m.grid)
	m.pool = newPool(s, rng, likely)
	m.redraw = starts
	m.gp = newGP(m.grid, rng, m.pool, start, coldFitting(start), nil)
	m.chance = newChance(m.grid, m.pool, rng)
	return m
}

// look renews the pool of a space that does not fit into one: from time to time
// as a whole, and after each new best by its neighbours. It brings the chances up
// to date too.
func (m *model) look() {
	if n := len(m.order); n >= m.redraw && !m.pool.whole() {
		m.redraw = n + n/3 + 1
		m.pool.draw(append(m.ranked(), m.likely[:min(len(m.likely), poolSize/4)]...))
	}
	m.pool.surround(m.best)
	m.chance.update()
}

// ranked are the configurations that ran, the cheapest first.
func (m *model) ranked() []int {
	ran := slices.DeleteFunc(slices.Clone(m.order), func(c int) bool { return math.IsInf(m.costs[c], 1) })
	slices.SortStableFunc(ran, func(a, b int) int { return cmp.Compare(m.costs[a], m.costs[b]) })
	return ran
}

func (m *model) Tell(config int, cost float64) {
	fresh := m.record(config, cost)
	ran := !math.IsInf(m.costs[config], 1)
	if fresh {
		m.chance.observe(config, ran)
	}
	if ran {
		m.gp.observe(config)
	}
}

// start returns the next of the first configurations: each as far as possible
// from those before.
func (m *model) start() int {
	best, most := -1, -1.0
	for range startsFrom {
		c := m.fresh.draw(&m.told)
		if c < 0 {
			break
		}
		if len(m.order) == 0 {
			return c
		}
		m.fresh.next++
		near := math.Inf(1)
		for _, o := range m.order {
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
func (m *model) distance(a, b int) (sum float64) {
	x, y := m.space.Levels(a), m.space.Levels(b)
	for j, p := range m.space.Params() {
		d := p.Coords[x[j]] - p.Coords[y[j]]
		sum += d * d
	}
	return sum
}

// improve returns the unmeasured configuration with the largest expected
// improvement, weighted with the chance that it runs; -1 if the pool has none.
func (m *model) improve() int { return m.improveAmong(nil) }

// improveAmong is improve over the configurations that accept takes.
func (m *model) improveAmong(accept func(config int) bool) int {
	m.look()
	y := scores(m.gp.costs(m.costs))
	m.gp.update(y)
	best := slices.Max(y)
	m.finalists.reset()
	for i, c := range m.pool.configs {
		if m.known(int(c)) || accept != nil && !accept(int(c)) {
			continue
		}
		ei := expectedImprovement(float64(m.gp.mean[i]), m.gp.sd(i), best)
		m.finalists.add(finalist{config: int(c), gain: ei, chance: m.chance.of(i)})
	}
	return m.chance.choose(&m.finalists)
}

// gaussian maximises the expected improvement under a Gaussian process.
type gaussian struct{ *model }

func newGaussian(s *space.Space, o Options) Searcher { return gaussian{newModel(s, o.Seed, nil)} }

func (g gaussian) Ask() (int, bool) { return g.ask(g.improve) }

// ask is what every model searcher has in common: the starts come first, then
// what pick returns, and if pick has nothing, a random configuration of those left.
func (m *model) ask(pick func() int) (int, bool) {
	if m.full() {
		return 0, false
	}
	if len(m.order) < starts || m.best < 0 {
		return m.start(), true
	}
	if c := pick(); c >= 0 {
		return c, true
	}
	return m.fresh.draw(&m.told), true
}
