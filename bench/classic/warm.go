package classic

import (
	"math"
	"slices"

	"ringmaster/megakernel/tuner/gp"
	"ringmaster/megakernel/tuner/search"
	"ringmaster/megakernel/tuner/space"
)

// The unit of the prior is the logarithm of the cost over the best.
const (
	priorOffset   = 9    // variance of the unknown optimum
	priorFactor   = .06  // variance of each source's factor
	priorAlone    = .002 // variances of what the sources do not explain: by one parameter,
	priorPairs    = .018 // by pairs of them
	priorTogether = .063 // and by all together
	priorLength   = .4   // over which it is correlated
	priorNoise    = .002 // variance of a measurement
	portfolio     = 3    // first picks, chosen from the history alone
	priorHold     = 12   // measurements before the cold search takes turns
)

// warm is the product's search with a prior: the mean relative cost in recordings of the same
// kernel on other devices is the prior mean of a Gaussian process over the logarithm of the
// cost, whose kernel leaves open each recording's factor, the optimum and a smooth residual.
type warm struct {
	*search.Search
	sources [][]float64
	mean    []float64
	picks   []int // what to measure first
	process gp.Posterior
	seen    []int       // configurations of the process
	rows    [][]float64 // their covariances with all configurations
	cold    int         // last suggestion of the cold search
	left    bool        // the cold search found a better one: the prior is no longer asked
}

func newWarm(s *space.Space, o Options) Searcher {
	w := &warm{Search: search.New(s, o.Seed), cold: -1}
	w.sources, w.mean = transferred(o.History, s)
	for _, z := range w.sources {
		for c := range z {
			if math.IsNaN(z[c]) {
				z[c] = w.mean[c]
			}
		}
	}
	w.choosePortfolio()
	return w
}

// choosePortfolio takes, one after the other, the configuration that adds most to the sum,
// over the sources, of the best fraction of the optimum that the picks reach there. It so
// prefers picks each of which is excellent for some source to picks that are mediocre for all.
func (w *warm) choosePortfolio() {
	reached := make([]float64, len(w.sources))
	for len(w.picks) < min(portfolio, len(w.mean)) {
		at, most := -1, math.Inf(-1)
		for c := range w.mean {
			gain := -1e-3 * w.mean[c]
			for s, z := range w.sources {
				gain += max(0, math.Exp(-z[c])-reached[s])
			}
			if gain > most && !slices.Contains(w.picks, c) {
				at, most = c, gain
			}
		}
		w.picks = append(w.picks, at)
		for s, z := range w.sources {
			reached[s] = max(reached[s], math.Exp(-z[at]))
		}
	}
}

// Ask takes the picks first, then the largest expected improvement; after a while every second
// measurement is the cold search's, and all once that has found a better one.
func (w *warm) Ask() (int, bool) {
	for _, c := range w.picks {
		if !w.Known(c) {
			return c, true
		}
	}
	n := len(w.Order)
	if w.Full() || w.Best < 0 || w.left || n%2 == 1 && n >= priorHold {
		c, ok := w.Search.Ask()
		w.cold = c
		return c, ok
	}
	return w.improve(), true
}

// Tell implements Searcher.
func (w *warm) Tell(config int, cost float64) {
	w.Search.Tell(config, cost)
	w.left = w.left || config == w.cold && config == w.Best
	if math.IsInf(w.Costs[config], 1) || slices.Contains(w.seen, config) {
		return
	}
	row := make([]float64, len(w.mean))
	for c := range row {
		row[c] = w.covariance(config, c)
	}
	own := []float64{}
	for _, c := range w.seen {
		own = append(own, row[c])
	}
	w.process.Add(append(own, row[config]+priorNoise))
	w.seen, w.rows = append(w.seen, config), append(w.rows, row)
}

// covariance is the prior's, of two configurations.
func (w *warm) covariance(a, b int) float64 {
	k, sum, product, varying := float64(priorOffset), 0.0, 1.0, 0.0
	for _, z := range w.sources {
		k += priorFactor * z[a] * z[b]
	}
	x, y := w.Space.Levels(a), w.Space.Levels(b)
	for j, p := range w.Space.Params() {
		if len(p.Values) > 1 {
			alike := gp.Matern(math.Abs(p.Coords[x[j]]-p.Coords[y[j]]) / priorLength)
			sum, product, varying = sum+alike, product*alike, varying+1
		}
	}
	mean := sum / max(varying, 1)
	return k + priorAlone*mean + priorPairs*mean*mean + priorTogether*product
}

// improve maximises the expected improvement of the logarithm.
func (w *warm) improve() int {
	low, best, mean := math.Log(w.Costs[w.Best]), math.Inf(-1), 0.0
	y := make([]float64, len(w.seen))
	for i, c := range w.seen {
		log := min(math.Log(w.Costs[c]), low+worstRatio)
		best = max(best, -log)
		y[i] = w.mean[c] - log
		mean += y[i] / float64(len(y))
	}
	for i := range y { // the prior does not know the offset: start from the mean of the data
		y[i] -= mean
	}
	w.process.Observe(y)
	at, most := -1, -1.0
	cov := make([]float64, len(w.seen))
	for c := range w.mean {
		if w.Known(c) {
			continue
		}
		for i, row := range w.rows {
			cov[i] = row[c]
		}
		expected, sd := w.process.Predict(cov, w.covariance(c, c))
		if gain := gp.Improvement(expected+mean-w.mean[c]-best, sd); gain > most {
			at, most = c, gain
		}
	}
	return at
}
