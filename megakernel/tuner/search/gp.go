package search

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"

	"ringmaster/megakernel/tuner/space"
)

const (
	// poolSize bounds the configurations a model looks at in one suggestion.
	poolSize = 16_384
	// maxObserved bounds the measurements of the process: its cost is cubic.
	maxObserved = 256
	noise       = .005 // variance of a score beyond what the parameters explain
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
}

func newGP(s *space.Space, rng *rand.Rand) *gp {
	g := &gp{space: s, rng: rng, tables: newTables(s), pool: newPool(s, rng), refitAt: firstFit}
	g.hyper = startHyper(s)
	g.mean, g.variance = make([]float32, len(g.pool)), make([]float32, len(g.pool))
	g.rebuild()
	return g
}

// newPool is the whole space, or a random part of one that is too large.
func newPool(s *space.Space, rng *rand.Rand) []int32 {
	pool := make([]int32, s.Len())
	for i := range pool {
		pool[i] = int32(i)
	}
	if len(pool) > poolSize {
		rng.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
		pool = pool[:poolSize:poolSize]
	}
	return pool
}

// observe adds a configuration that ran.
func (g *gp) observe(config int) {
	if len(g.observed) < maxObserved {
		g.observed = append(g.observed, config)
	}
}

// rebuild starts the factor anew after a change of the kernel.
func (g *gp) rebuild() {
	for j, p := range g.space.Params() {
		g.tables.fill(j, p.Coords, g.hyper.lengths[j])
	}
	g.factor.reset()
	for i := range g.variance {
		g.variance[i] = float32(g.hyper.variance())
	}
}

// update brings the posterior up to date with costs of the observed, refitting
// the kernel when the number of observations has grown by a third.
func (g *gp) update(costs []float64) (best float64) {
	y := make([]float64, len(g.observed))
	for i, c := range g.observed {
		y[i] = costs[c]
	}
	y = normalScores(y)
	best = math.Inf(-1)
	for _, v := range y {
		best = max(best, v)
	}
	if n := len(g.observed); n >= g.refitAt {
		g.refitAt = int(1.3*float64(n)) + 2
		g.fit(y)
		g.rebuild()
	}
	first := g.factor.n()
	for _, c := range g.observed[first:] {
		g.extend(c)
	}
	g.factor.forward(y)
	g.project(first, y)
	return best
}

// extend adds an observation to the factor and its kernel row to the rows.
func (g *gp) extend(config int) {
	n := g.factor.n()
	levels := g.space.Levels(config)
	g.row = g.row[:0]
	for _, c := range g.observed[:n] {
		g.row = append(g.row, g.tables.kernel(&g.hyper, levels, g.space.Levels(c)))
	}
	g.row = append(g.row, g.hyper.variance()+noise)
	g.factor.extend(g.row, noise/2)
	if len(g.rows) == n {
		g.rows = append(g.rows, make([]float32, len(g.pool)))
	}
	g.kernelRow(g.rows[n], levels)
}

// kernelRow computes the covariance of one configuration with the pool.
func (g *gp) kernelRow(to []float32, levels []uint16) {
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
		to[i] = float32(g.hyper.combine(sum, product, per))
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
func (g *gp) sd(i int) float64 { return math.Sqrt(max(1e-6, float64(g.variance[i]))) }
