package search

import (
	"math"

	"ringmaster/megakernel/tuner/space"
)

// forestCandidates is the number of random configurations a forest judges,
// beside the neighbours of the best.
const forestCandidates = 700

// woods suggests by a forest over everything measured.
type woods struct {
	*model
	features *features
	forest   forest
	x        [][]float32 // of the measured, in their order
	row      []float32
	near     []int
}

func newWoods(m *model) *woods {
	w := &woods{model: m, features: newFeatures(m.space)}
	w.forest.rng = m.rng
	w.row = make([]float32, w.features.n())
	return w
}

// improve returns the candidate with the largest expected improvement under a
// forest in which failures are the worst that was measured.
func (w *woods) improve() int {
	for _, c := range w.order[len(w.x):] {
		row := make([]float32, len(w.row))
		w.features.of(c, row)
		w.x = append(w.x, row)
	}
	costs := make([]float64, len(w.order))
	for i, c := range w.order {
		costs[i] = w.costs[c]
	}
	y := normalScores(costs)
	w.forest.grow(w.x, y)
	best := math.Inf(-1)
	for _, v := range y {
		best = max(best, v)
	}
	at, most := -1, -1.0
	consider := func(c int) {
		if w.known(c) {
			return
		}
		w.features.of(c, w.row)
		mean, sd := w.forest.predict(w.row)
		if ei := expectedImprovement(mean, sd, best); ei > most {
			at, most = c, ei
		}
	}
	for range forestCandidates {
		consider(w.rng.IntN(w.space.Len()))
	}
	w.near = w.space.AppendNeighbours(w.near[:0], w.best)
	for _, c := range w.near {
		consider(c)
	}
	return at
}

// treesOnly is a search by the forest alone.
type treesOnly struct{ *woods }

func newTrees(s *space.Space, o Options) Searcher { return treesOnly{newWoods(newModel(s, o.Seed))} }

func (t treesOnly) Ask() (int, bool) { return t.ask(t.improve) }

// mixture lets the process and the forest take turns.
type mixture struct{ *woods }

func newMixture(s *space.Space, o Options) Searcher {
	return &mixture{newWoods(newModel(s, o.Seed))}
}

func (m *mixture) Ask() (int, bool) {
	return m.ask(func() int {
		if len(m.order)%3 == 2 {
			if c := m.woods.improve(); c >= 0 {
				return c
			}
		}
		return m.model.improve()
	})
}
