package search

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"ringmaster/megakernel/tuner/space"
)

const (
	// maxObserved bounds the measurements of the process: its cost is cubic.
	maxObserved = 256
	block       = 1_024
)

// gp is a Gaussian process over the scores of what ran, with the posterior of
// every configuration of a pool kept up to date.
type gp struct {
	grid     *grid
	rng      *rand.Rand
	pool     *pool
	drawn    int // the draw of the pool that rows belong to
	hyper    hyper
	tables   *tables
	observed []int // configurations that ran
	factor   factor
	trial    factor      // of the kernel that a fit tries
	rows     [][]float32 // L⁻¹ K(observed, pool), by observation
	variance []float32   // of the posterior, by pool
	mean     []float32
	refitAt  int
	row      []float64
	column   []float64
	fitting  fitting
	features [][]float32 // by source of a prior and configuration of the space
}

// newGP returns a process over a pool of configurations. features are those of
// all configurations by the sources of a prior, which is unsure of their factors.
func newGP(grid *grid, rng *rand.Rand, pool *pool, start hyper, how fitting, features [][]float32) *gp {
	g := &gp{grid: grid, rng: rng, tables: newTables(grid), pool: pool, hyper: start, fitting: how, features: features}
	g.refitAt = how.first
	g.rebuild()
	return g
}

// observe adds a configuration that ran, unless it is there already or the process
// is full.
func (g *gp) observe(config int) {
	if len(g.observed) < maxObserved && !slices.Contains(g.observed, config) {
		g.observed = append(g.observed, config)
	}
}

// costs picks the observed out of the costs of all configurations.
func (g *gp) costs(all []float64) []float64 {
	out := make([]float64, len(g.observed))
	for i, c := range g.observed {
		out[i] = all[c]
	}
	return out
}

// rebuild starts the factor anew after a change of the kernel.
func (g *gp) rebuild() {
	for j, coords := range g.grid.coords {
		g.tables.fill(j, coords, g.hyper.lengths[j])
	}
	g.factor.reset()
	g.drawn = g.pool.draws
	g.mean, g.variance = g.mean[:0], g.variance[:0]
	g.grow()
}

// grow brings rows, mean and variance up to the size of the pool.
func (g *gp) grow() {
	for _, c := range g.pool.configs[len(g.mean):] {
		column := g.column[:0]
		variance := g.own(&g.hyper, int(c))
		for i, l := range g.factor.rows {
			v := (g.kernel(g.tables, &g.hyper, int(c), g.observed[i]) - dot(l[:i], column)) / l[i]
			column = append(column, v)
			variance -= v * v
			g.rows[i] = append(g.rows[i], float32(v))
		}
		g.column = column
		g.mean, g.variance = append(g.mean, 0), append(g.variance, float32(variance))
	}
}

// own is the prior variance of a configuration.
func (g *gp) own(h *hyper, config int) float64 {
	v := h.variance() + h.offset
	for s, f := range g.features {
		v += h.sources[s] * float64(f[config]) * float64(f[config])
	}
	return v
}

// kernel is the prior covariance of two configurations.
func (g *gp) kernel(t *tables, h *hyper, a, b int) float64 {
	levels := g.grid.at(a)
	sum, product := t.sums(levels, g.grid.at(b))
	k := h.combine(sum, product, 1/float64(len(levels))) + h.offset
	for s, f := range g.features {
		k += h.sources[s] * float64(f[a]) * float64(f[b])
	}
	return k
}

// update brings the posterior up to date with the targets of the observed,
// refitting the kernel when their number has grown enough.
func (g *gp) update(y []float64) {
	if n := len(y); n >= g.refitAt {
		g.refitAt = int(g.fitting.growth*float64(n)) + g.fitting.plus
		g.fit(y)
		g.rebuild()
	}
	if g.drawn != g.pool.draws {
		g.rebuild()
	}
	g.grow()
	first := g.factor.n()
	for _, c := range g.observed[first:] {
		g.extend(c)
	}
	z := slices.Clone(y)
	g.factor.forward(z)
	g.project(first, z)
}

// extend adds an observation to the factor and its kernel row to the rows.
func (g *gp) extend(config int) {
	n := g.factor.n()
	g.row = g.row[:0]
	for _, c := range g.observed[:n] {
		g.row = append(g.row, g.kernel(g.tables, &g.hyper, config, c))
	}
	g.row = append(g.row, g.own(&g.hyper, config)+g.hyper.noise)
	g.factor.extend(g.row, g.hyper.noise/2)
	if len(g.rows) == n {
		g.rows = append(g.rows, nil)
	}
	g.rows[n] = slices.Grow(g.rows[n][:0], len(g.mean))[:len(g.mean)]
	g.kernelRow(g.rows[n], config)
}

// kernelRow computes the covariance of one configuration with the pool.
func (g *gp) kernelRow(to []float32, config int) {
	levels := g.grid.at(config)
	d := len(levels)
	var slices [space.MaxParams][]float64
	for j, n := range g.tables.levels {
		at := int(levels[j]) * n
		slices[j] = g.tables.pair[j][at : at+n]
	}
	per := 1 / float64(d)
	for i, c := range g.pool.configs {
		sum, product := 0.0, 1.0
		for j, l := range g.grid.at(int(c)) {
			k := slices[j][l]
			sum += k
			product *= k
		}
		to[i] = float32(g.hyper.combine(sum, product, per) + g.hyper.offset)
	}
	for s, f := range g.features {
		factor := float32(g.hyper.sources[s]) * f[config]
		for i, c := range g.pool.configs {
			to[i] += factor * f[c]
		}
	}
}

// project turns the rows from first on, which hold kernel rows, into rows of
// L⁻¹K, takes them off the variance, and computes the mean for z = L⁻¹y. It
// goes over the pool in blocks that stay in the cache.
func (g *gp) project(first int, z []float64) {
	impl := blas32.Implementation()
	for lo := 0; lo < len(g.mean); lo += block {
		hi := min(lo+block, len(g.mean))
		n := hi - lo
		mean, variance := g.mean[lo:hi], g.variance[lo:hi]
		clear(mean)
		for i := range g.factor.rows {
			row := g.rows[i][lo:hi]
			if i >= first {
				l := g.factor.rows[i]
				for k := range i {
					impl.Saxpy(n, float32(-l[k]), g.rows[k][lo:hi], 1, row, 1)
				}
				impl.Sscal(n, float32(1/l[i]), row, 1)
				for k, v := range row {
					variance[k] -= v * v
				}
			}
			impl.Saxpy(n, float32(z[i]), row, 1, mean, 1)
		}
	}
}

// sd is the posterior standard deviation of a configuration of the pool.
func (g *gp) sd(i int) float64 { return math.Sqrt(max(1e-8, float64(g.variance[i]))) }
