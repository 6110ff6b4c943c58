package search

import (
	"math"
	"math/rand/v2"
	"slices"

	"ringmaster/megakernel/tuner/gp"
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
	sameMaker     = 3.   // weight of a source on a device of the same maker
	priorHold     = 12   // measurements before the cold search takes turns;
	priorPatience = 6    // fewer, if none of so many ran
)

// prior is what recordings of the same kernel say. Their mean relative cost is the
// prior mean of a Gaussian process over the logarithm of the cost; its kernel
// leaves open each recording's factor, the optimum and a smooth residual.
type prior struct {
	process *process
	mean    []float64   // over the sources, by configuration
	sources [][]float64 // relative log costs, by source and configuration
	weights []float64   // of the sources
	picks   []int
	cold    int  // last suggestion of the cold search
	left    bool // the cold search found a better one: the prior is no longer asked
}

func newPrior(s *space.Space, o Options) *prior {
	p := &prior{cold: -1}
	maker := space.Maker(o.Device)
	for _, h := range o.History {
		p.sources = append(p.sources, transfer(h, s))
		weight := 1.0
		if maker != "" && maker == space.Maker(h.Device) {
			weight = sameMaker
		}
		p.weights = append(p.weights, weight)
	}
	p.mean = meanOf(p.sources, p.weights, s.Len())
	return p
}

// likely are the configurations by the prior, the best first.
func (p *prior) likely() []int {
	if p == nil {
		return nil
	}
	return byMean(p.mean)
}

// begin makes the process and the first picks.
func (p *prior) begin(grid *grid, rng *rand.Rand, pool *pool) {
	start := newHyper(len(grid.params), priorLength, [3]float64{priorAlone, priorPairs, priorTogether}, priorNoise)
	start.offset = priorOffset
	features := make([][]float32, len(p.sources))
	for i, z := range p.sources {
		features[i] = make([]float32, len(z))
		for c, v := range z {
			if math.IsNaN(v) {
				v = p.mean[c]
			}
			features[i][c] = float32(v)
		}
		start.sources = append(start.sources, priorFactor)
	}
	how := fitting{first: 6, growth: 1.1, plus: 1, tries: 30, median: start, spread: .5}
	p.process = newProcess(grid, rng, pool, start, how, features)
	p.choosePortfolio()
}

// choosePortfolio takes, one after the other, the configuration that adds most to
// the weighted sum, over the sources, of the best fraction of the optimum that the
// picks reach there. It so prefers picks each of which is excellent for some source
// to picks that are mediocre for all.
func (p *prior) choosePortfolio() {
	reached := make([]float64, len(p.sources))
	for len(p.picks) < min(portfolio, len(p.mean)) {
		at, most := -1, math.Inf(-1)
		for c := range p.mean {
			gain := -1e-3 * p.mean[c]
			for s, z := range p.sources {
				if !math.IsNaN(z[c]) {
					gain += p.weights[s] * max(0, math.Exp(-z[c])-reached[s])
				}
			}
			if gain > most && !slices.Contains(p.picks, c) {
				at, most = c, gain
			}
		}
		p.picks = append(p.picks, at)
		for s, z := range p.sources {
			if !math.IsNaN(z[at]) {
				reached[s] = max(reached[s], math.Exp(-z[at]))
			}
		}
	}
}

// tell takes a configuration that the search recorded.
func (p *prior) tell(m *Search, config int) {
	if m.ran(config) {
		p.process.observe(config)
	}
	p.left = p.left || config == p.cold && config == m.Best
}

// ofPrior chooses by the prior, if it is its turn, and -1 otherwise: the portfolio
// first, then the likeliest as long as nothing runs, then the largest expected
// improvement; after a while every second measurement is the cold search's, and all
// once that has found a better one.
func (m *Search) ofPrior() int {
	p, n := m.prior, len(m.Order)
	for _, c := range slices.Concat(p.picks, p.unknown(m, n)) {
		if !m.Known(c) {
			return c
		}
	}
	if m.Best < 0 || p.left || n%2 == 1 && n >= priorHold {
		return -1
	}
	return m.improveByPrior()
}

// unknown is the likeliest configuration that was not measured, for as long as
// nothing has run and there is still patience.
func (p *prior) unknown(m *Search, n int) (likeliest []int) {
	if m.Best >= 0 || n >= priorPatience {
		return nil
	}
	at := -1
	for c, z := range p.mean {
		if !m.Known(c) && (at < 0 || z < p.mean[at]) {
			at = c
		}
	}
	return []int{at}
}

// improveByPrior maximises the expected improvement of the logarithm.
func (m *Search) improveByPrior() int {
	m.look()
	p := m.prior
	best, mean := math.Inf(-1), 0.0
	low := math.Log(m.Costs[m.Best])
	y := make([]float64, len(p.process.observed))
	for i, c := range p.process.observed {
		log := min(math.Log(m.Costs[c]), low+worstRatio)
		best = max(best, -log)
		y[i] = -log + p.mean[c]
		mean += y[i] / float64(len(y))
	}
	for i := range y { // the prior does not know the offset: start from the mean of the data
		y[i] -= mean
	}
	p.process.update(y)
	return m.choose(nil, func(i int) float64 {
		expected := float64(p.process.mean[i]) + mean - p.mean[m.pool.configs[i]]
		return gp.Improvement(expected-best, p.process.sd(i))
	})
}
