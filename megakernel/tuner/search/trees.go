package search

import (
	"math/rand/v2"
	"slices"

	"ringmaster/megakernel/tuner/gp"
)

// forestCandidates is the number of random configurations that a forest judges
// beside the neighbours of the best.
const forestCandidates = 700

// samples are the features of what was measured.
type samples struct {
	features *features
	x        [][]float32 // by feature and measured configuration, in their order
	seen     int         // measured configurations that x has
	row      []float32
}

func newSamples(f *features) *samples {
	return &samples{features: f, row: make([]float32, f.n()), x: make([][]float32, f.n())}
}

// of are the features of a configuration, until the next call.
func (s *samples) of(config int) []float32 {
	s.features.of(config, s.row)
	return s.row
}

func (s *samples) add(m *Measured) {
	for ; s.seen < len(m.Order); s.seen++ {
		for j, v := range s.of(m.Order[s.seen]) {
			s.x[j] = append(s.x[j], v)
		}
	}
}

// trees suggests configurations by a forest over everything measured.
type trees struct {
	*samples
	forest forest
}

func newTrees(rng *rand.Rand, s *samples) *trees { return &trees{s, forest{rng: rng}} }

// improve returns the candidate with the largest expected improvement under a
// forest in which failures share the lowest score.
func (t *trees) improve(m *Measured) int {
	t.add(m)
	y := Scores(m.costsOf(m.Order))
	t.forest.grow(t.x, y)
	best := slices.Max(y)
	at, most := -1, -1.0
	consider := func(c int) {
		if m.Known(c) {
			return
		}
		mean, sd := t.forest.predict(t.of(c))
		if gain := gp.Improvement(mean-best, sd); gain > most {
			at, most = c, gain
		}
	}
	for range forestCandidates {
		consider(t.forest.rng.IntN(m.Space.Len()))
	}
	for _, c := range m.Space.AppendNeighbours(nil, m.Best) {
		consider(c)
	}
	return at
}
