package search

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"ringmaster/megakernel/tuner/space"
)

const (
	// poolSize bounds the configurations a model looks at in one suggestion.
	poolSize = 16_384
	// maxObserved bounds the measurements of the process: its cost is cubic.
	maxObserved = 256
	block       = 1_024
)

// gp is a Gaussian process over the scores of what ran, with the posterior of
// every configuration of a pool kept up to date.
type gp struct {
	space    *space.Space
	rng      *rand.Rand
	pool     []int32
	hyper    hyper
	tables   *tables
	observed []int // configurations that ran
	factor   factor
	trial    factor      // of the kernel that is tried
	rows     [][]float32 // L⁻¹ K(observed, pool), by observation
	variance []float32   // of the posterior, by pool
	mean     []float32
	refitAt  int
	row      []float64
	fitting  fitting
	features [][]float32 // by source of a prior and configuration of the space
}

// newGP returns a process over a pool of configurations, and features of all
// configurations whose factors a prior is unsure of.
func newGP(s *space.Space, rng *rand.Rand, pool []int32, start hyper, how fitting, features [][]float32) *gp {
	g := &gp{space: s, rng: rng, tables: newTables(s), pool: pool, hyper: start, fitting: how, features: features}
	g.refitAt = how.first
	g.mean, g.variance = make([]float32, len(g.pool)), make([]float32, len(g.pool))
	g.rebuild()
	return g
}

// newPool is the whole space, or of one that is too large the configurations
// that come first and random others.
func newPool(s *space.Space, rng *rand.Rand, first []int) []int32 {
	if s.Len() <= poolSize {
		first = nil
	}
	pool := make([]int32, 0, s.Len())
	taken := make([]bool, s.Len())
	for _, c := range first {
		pool, taken[c] = append(pool, int32(c)), true
	}
	for c := range taken {
		if !taken[c] {
			pool = append(pool, int32(c))
		}
	}
	if len(pool) > poolSize {
		rest := pool[len(first):]
		rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		pool = pool[:poolSize:poolSize]
	}
	return pool
}

// observe adds a configuration that ran; one that is there already stays.
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
	for j, p := range g.space.Params() {
		g.tables.fill(j, p.Coords, g.hyper.lengths[j])
	}
	g.factor.reset()
	for i, c := range g.pool {
		g.variance[i] = float32(g.own(&g.hyper, int(c)))
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
	levels := g.space.Levels(a)
	sum, product := t.sums(levels, g.space.Levels(b))
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
		g.rows = append(g.rows, make([]float32, len(g.pool)))
	}
	g.kernelRow(g.rows[n], config)
}

// kernelRow computes the covariance of one configuration with the pool.
func (g *gp) kernelRow(to []float32, config int) {
	levels := g.space.Levels(config)
	d := len(levels)
	var slices [space.MaxParams][]float64
	for j, n := range g.tables.levels {
		at := int(levels[j]) * n
		slices[j] = g.tables.pair[j][at : at+n]
	}
	per := 1 / float64(d)
	for i, c := range g.pool {
		sum, product := 0.0, 1.0
		for j, l := range g.space.Levels(int(c)) {
			k := slices[j][l]
			sum += k
			product *= k
		}
		to[i] = float32(g.hyper.combine(sum, product, per) + g.hyper.offset)
	}
	for s, f := range g.features {
		factor := float32(g.hyper.sources[s]) * f[config]
		for i, c := range g.pool {
			to[i] += factor * f[c]
		}
	}
}

// project turns the rows from first on, which hold kernel rows, into rows of
// L⁻¹K, takes them off the variance, and computes the mean for z = L⁻¹y. It
// goes over the pool in blocks that stay in the cache.
func (g *gp) project(first int, z []float64) {
	impl := blas32.Implementation()
	for lo := 0; lo < len(g.pool); lo += block {
		hi := min(lo+block, len(g.pool))
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
