package policy

import (
	"fmt"
	"math"
)

// maxMagnitude bounds the values Diffuse accepts, far above any priority and
// far enough below the largest float64 that its sums cannot overflow.
const maxMagnitude = 1e300

// DiffuseDiagonal is the reference's priority step: next = s - damping*r*s for
// each value alone, repeated. It shrinks each value by its own coefficient and
// couples nothing; Diffuse is the coupled step. It returns a new slice, or s
// itself if the lengths differ. Nothing is checked: NaN and Inf pass through.
func DiffuseDiagonal(s, r []float64, damping float64, iterations uint32) []float64 {
	if len(s) != len(r) {
		return s
	}
	next := make([]float64, len(s))
	copy(next, s)
	for range iterations {
		for i, v := range next {
			// The conversions keep the compiler from fusing.
			next[i] = v - float64(float64(damping*r[i])*v)
		}
	}
	return next
}

// Diffuse spreads the values x over siblings that all see each other, and
// writes the result to dst, which may be x.
//
// The weight between siblings i and j is r[i]*r[j]: a coefficient of 1 shares
// freely, 0 is isolated. One iteration is
//
//	x' = x - eta * L * x / d
//
// with L the weighted graph Laplacian and d its largest weighted degree, which
// makes eta = 1 the largest step that is still an average. The sum of the
// values is kept (up to rounding), no value leaves the range of the input, and
// a value with coefficient 0 is untouched.
//
// With S the sum of r and T the sum of r*x, row i of L*x is r[i]*(S*x[i] - T)
// and the degree of i is r[i]*(S - r[i]): an iteration is O(n) although all
// pairs are coupled.
//
// The error wraps ErrLength if the lengths differ and ErrRange if eta or a
// coefficient is outside 0..1, a value is not finite or above 1e300, or
// iterations is negative. dst is then untouched.
func Diffuse(dst, x, r []float64, eta float64, iterations int) error {
	if len(x) != len(r) || len(dst) != len(x) {
		return fmt.Errorf("%w: diffuse %d values with %d coefficients into %d", ErrLength, len(x), len(r), len(dst))
	}
	if !(eta >= 0 && eta <= 1) {
		return fmt.Errorf("%w: diffuse eta %v, want 0..1", ErrRange, eta)
	}
	if iterations < 0 {
		return fmt.Errorf("%w: diffuse iterations %d, want 0 or more", ErrRange, iterations)
	}
	lo, hi, largest := math.Inf(1), math.Inf(-1), 0.0
	for i, v := range x {
		if !(math.Abs(v) <= maxMagnitude) {
			return fmt.Errorf("%w: diffuse value %d is %v", ErrRange, i, v)
		}
		if !(r[i] >= 0 && r[i] <= 1) {
			return fmt.Errorf("%w: diffuse coefficient %d is %v, want 0..1", ErrRange, i, r[i])
		}
		if r[i] > 0 {
			lo, hi, largest = min(lo, v), max(hi, v), max(largest, r[i])
		}
	}
	copy(dst, x)

	// L/d does not change when all coefficients are scaled alike; dividing by
	// the largest keeps products of tiny ones from vanishing.
	s := 0.0
	for _, c := range r {
		if c > 0 {
			s += c / largest
		}
	}
	degree := 0.0
	for _, c := range r {
		if c > 0 {
			degree = max(degree, c/largest*(s-c/largest))
		}
	}
	if degree <= 0 {
		return nil // nobody to share with
	}
	for range iterations {
		diffuseOnce(dst, r, largest, s, eta/degree, lo, hi)
	}
	return nil
}

// diffuseOnce is one iteration in place. The range is exact in real numbers;
// clamping keeps it so under rounding.
func diffuseOnce(x, r []float64, largest, s, step, lo, hi float64) {
	t := 0.0
	for i, v := range x {
		t += r[i] / largest * v
	}
	for i, v := range x {
		if r[i] > 0 {
			moved := v - step*(r[i]/largest)*(s*v-t)
			x[i] = min(max(moved, lo), hi)
		}
	}
}
