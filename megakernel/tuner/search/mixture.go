package search

import (
	"slices"

	"ringmaster/megakernel/tuner/space"
)

// mixture lets three ways to choose take turns: the Gaussian process, the forest,
// and later the most promising neighbour of the best. Where one of them is wrong
// about a space, the measurements that the others chose correct it.
type mixture struct{ *woods }

// finish is the number of measurements after which the neighbourhood gets its turns; before that,
// there is more to learn farther away.
const finish = 80

func newMixture(s *space.Space, o Options) Searcher {
	return &mixture{newWoods(newModel(s, o.Seed, nil))}
}

func (m *mixture) Ask() (int, bool) {
	return m.ask(func() int { return m.turn(len(m.order)) })
}

// turn picks by the way whose turn the nth is.
func (m *mixture) turn(n int) int {
	c := -1
	switch {
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

// nearby returns the unmeasured neighbour of the best with the largest
// expected improvement under the process, -1 if there is none in the pool.
func (m *mixture) nearby() int {
	m.near = m.space.AppendNeighbours(m.near[:0], m.best)
	return m.model.improveAmong(func(c int) bool { return slices.Contains(m.near, c) })
}
