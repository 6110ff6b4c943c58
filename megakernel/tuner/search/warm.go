package search

import (
	"math"
	"slices"

	"ringmaster/megakernel/tuner/space"
)

// The unit of the prior is the logarithm of the cost over the best.
const (
	warmOffset   = 9    // variance of the unknown optimum
	warmFactor   = .06  // variance of each source's factor
	warmAlone    = .002 // variances of what the sources do not explain: by one parameter,
	warmPairs    = .018 // by pairs of them
	warmTogether = .063 // and by all together
	warmLength   = .4   // over which it is correlated
	warmNoise    = .002 // variance of a measurement
	portfolio    = 3    // first picks, chosen from the history alone
	sameMaker    = 3.   // weight of a source on a device of the same maker
	warmHold     = 12   // measurements before the cold search takes turns;
	warmPatience = 6    // fewer, if none of so many ran
)

// warm starts from recordings of the same kernel. Their mean relative cost is the
// prior mean of a Gaussian process over the logarithm of the cost; its kernel
// leaves open each recording's factor, the optimum and a smooth residual.
type warm struct {
	*mixture
	gp      *gp
	prior   []float64   // mean over the sources, by configuration
	sources [][]float64 // relative log costs, by source and configuration
	weights []float64   // of the sources
	picks   []int
	cold    int  // last suggestion of the cold search
	left    bool // the cold search found a better one: the prior is no longer asked
}

func newWarm(s *space.Space, o Options) Searcher {
	w := &warm{cold: -1}
	maker := space.Maker(o.Device)
	for _, h := range o.History {
		w.sources = append(w.sources, transfer(h, s))
		weight := 1.0
		if maker != "" && maker == space.Maker(h.Device) {
			weight = sameMaker
		}
		w.weights = append(w.weights, weight)
	}
	w.prior = meanOf(w.sources, w.weights, s.Len())
	likely := byMean(w.prior)
	w.mixture = &mixture{woods: newWoods(newModel(s, o.Seed, likely))}
	features := make([][]float32, len(w.sources))
	start := newHyper(w.grid, warmLength, 0, warmNoise)
	start.offset = warmOffset
	start.weights = [3]float64{warmAlone, warmPairs, warmTogether}
	for i, z := range w.sources {
		features[i] = make([]float32, len(z))
		for c, v := range z {
			if math.IsNaN(v) {
				v = w.prior[c]
			}
			features[i][c] = float32(v)
		}
		start.sources = append(start.sources, warmFactor)
	}
	w.gp = newGP(w.grid, w.rng, w.pool, start, fitting{first: 6, growth: 1.1, plus: 1, tries: 30, median: start, spread: .5}, features)
	w.choosePortfolio()
	return w
}

// choosePortfolio takes, one after the other, the configuration that adds most to
// the weighted sum, over the sources, of the best fraction of the optimum that the
// picks reach there. It so prefers picks each of which is excellent for some source
// to picks that are mediocre for all.
func (w *warm) choosePortfolio() {
	reached := make([]float64, len(w.sources))
	for len(w.picks) < portfolio {
		at, most := -1, math.Inf(-1)
		for c := range w.prior {
			gain := -1e-3 * w.prior[c]
			for s, z := range w.sources {
				if !math.IsNaN(z[c]) {
					gain += w.weights[s] * max(0, math.Exp(-z[c])-reached[s])
				}
			}
			if gain > most && !slices.Contains(w.picks, c) {
				at, most = c, gain
			}
		}
		if at < 0 {
			return
		}
		w.picks = append(w.picks, at)
		for s, z := range w.sources {
			if !math.IsNaN(z[at]) {
				reached[s] = max(reached[s], math.Exp(-z[at]))
			}
		}
	}
}

func (w *warm) Tell(config int, cost float64) {
	w.model.Tell(config, cost)
	if !math.IsInf(w.costs[config], 1) {
		w.gp.observe(config)
	}
	w.left = w.left || config == w.cold && config == w.best
}

func (w *warm) Ask() (int, bool) {
	for _, c := range w.picks {
		if !w.known(c) {
			return c, true
		}
	}
	n := len(w.order)
	if w.best < 0 && n < warmPatience {
		return w.byRank()
	}
	if w.best >= 0 && !w.left && (n%2 == 0 || n < warmHold) {
		if c := w.improve(); c >= 0 {
			return c, true
		}
	}
	c, ok := w.ask(func() int { return w.mixture.turn(n / 2) }) // which has every second measurement
	w.cold = c
	return c, ok
}

// byRank returns the best configuration by the prior, for as long as nothing has run.
func (w *warm) byRank() (int, bool) {
	at := -1
	for c, z := range w.prior {
		if !w.known(c) && (at < 0 || z < w.prior[at]) {
			at = c
		}
	}
	return at, at >= 0
}

// improve maximises the expected improvement of the logarithm.
func (w *warm) improve() int {
	w.look()
	y := w.gp.costs(w.costs)
	best := math.Inf(-1)
	low := math.Log(w.costs[w.best])
	for i, c := range w.gp.observed {
		log := min(math.Log(y[i]), low+worstRatio)
		best = max(best, -log)
		y[i] = -log + w.prior[c]
	}
	// The prior does not know the offset: start from the mean of the data.
	mean := 0.0
	for _, v := range y {
		mean += v / float64(len(y))
	}
	for i := range y {
		y[i] -= mean
	}
	w.gp.update(y)
	w.finalists.reset()
	for i, c := range w.pool.configs {
		if w.known(int(c)) {
			continue
		}
		score := float64(w.gp.mean[i]) + mean - w.prior[c]
		w.finalists.add(finalist{config: int(c), gain: expectedImprovement(score, w.gp.sd(i), best), chance: w.chance.of(i)})
	}
	return w.chance.choose(&w.finalists)
}
