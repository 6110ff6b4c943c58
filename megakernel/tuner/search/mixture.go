package search

import (
	"slices"

	"ringmaster/megakernel/tuner/space"
)

// mixture lets three ways to choose take turns: the Gaussian process, the forest,
// and later the most promising neighbour of the best. Where one of them is wrong
// about a space, the measurements that the others chose correct it.
type mixture struct{ *woods }

// finish is the number of measurements after which the neighbourhood gets its
// turns; before that, there is more to learn farther away.
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
