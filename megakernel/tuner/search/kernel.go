package search

import (
	"math"
	"slices"
)

// tables holds, for each parameter, the correlation of every pair of cells,
// so that a kernel between configurations is a few look-ups.
type tables struct {
	levels []int // number of cells by parameter
	pair   [][]float64
}

func newTables(g *grid) *tables {
	t := &tables{}
	for _, coords := range g.coords {
		n := len(coords)
		t.levels = append(t.levels, n)
		t.pair = append(t.pair, make([]float64, n*n))
	}
	return t
}

// fill computes the Matérn-5/2 correlation of one parameter's cells.
func (t *tables) fill(j int, coords []float64, length float64) {
	n := t.levels[j]
	for a := range n {
		t.pair[j][a*n+a] = 1
		for b := range a {
			k := matern(math.Abs(coords[a]-coords[b]) / length)
			t.pair[j][a*n+b], t.pair[j][b*n+a] = k, k
		}
	}
}

// matern is the Matérn correlation with smoothness 5/2 at scaled distance r.
func matern(r float64) float64 {
	r *= math.Sqrt(5)
	return (1 + r + r*r/3) * math.Exp(-r)
}

// hyper are the parameters of the kernel a·S + b·S² + c·P, in which S is the
// mean and P the product of the parameters' correlations: the terms stand for
// main effects, effects of pairs, and those of all parameters together.
//
// A prior adds variances for what it does not know exactly: an offset common to
// all configurations and a factor for each of its sources.
type hyper struct {
	lengths []float64
	weights [3]float64
	noise   float64   // variance of a measurement that the parameters do not explain
	offset  float64   // variance of the offset
	sources []float64 // variance of each source's factor
}

func (h *hyper) clone() hyper {
	c := *h
	c.lengths = slices.Clone(h.lengths)
	c.sources = slices.Clone(h.sources)
	return c
}

// combine turns sum and product of the correlations into the kernel.
func (h *hyper) combine(sum, product, perParam float64) float64 {
	s := sum * perParam
	return h.weights[0]*s + h.weights[1]*s*s + h.weights[2]*product
}

// variance is the kernel of a configuration with itself, without a prior's part.
func (h *hyper) variance() float64 { return h.weights[0] + h.weights[1] + h.weights[2] }

func (t *tables) sums(a, b []uint16) (sum, product float64) {
	product = 1
	for j, p := range t.pair {
		k := p[int(a[j])*t.levels[j]+int(b[j])]
		sum += k
		product *= k
	}
	return sum, product
}
