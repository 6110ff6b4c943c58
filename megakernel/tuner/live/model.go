package live

import "math"

// Hyperparameters of the process over the log of the cost, with the model of
// waves as its mean. Lengths are in doublings of a parameter.
var (
	lengths = [axes]float64{1.2, 3, 3, 2.5}
	effects = [axes]float64{0.30, 0.30, 0.30, 0.30} // variance of each parameter's own effect

	derivedLengths = [derived]float64{2, 2, 2}
	derivedEffects = [derived]float64{0.1, 0.1, 0.1}
)

const (
	offsetVar = 25.0 // of the unknown constant
	jointVar  = 0.07 // of effects of all together
	trustVar  = 0.15 // of the weight of the mean: the model's logarithms may be off by a factor
	staleVar  = 0.04 // added to what was measured before a change
)

// derived is the number of quantities that are products and quotients of the
// parameters and on which a launch's cost depends more directly than on these: the
// rows of a ticket (chunk over width), the rounds of a workgroup (groups times chunk
// over depth) and the lanes (width times groups).
const derived = 3

// similarity is the Matérn kernel of smoothness 5/2, by the distance in doublings.
func similarity(n int, length float64) []float64 {
	k := make([]float64, n)
	for i := range k {
		d := math.Sqrt(5) * float64(i) / length
		k[i] = (1 + d + d*d/3) * math.Exp(-d)
	}
	return k
}

// relate prepares the similarities of geometries for the process.
func (s *Space) relate() {
	for j := range s.kernel {
		s.kernel[j] = similarity(s.side[j], lengths[j])
	}
	for j := range s.derivedKernel {
		s.derivedKernel[j] = similarity(128, derivedLengths[j])
	}
	s.derived = make([][derived]int8, len(s.levels))
	for c, l := range s.levels {
		w, g, k, d := int8(l[0]), int8(l[1]), int8(l[2]), int8(l[3])
		s.derived[c] = [derived]int8{k - w, g + k - d, w + g}
	}
}

func apart[T uint16 | int8](a, b T) int {
	d := int(a) - int(b)
	return max(d, -d)
}

// covariance of the costs of two geometries.
func (s *Space) covariance(a, b int32) float64 {
	la, lb := &s.levels[a], &s.levels[b]
	sum, product := 0.0, 1.0
	for j := range axes {
		k := s.kernel[j][apart(la[j], lb[j])]
		sum += effects[j] * k
		product *= k
	}
	da, db := &s.derived[a], &s.derived[b]
	for j := range derived {
		sum += derivedEffects[j] * s.derivedKernel[j][apart(da[j], db[j])]
	}
	return offsetVar + sum + jointVar*product
}

// process is a Gaussian process conditioned on the arms. It is kept on the stack.
type process struct {
	space *Space
	n     int
	at    [MaxArms]int32
	base  float64 // prior of the first arm, so that the weight of the mean applies to differences
	lower [MaxArms][MaxArms]float64
	alpha [MaxArms]float64
}

func (p *process) kernel(a, b int32) float64 {
	return p.space.covariance(a, b) + trustVar*(p.space.prior[a]-p.base)*(p.space.prior[b]-p.base)
}

// condition factors the covariance of what was measured.
func (p *process) condition(s *Space, arms []Arm, noise, stale float64) {
	p.space, p.n = s, 0
	if len(arms) == 0 {
		return
	}
	p.base = s.prior[arms[0].config]
	for i := range arms {
		a := &arms[i]
		p.at[i] = a.config
		for j := 0; j <= i; j++ {
			v := p.kernel(a.config, p.at[j])
			if i == j {
				v += noise*noise/a.Count + 1e-6
				if a.Stale {
					v += stale
				}
			}
			for k := range j {
				v -= p.lower[i][k] * p.lower[j][k]
			}
			if i == j {
				p.lower[i][i] = math.Sqrt(math.Max(v, 1e-9))
			} else {
				p.lower[i][j] = v / p.lower[j][j]
			}
		}
		v := a.Mean - (s.prior[a.config] - p.base)
		for k := range i {
			v -= p.lower[i][k] * p.alpha[k]
		}
		p.alpha[i] = v / p.lower[i][i]
	}
	p.n = len(arms)
}

// predict is the mean and the standard deviation of a geometry's log cost.
func (p *process) predict(c int32) (mean, sd float64) {
	var v [MaxArms]float64
	mean, variance := p.space.prior[c]-p.base, p.kernel(c, c)
	for i := range p.n {
		k := p.kernel(c, p.at[i])
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
