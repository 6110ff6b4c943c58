package policy

import (
	"fmt"
	"math"
)

// maxMagnitude bounds the values Diffuse accepts, far above any priority and
// far enough below the largest float64 that its sums cannot overflow.
const maxMagnitude = 1e300

// minCoefficient is the smallest coefficient that couples at all. It keeps the
// smallest possible degree, 1e-18, where float64 still has all its digits.
const minCoefficient = 1e-9

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
// freely; 0, and anything below 1e-9, is isolated. One iteration is
//
//	x' = x - eta * L * x / d
//
// with L the weighted graph Laplacian and d its largest weighted degree, which
// makes eta = 1 the largest step that is still an average. The sum of the
// values is kept (up to rounding), no value leaves the range of the input, and
// an isolated value is untouched.
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
	for i, v := range x {
		if !(math.Abs(v) <= maxMagnitude) {
			return fmt.Errorf("%w: diffuse value %d is %v", ErrRange, i, v)
		}
		if !(r[i] >= 0 && r[i] <= 1) {
			return fmt.Errorf("%w: diffuse coefficient %d is %v, want 0..1", ErrRange, i, r[i])
		}
	}
	copy(dst, x)
	c, ok := newCoupling(x, r)
	if !ok {
		return nil // nobody to share with
	}
	for range iterations {
		c.step(dst, r, eta)
	}
	return nil
}

// coupling is what the iterations have in common.
//
// The sibling with the largest coefficient is kept out of the sums. Where it
// outweighs all others together, S - r and S*x - T of that one would lose
// their digits to cancellation; for every other, S - r is at least S/2.
type coupling struct {
	top    int     // the sibling with the largest coefficient
	rest   float64 // sum of the other coefficients
	degree float64 // largest weighted degree
	lo, hi float64 // range of the coupled values
}

// newCoupling reports false if fewer than two siblings couple.
func newCoupling(x, r []float64) (coupling, bool) {
	c := coupling{top: -1, lo: math.Inf(1), hi: math.Inf(-1)}
	for i, w := range r {
		if w >= minCoefficient {
			c.lo, c.hi = min(c.lo, x[i]), max(c.hi, x[i])
			if c.top < 0 || w > r[c.top] {
				c.top = i
			}
		}
	}
	for i, w := range r {
		if w >= minCoefficient && i != c.top {
			c.rest += w
		}
	}
	if c.rest == 0 {
		return c, false
	}
	c.degree = r[c.top] * c.rest
	for i, w := range r {
		if w >= minCoefficient && i != c.top {
			c.degree = max(c.degree, w*(c.rest+r[c.top]-w))
		}
	}
	return c, true
}

// step is one iteration in place. The range is exact in real numbers; clamping
// keeps it so under rounding. The conversions keep the compiler from fusing,
// so that the result is the same on every machine.
func (c *coupling) step(x, r []float64, eta float64) {
	t := 0.0 // of the others
	for i, w := range r {
		if w >= minCoefficient && i != c.top {
			t += float64(w * x[i])
		}
	}
	top, wTop := x[c.top], r[c.top]
	s, all := c.rest+wTop, t+float64(wTop*top)
	rate := eta / c.degree
	for i, w := range r {
		if w >= minCoefficient && i != c.top {
			x[i] = c.clamp(x[i] - float64(rate*w*(float64(s*x[i])-all)))
		}
	}
	x[c.top] = c.clamp(top - float64(rate*wTop*(float64(c.rest*top)-t)))
}

func (c *coupling) clamp(v float64) float64 { return min(max(v, c.lo), c.hi) }
