package search

import (
	"math"

	"ringmaster/megakernel/tuner/space"
)

// Replay lets a searcher look for the best configuration of a recording, and
// returns the cost of the best one found after each measurement; Failed as
// long as every one failed. It ends early when the searcher has nothing to ask.
func Replay(s Searcher, r *space.Recording, budget int) []float64 {
	curve := make([]float64, 0, budget)
	best := math.Inf(1)
	for range budget {
		c, ok := s.Ask()
		if !ok {
			break
		}
		s.Tell(c, r.Costs[c])
		best = min(best, r.Costs[c])
		curve = append(curve, best)
	}
	return curve
}

// Fraction is how close a curve of Replay has come to the optimum of the
// recording after n measurements: optimum over found, 0 if nothing ran.
func Fraction(curve []float64, r *space.Recording, n int) float64 {
	if n = min(n, len(curve)); n == 0 {
		return 0
	}
	return r.Best() / curve[n-1]
}
