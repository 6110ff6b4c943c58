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

	// The model of a software renderer is fitted to each workload and explains more: this part
	// of the variances is left.
	softwareShare = 0.1
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

// covariance of the costs of two geometries, of whose variances a model left a part.
func (s *Space) covariance(a, b int32, left float64) float64 {
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
	return offsetVar + left*(sum+jointVar*product)
}
