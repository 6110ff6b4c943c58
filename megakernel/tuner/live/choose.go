package live

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"ringmaster/megakernel/tuner/gp"
)

// process is a Gaussian process over the logarithms of the costs of geometries,
// conditioned on differences, so that nothing is said of what all have in common.
type process struct {
	space     *Space
	pairs     []pair
	posterior gp.Posterior
	expected  []float64 // differences of the pairs, by the model
	row       []float64
	than      int32     // of the last difference
	fixed     []float64 // its part of the covariances with the pairs
}

// condition takes in differences.
func (p *process) condition(s *Space, pairs []pair) {
	p.space, p.pairs, p.row, p.than = s, slices.Clone(pairs), make([]float64, len(pairs)), -1
	for _, q := range pairs {
		p.expected = append(p.expected, s.expected(q.of, q.than))
	}
	p.factor()
}

func (p *process) factor() {
	n := len(p.pairs)
	if n == 0 {
		return
	}
	cov := mat.NewSymDense(n, nil)
	values := make([]float64, n)
	for i, q := range p.pairs {
		for j, r := range p.pairs[:i+1] {
			cov.SetSym(i, j, p.space.covariance(q.of, q.than, r.of, r.than))
		}
		cov.SetSym(i, i, cov.At(i, i)+q.variance+1e-6)
		values[i] = q.d - p.expected[i]
	}
	p.posterior.Condition(cov)
	p.posterior.Observe(values)
}

// difference is by how much a geometry is expected to cost more than another, with
// the standard deviation.
func (p *process) difference(of, than int32) (mean, sd float64) {
	if than != p.than {
		p.than, p.fixed = than, p.fixed[:0]
		for _, q := range p.pairs {
			p.fixed = append(p.fixed, p.space.alike(than, q.than)-p.space.alike(than, q.of))
		}
	}
	expected := p.space.expected(of, than)
	for i, q := range p.pairs {
		p.row[i] = p.fixed[i] + p.space.alike(of, q.of) - p.space.alike(of, q.than) + trustVar*expected*p.expected[i]
	}
	mean, sd = p.posterior.Predict(p.row, p.space.covariance(of, than, of, than))
	return mean + expected, sd
}

// everRan are the geometries that ran here and may run, without the incumbent.
func (t *Tuner) everRan() (all []int32) {
	for _, q := range t.pairs[:t.n] {
		for _, c := range [...]int32{q.of, q.than} {
			if !q.hint && c != t.current && !t.isBarred(c) && !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return all
}

// replace makes the geometry the incumbent that is best by the differences, of those
// that ran.
func (t *Tuner) replace(p *process) {
	best, least := t.current, 0.0
	for _, c := range t.everRan() {
		mean, sd := p.difference(c, t.current)
		if v := mean + replaceErrors*sd; v < least {
			best, least = c, v
		}
	}
	if best != t.current {
		t.keep(best)
	}
}

// choose picks the next look: of those that are paid for the one whose gain exceeds its loss
// by most, -1 for none. worth says whether any geometry promises a gain.
func (t *Tuner) choose(p *process) (pick int32, worth bool) {
	a, inc := &t.account, t.launchNs()
	most := 0.0
	pick = -1
	for c := range int32(len(t.space.shapes)) {
		if c == t.current || t.isBarred(c) || t.tooSlow(c) {
			continue
		}
		mean, sd := p.difference(c, t.current)
		gain := gp.Improvement(-mean, sd)
		if gain < worthwhile {
			continue
		}
		worth = true
		build := t.buildOf(c)
		if net := gain*a.used - inc*excess(mean, sd) - build; net > most && inc*feared(mean, sd)+build <= a.left() {
			pick, most = c, net
		}
	}
	return pick, worth
}

// buildOf is what is lost to others while a kernel for a geometry is built, if none of its
// width has run.
func (t *Tuner) buildOf(config int32) float64 {
	width := t.space.shapes[config].Width
	if width == t.space.shapes[t.home].Width || width == t.space.shapes[t.current].Width {
		return 0
	}
	for _, q := range t.pairs[:t.n] {
		if !q.hint && t.space.shapes[q.of].Width == width {
			return 0
		}
	}
	return t.build
}

// tooSlow says that a look measured a geometry as so slow that it is not run again.
func (t *Tuner) tooSlow(config int32) bool {
	return slices.ContainsFunc(t.pairs[:t.n], func(q pair) bool {
		return q.of == config && !q.hint && q.d-2*math.Sqrt(q.variance) > safety
	})
}
