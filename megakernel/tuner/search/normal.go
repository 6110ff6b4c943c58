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

// scores are the means of the normal scores and the standardised logarithms of costs, the highest for
// the cheapest. Ranks alone say nothing of how much better the best is than the next; logarithms
// alone are governed by the worst.
func scores(costs []float64) []float64 {
	y := normalScores(costs)
	n, sum, squares := float64(len(costs)), 0.0, 0.0
	for _, c := range costs {
		l := math.Log(c)
		sum += l
		squares += l * l
	}
	mean := sum / n
	variance := squares/n - mean*mean
	if variance < 1e-12 {
		return y
	}
	for i, c := range costs {
		y[i] = (y[i] - (math.Log(c)-mean)/math.Sqrt(variance)) / 2
	}
	return y
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
