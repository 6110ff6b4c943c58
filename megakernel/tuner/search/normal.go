package search

import (
	"cmp"
	"math"
	"slices"
)

// normalScores replaces costs by the quantiles of the normal distribution at
// their ranks; the cheapest gets the highest, and equal costs share their mean
// rank. A model of scores is not misled by the scale of the costs.
func normalScores(costs []float64) []float64 {
	n := len(costs)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(costs[a], costs[b]) })
	scores := make([]float64, n)
	for i := 0; i < n; {
		j := i + 1
		for j < n && costs[order[j]] == costs[order[i]] {
			j++
		}
		rank := float64(i+j) / 2 / float64(n)
		score := -math.Sqrt2 * math.Erfinv(2*rank-1)
		for ; i < j; i++ {
			scores[order[i]] = score
		}
	}
	return scores
}

// expectedImprovement is the mean gain over best of a normal variable.
func expectedImprovement(mean, sd, best float64) float64 {
	if sd <= 0 {
		return max(0, mean-best)
	}
	z := (mean - best) / sd
	if z < -6 {
		return 0
	}
	return sd * (z*math.Erfc(-z/math.Sqrt2)/2 + math.Exp(-z*z/2)/math.Sqrt(2*math.Pi))
}
