package classic

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"ringmaster/megakernel/tuner/search"
	"ringmaster/megakernel/tuner/space"
)

// genetic is a genetic algorithm with tournament selection, uniform crossover
// and mutation of single parameters; of parents and children the better half
// survives.
type genetic struct {
	*walk
	rng        *rand.Rand
	population []individual
	children   []individual
	levels     []uint16
}

type individual struct {
	config int
	cost   float64
}

const (
	populationSize = 16
	mutation       = .15 // probability for each parameter
)

func newGenetic(s *space.Space, o Options) Searcher {
	rng := search.Generator(o.Seed)
	w := newWalk(s, rng)
	w.walker = &genetic{walk: w, rng: rng, levels: make([]uint16, len(s.Params()))}
	return w
}

func (g *genetic) propose() int {
	if len(g.population) == 0 {
		return g.fresh.Draw(&g.Measured)
	}
	a, b := g.Space.Levels(g.parent()), g.Space.Levels(g.parent())
	for range 20 { // a child may not be a valid configuration
		for j := range g.levels {
			g.levels[j] = a[j]
			if g.rng.IntN(2) == 0 {
				g.levels[j] = b[j]
			}
			if g.rng.Float64() < mutation {
				g.levels[j] = uint16(g.rng.IntN(len(g.Space.Params()[j].Values)))
			}
		}
		if c, ok := g.Space.Find(g.levels); ok {
			return c
		}
	}
	return g.rng.IntN(g.Space.Len())
}

// parent wins a tournament of two.
func (g *genetic) parent() int {
	a, b := g.population[g.rng.IntN(len(g.population))], g.population[g.rng.IntN(len(g.population))]
	if b.cost < a.cost {
		a = b
	}
	return a.config
}

func (g *genetic) absorb(config int, cost float64) {
	g.children = append(g.children, individual{config, cost})
	if len(g.children) < min(populationSize, g.Space.Len()) {
		return
	}
	all := append(g.population, g.children...)
	slices.SortStableFunc(all, func(a, b individual) int { return cmp.Compare(a.cost, b.cost) })
	all = slices.CompactFunc(all, func(a, b individual) bool { return a.config == b.config })
	g.population = slices.Clone(all[:min(populationSize, len(all))])
	g.children = g.children[:0]
}
