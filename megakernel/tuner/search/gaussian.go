package search

import (
	"math"
	"math/rand/v2"
	"slices"

	"ringmaster/megakernel/tuner/space"
)

const (
	starts     = 8  // configurations measured before a model is asked
	startsFrom = 30 // random ones from which each start is the farthest
)

// model is what the searchers with a model of the cost share: the start, the
// process, and the chance that a configuration runs.
type model struct {
	told
	rng    *rand.Rand
	fresh  *unseen
	gp     *gp
	chance chance
}

// newModel judges all of a space, or of one that is too large the
// configurations that come first and random others.
func newModel(s *space.Space, seed uint64, first []int) *model {
	rng := newRand(seed)
	m := &model{told: newTold(s), rng: rng, fresh: newUnseen(rng, s.Len())}
	start := coldHyper(s)
	m.gp = newGP(s, rng, newPool(s, rng, first), start, coldFitting(start), nil)
	m.chance = newChance(s, m.gp.pool)
	return m
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
		if m.fresh.next >= len(m.fresh.order) {
			break
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
	y := normalScores(m.gp.costs(m.costs))
	m.gp.update(y)
	best := slices.Max(y)
	at, most := -1, -1.0
	for i, c := range m.gp.pool {
		if m.known(int(c)) || accept != nil && !accept(int(c)) {
			continue
		}
		if ei := expectedImprovement(float64(m.gp.mean[i]), m.gp.sd(i), best) * m.chance.of(i); ei > most {
			at, most = int(c), ei
		}
	}
	return at
}

// gaussian maximises the expected improvement under a Gaussian process.
type gaussian struct{ *model }

func newGaussian(s *space.Space, o Options) Searcher { return gaussian{newModel(s, o.Seed, nil)} }

func (g gaussian) Ask() (int, bool) { return g.ask(g.improve) }

// ask is the frame of every model searcher: starts first, then pick, and what
// is left at random if pick has nothing.
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

// chance estimates for every configuration of a pool whether it runs, from
// the outcomes of those near it.
type chance struct {
	space    *space.Space
	pool     []int32
	tables   *tables
	ran, all []float32 // kernel-weighted counts by pool
	runs     float64
	count    float64
}

const (
	chanceLength = .3 // how far an outcome reaches, in coordinates
	chancePrior  = .3 // weight of the overall rate
)

func newChance(s *space.Space, pool []int32) chance {
	c := chance{space: s, pool: pool, tables: newTables(s), ran: make([]float32, len(pool)), all: make([]float32, len(pool))}
	for j, p := range s.Params() {
		c.tables.fill(j, p.Coords, chanceLength)
	}
	return c
}

func (c *chance) observe(config int, ran bool) {
	c.count++
	share := float32(0)
	if ran {
		c.runs++
		share = 1
	}
	levels := c.space.Levels(config)
	for i, p := range c.pool {
		_, k := c.tables.sums(levels, c.space.Levels(int(p)))
		c.all[i] += float32(k)
		c.ran[i] += share * float32(k)
	}
}

func (c *chance) of(i int) float64 {
	if c.runs == c.count {
		return 1
	}
	rate := (c.runs + 1) / (c.count + 1)
	return (float64(c.ran[i]) + chancePrior*rate) / (float64(c.all[i]) + chancePrior)
}
