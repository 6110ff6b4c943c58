package search

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"ringmaster/megakernel/tuner/gp"
)

const (
	// maxObserved bounds the measurements of the process: its cost is cubic.
	maxObserved = 256
	block       = 1_024
)

// process is a Gaussian process over the scores of what ran. The posterior of
// every configuration of a pool is kept up to date, at a cost of one row of the
// covariance's factor a measurement.
type process struct {
	grid     *grid
	rng      *rand.Rand
	pool     *pool
	drawn    int // the draw of the pool that rows belong to
	hyper    hyper
	tables   tables
	observed []int // configurations that ran
	factor   gp.Posterior
	lower    [][]float64 // rows of its factor
	rows     [][]float32 // L⁻¹ K(observed, pool), by observation
	variance []float32   // of the posterior, by pool
	mean     []float32
	refitAt  int
	fitting  fitting
	features [][]float32 // by source of a prior and configuration of the space
}

// newProcess returns a process over a pool of configurations. features are those of
// all configurations by the sources of a prior, which is unsure of their factors.
func newProcess(grid *grid, rng *rand.Rand, pool *pool, start hyper, how fitting, features [][]float32) *process {
	g := &process{grid: grid, rng: rng, tables: make(tables, len(grid.params)), pool: pool, hyper: start, fitting: how, features: features}
	g.refitAt = how.first
	g.rebuild()
	return g
}

// observe adds a configuration that ran, unless it is there already or the process
// is full.
func (g *process) observe(config int) {
	if len(g.observed) < maxObserved && !slices.Contains(g.observed, config) {
		g.observed = append(g.observed, config)
	}
}

// rebuild forgets the posterior after a change of the kernel or the pool.
func (g *process) rebuild() {
	for j, l := range g.hyper.lengths {
		g.tables.fill(j, l)
	}
	g.factor, g.lower, g.drawn = gp.Posterior{}, g.lower[:0], g.pool.draws
	g.mean, g.variance = g.mean[:0], g.variance[:0]
}

// grow brings rows, mean and variance up to the size of the pool.
func (g *process) grow() {
	for _, c := range g.pool.configs[len(g.mean):] {
		var column []float64
		variance := g.own(&g.hyper, int(c))
		for i, l := range g.lower {
			v := g.kernel(g.tables, &g.hyper, int(c), g.observed[i])
			for k, u := range column {
				v -= l[k] * u
			}
			v /= l[i]
			column = append(column, v)
			variance -= v * v
			g.rows[i] = append(g.rows[i], float32(v))
		}
		g.mean, g.variance = append(g.mean, 0), append(g.variance, float32(variance))
	}
}

// own is the prior variance of a configuration.
func (g *process) own(h *hyper, config int) float64 {
	v := h.variance() + h.offset
	for s, f := range g.features {
		v += h.sources[s] * float64(f[config]) * float64(f[config])
	}
	return v
}

// kernel is the prior covariance of two configurations.
func (g *process) kernel(t tables, h *hyper, a, b int) float64 {
	k := h.combine(t.sums(g.grid.of(a), g.grid.of(b))) + h.offset
	for s, f := range g.features {
		k += h.sources[s] * float64(f[a]) * float64(f[b])
	}
	return k
}

// update brings the posterior up to date with the targets of the observed,
// refitting the kernel when their number has grown enough.
func (g *process) update(y []float64) {
	if n := len(y); n >= g.refitAt {
		g.refitAt = int(g.fitting.growth*float64(n)) + g.fitting.plus
		g.fit(y)
		g.rebuild()
	}
	if g.drawn != g.pool.draws {
		g.rebuild()
	}
	g.grow()
	first := len(g.lower)
	for n := first; n < len(y); n++ {
		row := make([]float64, n+1)
		for i, c := range g.observed[:n] {
			row[i] = g.kernel(g.tables, &g.hyper, g.observed[n], c)
		}
		row[n] = g.own(&g.hyper, g.observed[n]) + g.hyper.noise
		g.factor.Add(row)
		g.lower = append(g.lower, g.factor.Row(nil, n))
		if len(g.rows) == n {
			g.rows = append(g.rows, nil)
		}
		g.rows[n] = g.rows[n][:0]
		for _, c := range g.pool.configs {
			g.rows[n] = append(g.rows[n], float32(g.kernel(g.tables, &g.hyper, g.observed[n], int(c))))
		}
	}
	g.factor.Observe(y)
	g.project(first, g.factor.White())
}

// project turns the rows from first on, which hold kernel rows, into rows of
// L⁻¹K, takes them off the variance, and computes the mean from L⁻¹y. It goes
// over the pool in blocks that stay in the cache.
func (g *process) project(first int, white []float64) {
	impl := blas32.Implementation()
	for lo := 0; lo < len(g.mean); lo += block {
		hi := min(lo+block, len(g.mean))
		n := hi - lo
		mean, variance := g.mean[lo:hi], g.variance[lo:hi]
		clear(mean)
		for i, l := range g.lower {
			row := g.rows[i][lo:hi]
			if i >= first {
				for k := range i {
					impl.Saxpy(n, float32(-l[k]), g.rows[k][lo:hi], 1, row, 1)
				}
				impl.Sscal(n, float32(1/l[i]), row, 1)
				for k, v := range row {
					variance[k] -= v * v
				}
			}
			impl.Saxpy(n, float32(white[i]), row, 1, mean, 1)
		}
	}
}

// sd is the posterior standard deviation of a configuration of the pool.
func (g *process) sd(i int) float64 { return math.Sqrt(max(1e-8, float64(g.variance[i]))) }

// fitting says when and how the parameters of a kernel are fitted.
type fitting struct {
	first  int     // observations at which the first fit is due
	growth float64 // the next fit is due at growth times as many observations, and plus more
	plus   int
	tries  int
	median hyper   // of the log-normal priors
	spread float64 // standard deviation of the logarithms
}

func coldFitting(median hyper) fitting {
	return fitting{first: starts, growth: 1.3, plus: 2, tries: 40, median: median, spread: 1}
}

// fit climbs towards the maximum of the posterior density of the kernel's
// parameters by random perturbations of the best so far.
func (g *process) fit(y []float64) {
	t := make(tables, len(g.tables))
	best := g.hyper
	density := g.density(&best, t, y)
	for try := range g.fitting.tries {
		step := .7
		if try >= g.fitting.tries/2 {
			step = .3
		}
		next := g.perturb(&best, step, try%4 == 0)
		if d := g.density(&next, t, y); d > density {
			best, density = next, d
		}
	}
	g.hyper = best
}

// perturb multiplies all parameters, or a few of them, by log-normal factors.
func (g *process) perturb(h *hyper, step float64, all bool) hyper {
	next := h.clone()
	scale := func(v *float64, low, high float64) {
		*v = min(high, max(low, *v*math.Exp(step*g.rng.NormFloat64())))
	}
	for j := range next.lengths {
		if all || g.rng.IntN(len(next.lengths)) < 2 {
			scale(&next.lengths[j], .02, 50)
		}
	}
	for i := range next.weights {
		if all || g.rng.IntN(2) == 0 {
			scale(&next.weights[i], 1e-4, 20)
		}
	}
	for i := range next.sources {
		if all || g.rng.IntN(2) == 0 {
			scale(&next.sources[i], 1e-3, 4)
		}
	}
	return next
}

// density is the logarithm of the likelihood times the prior, up to a constant.
func (g *process) density(h *hyper, t tables, y []float64) float64 {
	for j, l := range h.lengths {
		t.fill(j, l)
	}
	cov := mat.NewSymDense(len(y), nil)
	for i, c := range g.observed[:len(y)] {
		for k, e := range g.observed[:i] {
			cov.SetSym(i, k, g.kernel(t, h, c, e))
		}
		cov.SetSym(i, i, g.own(h, c)+h.noise)
	}
	var p gp.Posterior
	if !p.Condition(cov) {
		return math.Inf(-1)
	}
	p.Observe(y)
	return p.LogDensity() + g.fitting.prior(h)
}

func (f *fitting) prior(h *hyper) (sum float64) {
	term := func(v, median float64) {
		d := math.Log(v/median) / f.spread
		sum -= d * d / 2
	}
	for j, l := range h.lengths {
		term(l, f.median.lengths[j])
	}
	for i, w := range h.weights {
		term(w, f.median.weights[i])
	}
	for i, v := range h.sources {
		term(v, f.median.sources[i])
	}
	return sum
}
