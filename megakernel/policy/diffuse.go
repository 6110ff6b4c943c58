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

// Diffuse spreads the values x over siblings that all see each other, and
// writes the result to dst, which may be x.
//
// The weight between siblings i and j is r[i]*r[j]: a coefficient of 1 shares
// freely; 0, and anything below 1e-9, is isolated. One iteration is
//
//	x' = x - eta * L * x / d
//
// with L the weighted graph Laplacian and d the largest coefficient times the
// sum of all, which no eigenvalue of L exceeds: below eta = 1 no difference is
// wiped out or turned round, so two siblings keep their order. (The largest
// weighted degree, which vyre divides by, makes 50 and 50 of 10 and 90 at
// eta = 1/2.) The sum of the values is kept (up to rounding), no value leaves
// the range of the input, and an isolated value is untouched.
//
// With S the sum of r and T the sum of r*x, row i of L*x is r[i]*(S*x[i] - T):
// an iteration is O(n) although all pairs are coupled.
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
	t := c.weighted(dst, r)
	for range iterations {
		t = c.step(dst, r, eta, t)
	}
	return nil
}

// DiffuseOn is a turn of a diffusion that goes on from launch to launch: state, which is what
// the turn before has left, is drawn half way back to the values x, and spread by Diffuse.
// With x as it is, turns converge to values that keep the sum of x and lie between x and
// their mean. The error is that of Diffuse; state is then undefined.
func DiffuseOn(state, x, r []float64, eta float64, iterations int) error {
	if len(x) != len(state) {
		return fmt.Errorf("%w: diffuse %d values from %d", ErrLength, len(x), len(state))
	}
	for i, v := range x {
		state[i] = state[i]/2 + v/2
	}
	return Diffuse(state, state, r, eta, iterations)
}

// coupling is what the iterations have in common.
//
// The sibling with the largest coefficient is kept out of the sums. Where it
// outweighs all others together, S - r and S*x - T of that one would lose
// their digits to cancellation; for every other, S - r is at least S/2.
type coupling struct {
	top    int     // the sibling with the largest coefficient
	rest   float64 // sum of the other coefficients
	bound  float64 // of the eigenvalues: largest coefficient times the sum of all
	lo, hi float64 // range of the coupled values
}

// newCoupling reports false if fewer than two siblings couple.
func newCoupling(x, r []float64) (coupling, bool) {
	top, largest, second := -1, 0.0, 0.0
	lo, hi := math.Inf(1), math.Inf(-1)
	for i, w := range r {
		if w < minCoefficient {
			continue
		}
		if v := x[i]; v < lo {
			lo = v
		}
		if v := x[i]; v > hi {
			hi = v
		}
		if w > largest {
			top, largest, second = i, w, largest
		} else if w > second {
			second = w
		}
	}
	if second == 0 {
		return coupling{}, false
	}
	rest := 0.0
	for i, w := range r {
		if w >= minCoefficient && i != top {
			rest += w
		}
	}
	return coupling{top: top, rest: rest, bound: largest * (rest + largest), lo: lo, hi: hi}, true
}

// weighted is the sum of r*x over the others.
func (c *coupling) weighted(x, r []float64) float64 {
	t := 0.0
	for i, w := range r {
		if w >= minCoefficient && i != c.top {
			t += float64(w * x[i])
		}
	}
	return t
}

// step is one iteration in place, from the weighted sum of the others to the
// next one. The range is exact in real numbers; clamping keeps it so under
// rounding.
func (c *coupling) step(x, r []float64, eta, t float64) float64 {
	top, wTop := x[c.top], r[c.top]
	s, all, rate := c.rest+wTop, t+float64(wTop*top), eta/c.bound
	next := c.move(x[:c.top], r[:c.top], s, all, rate, 0)
	next = c.move(x[c.top+1:], r[c.top+1:], s, all, rate, next)
	x[c.top] = c.clamp(top - float64(rate*wTop*(float64(c.rest*top)-t)))
	return next
}

// move is one iteration of others than the top. It adds their weighted values
// to next. The conversions keep the compiler from fusing, so that the result
// is the same on every machine.
func (c *coupling) move(x, r []float64, s, all, rate, next float64) float64 {
	x = x[:len(r)]
	for i, w := range r {
		if w >= minCoefficient {
			v := c.clamp(x[i] - float64(rate*w*(float64(s*x[i])-all)))
			x[i] = v
			next += float64(w * v)
		}
	}
	return next
}

// clamp is a pair of branches that are hardly ever taken: the built-in min and
// max, which also order zeros and NaN, cost more than the step.
func (c *coupling) clamp(v float64) float64 {
	if v < c.lo {
		return c.lo
	}
	if v > c.hi {
		return c.hi
	}
	return v
}
