package live

import "math"

const maxSeen = max(MaxArms, maxDuels)

// seen is what a process is told: what a geometry takes, or by how much that differs from what
// another one takes, which says nothing about what all have in common. In logarithms.
type seen struct {
	of, than int32 // than is absolute where nothing is subtracted
	y        float64
	variance float64
}

const absolute = -1

// process is a Gaussian process over the costs of geometries, conditioned on what was seen. It is
// kept on the stack.
type process struct {
	space *Space
	trust belief
	left  float64 // part of the variances that the model leaves
	base  float64 // expected of the first geometry, so that the weight of the mean applies to differences
	n     int
	seen  [maxSeen]seen
	mean  [maxSeen]float64 // expected of what was seen
	lower [maxSeen][maxSeen]float64
	alpha [maxSeen]float64
}

// begin forgets everything.
func (p *process) begin(s *Space, b belief) { p.space, p.trust, p.left, p.n = s, b, b.unexplained(), 0 }

// see adds something that was seen. It counts from the next call of factor.
func (p *process) see(o seen) {
	if p.n == 0 {
		p.base = p.space.expected(o.of, p.trust)
	}
	p.seen[p.n], p.mean[p.n] = o, p.expected(o.of, o.than)
	p.n++
}

// condition begins with the times of geometries.
func (p *process) condition(s *Space, b belief, arms []Arm, noise, stale float64) {
	p.begin(s, b)
	for i := range arms {
		a := &arms[i]
		v := noise * noise / a.Count
		if a.Stale {
			v += stale
		}
		p.see(seen{a.config, absolute, a.Mean, v})
	}
	p.factor()
}

func (p *process) expected(of, than int32) float64 {
	m := p.space.expected(of, p.trust) - p.base
	if than != absolute {
		m -= p.space.expected(than, p.trust) - p.base
	}
	return m
}

// covariance of a quantity of the given expected value and of what was seen.
func (p *process) covariance(of, than int32, mean float64, i int) float64 {
	s, o := p.space, &p.seen[i]
	v := s.covariance(of, o.of, p.left) + trustVar*p.left*mean*p.mean[i]
	if o.than != absolute {
		v -= s.covariance(of, o.than, p.left)
	}
	if than != absolute {
		v -= s.covariance(than, o.of, p.left)
		if o.than != absolute {
			v += s.covariance(than, o.than, p.left)
		}
	}
	return v
}

// variance of a quantity before anything was seen.
func (p *process) variance(of, than int32, mean float64) float64 {
	v := p.space.covariance(of, of, p.left) + trustVar*p.left*mean*mean
	if than != absolute {
		v += p.space.covariance(than, than, p.left) - 2*p.space.covariance(of, than, p.left)
	}
	return v
}

// factor takes in all that was seen.
func (p *process) factor() {
	for i := range p.n {
		o := &p.seen[i]
		row := &p.lower[i]
		for j := range i {
			v := p.covariance(o.of, o.than, p.mean[i], j)
			for k := range j {
				v -= row[k] * p.lower[j][k]
			}
			row[j] = v / p.lower[j][j]
		}
		v := p.variance(o.of, o.than, p.mean[i]) + o.variance + 1e-6
		y := o.y - p.mean[i]
		for k := range i {
			v -= row[k] * row[k]
			y -= row[k] * p.alpha[k]
		}
		row[i] = math.Sqrt(math.Max(v, 1e-9))
		p.alpha[i] = y / row[i]
	}
}

// predict is the mean and the standard deviation of a geometry's log cost, or of its difference
// from another's.
func (p *process) predict(of, than int32) (mean, sd float64) {
	var v [maxSeen]float64
	mean = p.expected(of, than)
	variance := p.variance(of, than, mean)
	expected := mean
	for i := range p.n {
		k := p.covariance(of, than, expected, i)
		row := &p.lower[i]
		for j := range i {
			k -= row[j] * v[j]
		}
		v[i] = k / row[i]
		mean += v[i] * p.alpha[i]
		variance -= v[i] * v[i]
	}
	return mean, math.Sqrt(math.Max(variance, 0))
}

// improvement is the expected gain of a normal value below best.
func improvement(best, mean, sd float64) float64 {
	if sd < 1e-9 {
		return math.Max(best-mean, 0)
	}
	z := (best - mean) / sd
	if z < -6 {
		return 0
	}
	return sd * (z*0.5*math.Erfc(-z/math.Sqrt2) + math.Exp(-z*z/2)/math.Sqrt(2*math.Pi))
}
