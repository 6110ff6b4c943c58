package reference

import (
	"math"
	"slices"
)

// SoftmaxCosts is the differentiable autotuner's policy in f64: exp((least-cost)/temperature) over their
// sum. The original has it under test only, beside the form of its device. It is empty without costs.
func SoftmaxCosts(costs []float64, temperature float64) []float64 {
	weights := make([]float64, len(costs))
	if len(costs) == 0 {
		return weights
	}
	least, sum := slices.Min(costs), 0.0
	for i, c := range costs {
		weights[i] = math.Exp((least - c) / temperature)
		sum += weights[i]
	}
	for i := range weights {
		weights[i] /= sum
	}
	return weights
}

// CostGradient is minus [SoftmaxCosts], the gradient of the soft minimum that the original descends: its sum
// is -1. It too is under test only there.
func CostGradient(costs []float64, temperature float64) []float64 {
	gradient := SoftmaxCosts(costs, temperature)
	for i := range gradient {
		gradient[i] = -gradient[i]
	}
	return gradient
}

// DiffuseDiagonal is the original's priority step: next = s - damping*r*s for
// each value alone, repeated. It shrinks each value by its own coefficient and
// couples nothing; policy.Diffuse is the coupled step. The original never calls it. It returns a new slice, or
// s itself if the lengths differ. Nothing is checked: NaN and Inf pass through.
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

// PickCheapest returns the candidate with the smallest cost, or fallback if
// there is none: the original's pick of a workgroup size and of a hit capacity
// multiplier, which it never calls. Costs compare in the IEEE 754 total order (negative NaN,
// -Inf, ..., -0, +0, ..., +Inf, positive NaN), the first minimum wins, and
// what the longer slice has in surplus is ignored.
func PickCheapest(candidates []uint32, costs []float64, fallback uint32) uint32 {
	n := min(len(candidates), len(costs))
	if n == 0 {
		return fallback
	}
	best, bestKey := 0, totalOrder(costs[0])
	for i := 1; i < n; i++ {
		if key := totalOrder(costs[i]); key < bestKey {
			best, bestKey = i, key
		}
	}
	return candidates[best]
}

// totalOrder maps the bits of f to an integer that sorts as IEEE 754 does:
// negative numbers sort by descending magnitude, so their magnitude bits flip.
func totalOrder(f float64) int64 {
	b := int64(math.Float64bits(f))
	return b ^ int64(uint64(b>>63)>>1)
}

// NaturalStep returns -rate * M * grad for a row-major n by n matrix: the
// step of a gradient preconditioned by M. The original never calls it. Sums run from left to right and no
// product is fused into a sum, so the result is the same on every machine. It
// returns an empty slice if M has fewer than n*n cells, grad fewer than n, or
// n is not positive.
func NaturalStep(m, grad []float64, n int, rate float64) []float64 {
	if n <= 0 || n > len(grad) || len(m)/n < n {
		return []float64{}
	}
	delta := make([]float64, n)
	for row := range delta {
		sum := 0.0
		for col, g := range grad[:n] {
			// The conversion keeps the compiler from fusing.
			sum += float64(m[row*n+col] * g)
		}
		delta[row] = float64(-rate * sum)
	}
	return delta
}
