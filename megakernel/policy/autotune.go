package policy

import "math"

// PickHitCapacityMultiplier returns the candidate with the smallest cost, or
// fallback if there is none. See PickWorkgroupSize for the order.
func PickHitCapacityMultiplier(candidates []uint32, costs []float64, fallback uint32) uint32 {
	return pickCheapest(candidates, costs, fallback)
}

// PickWorkgroupSize returns the candidate with the smallest cost, or current
// if there is none. Costs compare in the IEEE 754 total order (negative NaN,
// -Inf, ..., -0, +0, ..., +Inf, positive NaN), the first minimum wins, and
// what the longer slice has in surplus is ignored.
func PickWorkgroupSize(candidates []uint32, costs []float64, current uint32) uint32 {
	return pickCheapest(candidates, costs, current)
}

func pickCheapest(candidates []uint32, costs []float64, fallback uint32) uint32 {
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
// step of a gradient preconditioned by M. Sums run from left to right and no
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
