package classic

import (
	"fmt"
	"math"
	"slices"

	"ringmaster/bench/recorded"
	"ringmaster/megakernel/tuner/search"
	"ringmaster/megakernel/tuner/space"
)

// Searcher proposes configurations and learns from their cost, as [search.Search]
// does.
type Searcher interface {
	Ask() (config int, ok bool)
	Tell(config int, cost float64)
}

// Options are those of a search.
type Options struct {
	Seed    uint64
	History []*recorded.Recording // of the same kernel on other devices
	// Budget is the number of measurements that will be made, above 0. annealing
	// cools down over it.
	Budget int
}

// The product's search, from nothing, and with a history as its prior.
const (
	Cold = "cold"
	Warm = "warm"
)

// Classic are the searches without a model, the yardsticks of a search from nothing.
var Classic = []string{"random", "local", "annealing", "genetic"}

// Strategies are the names that New knows, sorted.
var Strategies = slices.Sorted(slices.Values(append([]string{Cold, Warm, "natural", "rank"}, Classic...)))

// New returns a search of the named strategy.
func New(strategy string, s *space.Space, o Options) (Searcher, error) {
	switch strategy {
	case Cold:
		return search.New(s, o.Seed), nil
	case Warm, "rank":
		if len(o.History) == 0 {
			return nil, fmt.Errorf("%s needs other recordings of the kernel", strategy)
		}
		if strategy == Warm {
			return newWarm(s, o), nil
		}
		return newRank(s, o), nil
	case "random":
		return newRandom(s, o), nil
	case "local":
		return newLocal(s, o), nil
	case "annealing":
		return newAnnealing(s, o), nil
	case "genetic":
		return newGenetic(s, o), nil
	case "natural":
		return newNatural(s, o), nil
	}
	return nil, fmt.Errorf("no search is called %q; there are %v", strategy, Strategies)
}

// Replay lets a searcher look for the best configuration of a recording, and
// returns the cost of the best one found after each measurement; Failed as
// long as every one failed. It ends early when the searcher has nothing to ask.
func Replay(s Searcher, r *recorded.Recording, budget int) []float64 {
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
func Fraction(curve []float64, r *recorded.Recording, n int) float64 {
	if n = min(n, len(curve)); n == 0 {
		return 0
	}
	return r.Best() / curve[n-1]
}
