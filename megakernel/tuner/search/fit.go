package search

import "math"

// fitting says when and how the parameters of a kernel are fitted.
type fitting struct {
	first  int     // observations at which the first fit is due
	growth float64 // the next fit is due at growth times as many observations, and plus more
	plus   int
	tries  int
	median hyper   // of the log-normal priors
	spread float64 // standard deviation of the logarithms
}

// coldHyper is where the fit of a kernel of scores, which have variance 1,
// starts. The lengths are long because most parameters matter little within
// their range.
func coldHyper(g *grid) hyper {
	return newHyper(g, 1.5, .35, .005)
}

func newHyper(g *grid, length, weight, noise float64) hyper {
	h := hyper{lengths: make([]float64, len(g.coords)), noise: noise}
	for j := range h.lengths {
		h.lengths[j] = length
	}
	for i := range h.weights {
		h.weights[i] = weight
	}
	return h
}

func coldFitting(median hyper) fitting {
	return fitting{first: starts, growth: 1.3, plus: 2, tries: 40, median: median, spread: 1}
}

// fit climbs towards the maximum of the posterior density of the kernel's
// parameters by random perturbations of the best so far.
func (g *gp) fit(y []float64) {
	t := newTables(g.grid)
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
func (g *gp) perturb(h *hyper, step float64, all bool) hyper {
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
func (g *gp) density(h *hyper, t *tables, y []float64) float64 {
	for j, coords := range g.grid.coords {
		t.fill(j, coords, h.lengths[j])
	}
	f := &g.trial
	f.reset()
	row := make([]float64, len(y))
	for i, c := range g.observed[:len(y)] {
		for k, e := range g.observed[:i] {
			row[k] = g.kernel(t, h, c, e)
		}
		row[i] = g.own(h, c) + h.noise
		f.extend(row[:i+1], h.noise/2)
	}
	z := append([]float64(nil), y...)
	f.forward(z)
	return -dot(z, z)/2 - f.logDet()/2 + g.fitting.prior(h)
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
