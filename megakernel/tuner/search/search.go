package search

import (
	"math"
	"math/rand/v2"
	"slices"

	"ringmaster/megakernel/tuner/gp"
	"ringmaster/megakernel/tuner/space"
)

// Failed is the cost of a configuration that does not build or run.
var Failed = math.Inf(1)

const (
	starts     = 8  // configurations measured before a model is asked
	startsFrom = 30 // random configurations of which the farthest becomes a start

	// finish is the number of measurements after which the neighbourhood gets its
	// turns; before that, there is more to learn farther away.
	finish = 80

	// After patience measurements without an improvement by a share of improved,
	// the best may be the end of a wrong path, such as one of two switches that help
	// only together. From then on until the next improvement, one of strayEvery
	// measurements is at a random configuration.
	patience   = 30
	improved   = .01
	strayEvery = 8
)

// Search proposes configurations and learns from their cost.
type Search struct {
	Measured
	fresh   *Unseen
	process *process

	goal  float64 // cost below which a measurement is an improvement
	since int     // measurements after the last improvement
	heard int     // measurements that since knows of
}

// New returns a search that has measured nothing. The seed determines it.
func New(s *space.Space, seed uint64) *Search {
	rng := Generator(seed)
	return &Search{Measured: NewMeasured(s), fresh: NewUnseen(rng, s.Len()), process: newProcess(newGrid(s), rng, s.Len())}
}

// Generator returns the random numbers of a seed.
func Generator(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)) }

// Ask returns the configuration to measure next, by its number in the space: the starts
// first, and then by whose turn it is. It is false when every configuration was measured.
// Asking again without telling is allowed and may return another configuration.
func (m *Search) Ask() (config int, ok bool) {
	n := len(m.Order)
	switch {
	case m.Full():
		return 0, false
	case n < starts || m.Best < 0:
		return m.start(), true
	case m.stuck() && n%strayEvery == 0:
		return m.fresh.Draw(&m.Measured), true
	}
	if n%5 == 2 && n >= finish {
		if c := m.improve(m.Space.AppendNeighbours(nil, m.Best)); c >= 0 {
			return c, true
		}
	}
	all := make([]int, m.Space.Len())
	for c := range all {
		all[c] = c
	}
	return m.improve(all), true
}

// Tell reports the cost of a configuration: above zero, in any unit, lower being
// better, or Failed. It may be one that was not asked for. One that was told before
// gets the new cost.
func (m *Search) Tell(config int, cost float64) {
	m.Record(config, cost)
	m.process.observe(config)
}

// stuck says that there has been no improvement for a while.
func (m *Search) stuck() bool {
	for ; m.heard < len(m.Order); m.heard++ {
		m.since++
		if c := m.Costs[m.Order[m.heard]]; m.goal == 0 && !math.IsInf(c, 1) || c < m.goal {
			m.goal, m.since = c*(1-improved), 0
		}
	}
	return m.since >= patience
}

// start returns the next of the first configurations: each as far as possible
// from those before.
func (m *Search) start() int {
	best, most := -1, -1.0
	for range startsFrom {
		c := m.fresh.Draw(&m.Measured)
		if c < 0 {
			break
		}
		if len(m.Order) == 0 {
			return c
		}
		m.fresh.next++
		near := math.Inf(1)
		for _, o := range m.Order {
			near = min(near, m.distance(c, o))
		}
		if near > most {
			best, most = c, near
		}
	}
	m.fresh.next = 0 // those that were not taken stay eligible
	return best
}

// distance is the squared distance of the coordinates.
func (m *Search) distance(a, b int) (sum float64) {
	x, y := m.Space.Levels(a), m.Space.Levels(b)
	for j, p := range m.Space.Params() {
		d := p.Coords[x[j]] - p.Coords[y[j]]
		sum += d * d
	}
	return sum
}

// improve returns the configuration of those given that was not measured and has the
// largest expected improvement under the process; -1 if there is none.
func (m *Search) improve(among []int) int {
	y := m.targets()
	m.process.update(y)
	best := slices.Max(y)
	at, most := -1, -1.0
	for _, c := range among {
		if m.Known(c) {
			continue
		}
		if gain := gp.Improvement(float64(m.process.mean[c])-best, m.process.sd(c)); gain > most {
			at, most = c, gain
		}
	}
	return at
}

// targets are the scores of what the process has observed. What failed has the score of the
// worst that ran.
func (m *Search) targets() []float64 {
	var costs []float64
	for _, c := range m.process.observed {
		if m.ran(c) {
			costs = append(costs, m.Costs[c])
		}
	}
	scores := mixedScores(costs)
	worst := slices.Min(append(scores, 0)) // their mean is 0
	y := make([]float64, len(m.process.observed))
	for i, c := range m.process.observed {
		y[i] = worst
		if m.ran(c) {
			y[i], scores = scores[0], scores[1:]
		}
	}
	return y
}
