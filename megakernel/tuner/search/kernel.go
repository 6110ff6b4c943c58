package search

import (
	"slices"

	"ringmaster/megakernel/tuner/gp"
	"ringmaster/megakernel/tuner/space"
)

// cells is how finely a kernel sees a coordinate, which lies in 0 to 1.
const cells = 256

// grid holds the coordinates of all configurations in cells, of the parameters that
// vary.
type grid struct {
	params []int
	at     []uint8 // by configuration and parameter
}

func newGrid(s *space.Space) *grid {
	g := &grid{}
	for j, p := range s.Params() {
		if len(p.Values) > 1 {
			g.params = append(g.params, j)
		}
	}
	for c := range s.Len() {
		levels := s.Levels(c)
		for _, j := range g.params {
			g.at = append(g.at, uint8(s.Params()[j].Coords[levels[j]]*(cells-1)+.5))
		}
	}
	return g
}

// of are the cells of a configuration.
func (g *grid) of(config int) []uint8 {
	d := len(g.params)
	return g.at[config*d : (config+1)*d]
}

// tables holds the correlation of two cells of each parameter by their distance.
type tables [][cells]float64

// fill sets a parameter's correlation length, in coordinates.
func (t tables) fill(j int, length float64) {
	for d := range cells {
		t[j][d] = gp.Matern(float64(d) / (cells - 1) / length)
	}
}

func (t tables) sums(a, b []uint8) (sum, product float64) {
	product = 1
	for j := range t {
		k := t[j][max(a[j], b[j])-min(a[j], b[j])]
		sum += k
		product *= k
	}
	return sum, product
}

// hyper are the parameters of the kernel a·S + b·S² + c·P, in which S is the
// mean and P the product of the parameters' correlations: the terms stand for
// main effects, effects of pairs, and those of all parameters together.
type hyper struct {
	lengths []float64
	weights [3]float64
	noise   float64 // variance of a measurement that the parameters do not explain
}

// firstHyper is where the fit starts, and the median of its prior, for scores, which have
// variance 1. The lengths are long because most parameters matter little within their range.
func firstHyper(params int) hyper {
	return hyper{slices.Repeat([]float64{1.5}, params), [3]float64{.35, .35, .35}, .005}
}

func (h *hyper) clone() hyper {
	c := *h
	c.lengths = slices.Clone(h.lengths)
	return c
}

// combine turns sum and product of the correlations into the kernel.
func (h *hyper) combine(sum, product float64) float64 {
	s := sum / float64(max(len(h.lengths), 1))
	return h.weights[0]*s + h.weights[1]*s*s + h.weights[2]*product
}

// variance is the kernel of a configuration with itself.
func (h *hyper) variance() float64 { return h.weights[0] + h.weights[1] + h.weights[2] }
