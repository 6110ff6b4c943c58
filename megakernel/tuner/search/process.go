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
	block       = 1_024 // configurations of a row that stay in the cache
)

// process is a Gaussian process over the scores of what was measured. The posterior of
// every configuration is kept up to date, at a cost of one row of the covariance's factor
// a measurement.
type process struct {
	grid     *grid
	rng      *rand.Rand
	hyper    hyper
	tables   tables
	observed []int // configurations
	factor   gp.Posterior
	lower    [][]float64 // rows of its factor
	rows     [][]float32 // L⁻¹ K(observed, all), by observation
	variance []float32   // of the posterior, by configuration
	mean     []float32
	refitAt  int // observations at which the kernel is fitted next
}

func newProcess(grid *grid, rng *rand.Rand, configs int) *process {
	g := &process{
		grid: grid, rng: rng, hyper: firstHyper(len(grid.params)), tables: make(tables, len(grid.params)),
		variance: make([]float32, configs), mean: make([]float32, configs), refitAt: starts,
	}
	g.restart()
	return g
}

// observe adds a configuration, unless it is there already or the process is full.
func (g *process) observe(config int) {
	if len(g.observed) < maxObserved && !slices.Contains(g.observed, config) {
		g.observed = append(g.observed, config)
	}
}

// restart forgets the posterior after a change of the kernel.
func (g *process) restart() {
	for j, l := range g.hyper.lengths {
		g.tables.fill(j, l)
	}
	g.factor, g.lower, g.rows = gp.Posterior{}, g.lower[:0], g.rows[:0]
	for i := range g.variance {
		g.variance[i] = float32(g.hyper.variance())
	}
}

// kernel is the prior covariance of two configurations.
func (g *process) kernel(t tables, h *hyper, a, b int) float64 {
	return h.combine(t.sums(g.grid.of(a), g.grid.of(b)))
}

// update brings the posterior up to date with the targets of the observed, refitting the
// kernel when their number has grown by a third.
func (g *process) update(y []float64) {
	if n := len(y); n >= g.refitAt {
		g.refitAt = int(1.3*float64(n)) + 2
		g.fit(y)
		g.restart()
	}
	first := len(g.lower)
	for n := first; n < len(y); n++ {
		row := make([]float64, n+1)
		for i, c := range g.observed[:n] {
			row[i] = g.kernel(g.tables, &g.hyper, g.observed[n], c)
		}
		row[n] = g.hyper.variance() + g.hyper.noise
		g.factor.Add(row)
		g.lower = append(g.lower, g.factor.Row(nil, n))
		all := make([]float32, len(g.mean))
		for c := range all {
			all[c] = float32(g.kernel(g.tables, &g.hyper, g.observed[n], c))
		}
		g.rows = append(g.rows, all)
	}
	g.factor.Observe(y)
	g.project(first, g.factor.White())
}

// project turns the rows from first on, which hold kernel rows, into rows of
// L⁻¹K, takes them off the variance, and computes the mean from L⁻¹y.
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

// sd is the posterior standard deviation of a configuration.
func (g *process) sd(config int) float64 { return math.Sqrt(max(1e-8, float64(g.variance[config]))) }

// fit climbs towards the maximum of the posterior density of the kernel's
// parameters by random perturbations of the best so far.
func (g *process) fit(y []float64) {
	const tries = 40
	t := make(tables, len(g.tables))
	best := g.hyper
	density := g.density(&best, t, y)
	for try := range tries {
		step := .7
		if try >= tries/2 {
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
	return next
}

// density is the logarithm of the likelihood times the log-normal prior of the
// parameters, up to a constant.
func (g *process) density(h *hyper, t tables, y []float64) float64 {
	for j, l := range h.lengths {
		t.fill(j, l)
	}
	cov := mat.NewSymDense(len(y), nil)
	for i, c := range g.observed[:len(y)] {
		for k, e := range g.observed[:i] {
			cov.SetSym(i, k, g.kernel(t, h, c, e))
		}
		cov.SetSym(i, i, h.variance()+h.noise)
	}
	var p gp.Posterior
	if !p.Condition(cov) {
		return math.Inf(-1)
	}
	p.Observe(y)
	sum, median := p.LogDensity(), firstHyper(len(h.lengths))
	for j, l := range h.lengths {
		sum -= square(math.Log(l/median.lengths[j])) / 2
	}
	for i, w := range h.weights {
		sum -= square(math.Log(w/median.weights[i])) / 2
	}
	return sum
}

func square(x float64) float64 { return x * x }
