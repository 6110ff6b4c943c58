package search

import (
	"math"
	"slices"

	"ringmaster/megakernel/tuner/space"
)

// mixture lets three ways to choose take turns: the Gaussian process, the forest,
// and later the most promising neighbour of the best. Where one of them is wrong
// about a space, the measurements that the others chose correct it.
type mixture struct {
	*woods
	goal  float64 // cost below which a measurement is an improvement
	since int     // measurements after the last improvement
	heard int     // measurements that since knows of
}

// finish is the number of measurements after which the neighbourhood gets its turns; before that,
// there is more to learn farther away.
const finish = 80

// After patience measurements without an improvement by a share of improved, the best may be the end of a
// wrong path, such as one of two switches that help only together. From then on until the next
// improvement, one of strayEvery measurements is at a random configuration.
const (
	patience   = 30
	improved   = .01
	strayEvery = 8
)

func newMixture(s *space.Space, o Options) Searcher {
	return &mixture{woods: newWoods(newModel(s, o.Seed, nil))}
}

func (m *mixture) Ask() (int, bool) {
	return m.ask(func() int { return m.turn(len(m.order)) })
}

// turn picks by the way whose turn the nth is.
func (m *mixture) turn(n int) int {
	c := -1
	switch {
	case m.stuck() && n%strayEvery == 0:
		return m.fresh.draw(&m.told)
	case n%5 == 1 || n%5 == 3:
		c = m.woods.improve()
	case n%5 == 2 && len(m.order) >= finish:
		c = m.nearby()
	}
	if c >= 0 {
		return c
	}
	return m.model.improve()
}

// stuck says that there has been no improvement for a while.
func (m *mixture) stuck() bool {
	for ; m.heard < len(m.order); m.heard++ {
		m.since++
		if c := m.costs[m.order[m.heard]]; m.goal == 0 && !math.IsInf(c, 1) || c < m.goal {
			m.goal, m.since = c*(1-improved), 0
		}
	}
	return m.since >= patience
}

// nearby returns the unmeasured neighbour of the best with the largest
// expected improvement under the process, -1 if there is none in the pool.
func (m *mixture) nearby() int {
	m.near = m.space.AppendNeighbours(m.near[:0], m.best)
	return m.model.improveAmong(func(c int) bool { return slices.Contains(m.near, c) })
}
