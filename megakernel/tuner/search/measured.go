package search

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"ringmaster/megakernel/tuner/space"
)

// Measured are the measurements of a search.
type Measured struct {
	Space *space.Space
	Costs []float64 // by configuration; NaN: unknown
	Order []int     // configurations in the order of their first measurement
	Best  int       // the cheapest configuration, -1 if none ran
}

// NewMeasured returns a space without measurements.
func NewMeasured(s *space.Space) Measured {
	m := Measured{Space: s, Costs: make([]float64, s.Len()), Best: -1}
	for i := range m.Costs {
		m.Costs[i] = math.NaN()
	}
	return m
}

// Known says that a configuration was measured.
func (m *Measured) Known(config int) bool { return !math.IsNaN(m.Costs[config]) }

// Full says that all configurations were measured.
func (m *Measured) Full() bool { return len(m.Order) == m.Space.Len() }

// Record notes a cost and reports whether the configuration is new.
func (m *Measured) Record(config int, cost float64) (fresh bool) {
	if !(cost > 0) {
		cost = Failed // NaN, zero and below are no measurements
	}
	fresh = !m.Known(config)
	m.Costs[config] = cost
	if fresh {
		m.Order = append(m.Order, config)
	}
	if config == m.Best && !fresh { // it may have become dearer
		m.Best = -1
		for _, c := range m.Order {
			m.better(c)
		}
	}
	m.better(config)
	return fresh
}

func (m *Measured) better(config int) {
	if cost := m.Costs[config]; m.ran(config) && (m.Best < 0 || cost < m.Costs[m.Best]) {
		m.Best = config
	}
}

func (m *Measured) ran(config int) bool { return !math.IsInf(m.Costs[config], 1) }

// Unseen draws configurations that were not measured, each equally likely.
type Unseen struct {
	rng   *rand.Rand
	order []int32 // a permutation, shuffled as far as it was drawn
	next  int
}

// NewUnseen returns a source of n configurations.
func NewUnseen(rng *rand.Rand, n int) *Unseen {
	u := &Unseen{rng: rng, order: make([]int32, n)}
	for i := range u.order {
		u.order[i] = int32(i)
	}
	return u
}

// Draw returns an unmeasured configuration without using it up, or -1.
func (u *Unseen) Draw(m *Measured) int {
	for u.next < len(u.order) {
		i := u.next + u.rng.IntN(len(u.order)-u.next)
		u.order[u.next], u.order[i] = u.order[i], u.order[u.next]
		c := int(u.order[u.next])
		if !m.Known(c) {
			return c
		}
		u.next++
	}
	return -1
}

// Scores replaces costs by the quantiles of the normal distribution at their
// ranks; the cheapest gets the highest, and equal costs share their mean rank. A
// model of scores is not misled by the scale of the costs.
func Scores(costs []float64) []float64 {
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

// mixedScores are the means of the Scores and the standardised logarithms of
// costs. Ranks alone say nothing of how much better the best is than the next;
// logarithms alone are governed by the worst.
func mixedScores(costs []float64) []float64 {
	y := Scores(costs)
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
