package search

import (
	"math"

	"ringmaster/megakernel/tuner/space"
)

// forestCandidates is the number of random configurations that a forest judges
// beside the neighbours of the best.
const forestCandidates = 700

// woods suggests configurations by a forest over everything measured.
type woods struct {
	*model
	features *features
	forest   forest
	x        [][]float32 // by feature and measured configuration, in their order
	seen     int         // measured configurations that x has
	row      []float32
	near     []int
}

func newWoods(m *model) *woods {
	w := &woods{model: m, features: newFeatures(m.space)}
	w.forest.rng = m.rng
	w.row = make([]float32, w.features.n())
	w.x = make([][]float32, w.features.n())
	return w
}

// improve returns the candidate with the largest expected improvement under a
// forest in which failures share the lowest score.
func (w *woods) improve() int {
	for ; w.seen < len(w.order); w.seen++ {
		w.features.of(w.order[w.seen], w.row)
		for j, v := range w.row {
			w.x[j] = append(w.x[j], v)
		}
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

func newTrees(s *space.Space, o Options) Searcher {
	return treesOnly{newWoods(newModel(s, o.Seed, nil))}
}

func (t treesOnly) Ask() (int, bool) { return t.ask(t.improve) }
