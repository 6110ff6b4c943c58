package search

import (
	"slices"

	"ringmaster/megakernel/tuner/space"
)

// mixture lets three ways to choose take turns: the process, the forest, and
// later the best-looking neighbour of the best. Where one of them is wrong
// about a space, the measurements of the others correct it.
type mixture struct{ *woods }

// finish is the number of measurements from which the neighbourhood has its
// turns; before, there is more to learn farther away.
const finish = 80

func newMixture(s *space.Space, o Options) Searcher {
	return &mixture{newWoods(newModel(s, o.Seed, nil))}
}

func (m *mixture) Ask() (int, bool) { return m.ask(m.turn) }

func (m *mixture) turn() int {
	c, n := -1, len(m.order)
	switch {
	case n%3 == 2:
		c = m.woods.improve()
	case n%3 == 1 && n >= finish:
		c = m.nearby()
	}
	if c >= 0 {
		return c
	}
	return m.model.improve()
}

// nearby returns the unmeasured neighbour of the best with the largest
// expected improvement under the process, -1 if there is none in the pool.
func (m *mixture) nearby() int {
	m.near = m.space.AppendNeighbours(m.near[:0], m.best)
	return m.model.improveAmong(func(c int) bool { return slices.Contains(m.near, c) })
}
