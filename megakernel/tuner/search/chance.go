package search

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"ringmaster/megakernel/tuner/space"
)

// chance estimates the probability that a configuration runs: for every one of
// a pool from the outcomes of those near it, and for a few of them, more
// precisely, by rules too.
type chance struct {
	grid     *grid
	pool     *pool
	drawn    int // the draw of the pool that the counts belong to
	tables   *tables
	outcomes []outcome
	counted  int       // outcomes that are in the counts
	ran, all []float32 // kernel-weighted counts by pool
	runs     int
	rules    rules
}

type outcome struct {
	config int
	ran    bool
}

const (
	chanceLength = .3 // how far an outcome reaches, in coordinates
	chancePrior  = .3 // weight of the overall rate
)

func newChance(g *grid, pool *pool, rng *rand.Rand) chance {
	c := chance{grid: g, pool: pool, tables: newTables(g)}
	c.rules.forest.rng = rng
	for j, coords := range g.coords {
		c.tables.fill(j, coords, chanceLength)
	}
	return c
}

func (c *chance) observe(config int, ran bool) {
	c.outcomes = append(c.outcomes, outcome{config, ran})
	if ran {
		c.runs++
	}
}

// update brings the counts up to date with pool and outcomes, if any failed.
func (c *chance) update() {
	if c.runs == len(c.outcomes) {
		return
	}
	if c.drawn != c.pool.draws {
		c.drawn, c.counted = c.pool.draws, 0
		c.all, c.ran = c.all[:0], c.ran[:0]
	}
	first, n := len(c.all), len(c.pool.configs)
	c.all, c.ran = append(c.all, make([]float32, n-first)...), append(c.ran, make([]float32, n-first)...)
	for i, o := range c.outcomes {
		if i < c.counted {
			c.spread(o, first)
		} else {
			c.spread(o, 0)
		}
	}
	c.counted = len(c.outcomes)
}

// spread adds an outcome to the counts of the pool from first on.
func (c *chance) spread(o outcome, first int) {
	cells := c.grid.at(o.config)
	for i, p := range c.pool.configs[first:] {
		_, k := c.tables.sums(cells, c.grid.at(int(p)))
		c.all[first+i] += float32(k)
		if o.ran {
			c.ran[first+i] += float32(k)
		}
	}
}

func (c *chance) of(i int) float64 {
	count := len(c.outcomes)
	if c.runs == count {
		return 1
	}
	rate := float64(c.runs+1) / float64(count+1)
	return (float64(c.ran[i]) + chancePrior*rate) / (float64(c.all[i]) + chancePrior)
}

// finalist is a configuration that may be measured next: what it would gain if
// it runs, and the chance that it runs, judged by the outcomes near it.
type finalist struct {
	config       int
	gain, chance float64
}

// score counts the chance twice. The gains that a process expects where all fail do not shrink as it
// learns, because failures have no cost to learn from; with the mere product a search went on there
// while half of its measurements failed.
func (f finalist) score() float64 { return f.gain * f.chance * f.chance }

// maxFinalists is how many configurations the rules judge. Judging these takes
// longer than judging a whole pool by the outcomes nearby.
const maxFinalists = 256

// finalists are the configurations with the best scores, in no order, among
// some that are not.
type finalists struct {
	list  []finalist
	least float64 // score below which, or at which, nobody gets among the best any more
}

func (f *finalists) reset() { *f = finalists{list: f.list[:0], least: math.Inf(-1)} }

func (f *finalists) add(next finalist) {
	if next.score() <= f.least {
		return
	}
	f.list = append(f.list, next)
	if len(f.list) == 4*maxFinalists {
		f.cut()
		f.least = f.list[maxFinalists-1].score()
	}
}

// cut keeps the best, the best first; of equals those that came first.
func (f *finalists) cut() {
	slices.SortStableFunc(f.list, func(a, b finalist) int { return cmp.Compare(b.score(), a.score()) })
	f.list = f.list[:min(len(f.list), maxFinalists)]
}

// choose returns the configuration with the largest expected gain, -1 if there
// are no finalists.
func (c *chance) choose(among *finalists) int {
	failed := c.runs < len(c.outcomes)
	if failed {
		among.cut()
		c.rules.learn(c.grid.space, c.outcomes)
	}
	at, most := -1, -1.0
	for _, f := range among.list {
		if failed {
			f.chance *= c.rules.of(f.config)
		}
		if score := f.score(); score > most {
			at, most = f.config, score
		}
	}
	return at
}

// rules predict from all outcomes which configurations run, by a forest. Limits
// are often on products of parameters, such as the threads of a workgroup, and
// cut a space along a line that no neighbourhood follows.
type rules struct {
	features *features
	forest   forest
	x        [][]float32 // by feature and outcome
	ran      []float64
	row      []float32
	grown    int // outcomes that the forest was grown from
}

// learn grows the forest anew after a failure, and otherwise when there is a
// tenth more to learn from.
func (r *rules) learn(s *space.Space, outcomes []outcome) {
	if r.features == nil {
		r.features = newFeatures(s)
		r.row, r.x = make([]float32, r.features.n()), make([][]float32, r.features.n())
	}
	failed := false
	for _, o := range outcomes[len(r.ran):] {
		r.features.of(o.config, r.row)
		for j, v := range r.row {
			r.x[j] = append(r.x[j], v)
		}
		ran := 0.0
		if o.ran {
			ran = 1
		}
		failed = failed || !o.ran
		r.ran = append(r.ran, ran)
	}
	if n := len(r.ran); failed || n > r.grown+r.grown/10 {
		r.grown = n
		r.forest.grow(r.x, r.ran)
	}
}

// of is the mean over the trees of the share that ran in the configuration's leaf.
func (r *rules) of(config int) float64 {
	r.features.of(config, r.row)
	share, _ := r.forest.predict(r.row)
	return share
}
