package search

import (
	"math"

	"ringmaster/megakernel/tuner/space"
)

const (
	firstFit = 8 // observations from which the kernel is fitted

	// Priors, log-normal: most parameters matter little beyond their range.
	lengthMedian = 1.5
	weightMedian = .35
	logSpread    = 1
	fitTries     = 40
)

func startHyper(s *space.Space) hyper {
	h := hyper{lengths: make([]float64, len(s.Params()))}
	for j := range h.lengths {
		h.lengths[j] = lengthMedian
	}
	for i := range h.weights {
		h.weights[i] = weightMedian
	}
	return h
}

// fit climbs to the maximum of the posterior density of the kernel's
// parameters by random perturbations of the best so far.
func (g *gp) fit(y []float64) {
	t := newTables(g.space)
	best := g.hyper
	density := g.density(&best, t, y)
	n := len(best.lengths)
	for try := range fitTries {
		step := .7
		if try >= fitTries/2 {
			step = .3
		}
		next := hyper{lengths: make([]float64, n), weights: best.weights}
		copy(next.lengths, best.lengths)
		all := try%4 == 0
		for j := range next.lengths {
			if all || g.rng.IntN(n) < 2 {
				next.lengths[j] = min(50, max(.02, next.lengths[j]*math.Exp(step*g.rng.NormFloat64())))
			}
		}
		for i := range next.weights {
			if all || g.rng.IntN(2) == 0 {
				next.weights[i] = min(20, max(1e-3, next.weights[i]*math.Exp(step*g.rng.NormFloat64())))
			}
		}
		if d := g.density(&next, t, y); d > density {
			best, density = next, d
		}
	}
	g.hyper = best
}

// density is the logarithm of likelihood times prior.
func (g *gp) density(h *hyper, t *tables, y []float64) float64 {
	for j, p := range g.space.Params() {
		t.fill(j, p.Coords, h.lengths[j])
	}
	f := &g.trial
	f.reset()
	row := make([]float64, len(y))
	for i, c := range g.observed[:len(y)] {
		levels := g.space.Levels(c)
		for k, e := range g.observed[:i] {
			row[k] = t.kernel(h, levels, g.space.Levels(e))
		}
		row[i] = h.variance() + noise
		f.extend(row[:i+1], noise/2)
	}
	z := append([]float64(nil), y...)
	f.forward(z)
	return -dot(z, z)/2 - f.logDet()/2 + prior(h)
}

func prior(h *hyper) (sum float64) {
	term := func(v, median float64) {
		d := math.Log(v/median) / logSpread
		sum -= d * d / 2
	}
	for _, l := range h.lengths {
		term(l, lengthMedian)
	}
	for _, w := range h.weights {
		term(w, weightMedian)
	}
	return sum
}
