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
	for i := range p.pairs {
		if q := &p.pairs[i]; q.stale || q.hint {
			q.variance += staleVar
		}
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
		t.current = best
		t.before = launch{}
	}
}

// choose picks the next look: of the geometries that did not run, or in the last looks
// of those that did, the one with the largest expected gain over the incumbent. It
// returns false when none is worth its launches.
func (t *Tuner) choose(p *process) (pick int32, ok bool) {
	final := math.Min(finalShare+finalNoise*math.Max(t.noise.sd()-noisePrior, 0), mostFinal)
	if t.left > int(final*float64(t.budget)) || t.changed {
		if pick, ok := t.chooseNew(p); ok {
			return pick, true
		}
	}
	most := worthwhileRan
	for _, c := range t.everRan() {
		if t.tooSlow(c) {
			continue
		}
		mean, sd := p.difference(c, t.current)
		// The more looks there were, the less another one says.
		if gain := gp.Improvement(-mean, sd) / float64(1+t.looks(c)); gain > most {
			pick, most, ok = c, gain, true
		}
	}
	return pick, ok
}

// tooSlow says that a look measured a geometry as so slow that it is not run again.
func (t *Tuner) tooSlow(config int32) bool {
	return slices.ContainsFunc(t.pairs[:t.n], func(q pair) bool {
		return q.of == config && !q.stale && !q.hint && q.d-2*math.Sqrt(q.variance) > safety
	})
}

// looks counts the looks at a geometry since the last change.
func (t *Tuner) looks(config int32) (n int) {
	for _, q := range t.pairs[:t.n] {
		if q.of == config && !q.stale && !q.hint {
			n++
		}
	}
	return n
}

func (t *Tuner) chooseNew(p *process) (pick int32, ok bool) {
	blind := t.unvaried()
	most := worthwhile
	for c := range int32(len(t.space.shapes)) {
		if c == t.current || t.isBarred(c) || blind >= 0 && !t.space.varies(c, t.current, blind) || t.fresh(c) {
			continue
		}
		mean, sd := p.difference(c, t.current)
		gain := gp.Improvement(-mean, sd)
		if blind >= 0 {
			gain += worthwhile // worth a look as it is
		}
		if gain > most {
			pick, most, ok = c, gain, true
		}
	}
	return pick, ok
}

// fresh says that a geometry ran here since the last change.
func (t *Tuner) fresh(config int32) bool {
	return slices.ContainsFunc(t.pairs[:t.n], func(q pair) bool {
		return !q.hint && !q.stale && (q.of == config || q.than == config)
	})
}

// unvaried is the first parameter of which, since the last change, no value but the
// incumbent's ran beside it, although there are others, and -1 if there is none. The
// model may be completely wrong about a parameter, and a change may concern only one.
func (t *Tuner) unvaried() int {
	if !t.changed && t.recent < firstLooks {
		return -1
	}
	for j := range axes {
		if t.space.span[j] >= stepsOfDoubling && !slices.ContainsFunc(t.everRan(), func(c int32) bool { return t.fresh(c) && t.space.varies(c, t.current, j) }) {
			return j
		}
	}
	return -1
}

// varies says that two geometries differ in a parameter, by a doubling at least, and hardly in the others.
func (s *Space) varies(a, b int32, axis int) bool {
	x, y := &s.steps[a], &s.steps[b]
	others := 0
	for j := range x {
		if j != axis {
			others += apart(x[j], y[j])
		}
	}
	return apart(x[axis], y[axis]) >= stepsOfDoubling && others <= nearby*stepsOfDoubling
}

// agree says that the looks since the change measured what older differences let
// expect.
func (t *Tuner) agree() bool {
	old, recent := t.pairs[:t.n-t.recent], t.pairs[t.n-t.recent:t.n]
	old = slices.Clone(old)
	for i := range old {
		old[i].stale = false
	}
	var p process
	p.condition(t.space, old)
	return !slices.ContainsFunc(recent, func(q pair) bool {
		m, sd := p.difference(q.of, q.than)
		return math.Abs(q.d-m) > agreeing*math.Sqrt(q.variance+sd*sd)
	})
}
