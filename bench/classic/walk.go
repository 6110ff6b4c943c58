package classic

import (
	"math"
	"math/rand/v2"

	"ringmaster/megakernel/tuner/search"
	"ringmaster/megakernel/tuner/space"
)

// walker is a classic search: it proposes a configuration and absorbs its cost
// before it proposes the next.
type walker interface {
	propose() int
	absorb(config int, cost float64)
}

// repeats is how many known configurations in a row a walker may visit, at no
// cost, before it is given an unmeasured one.
const repeats = 2_000

// walk runs a walker. A configuration that it proposes again is answered from
// memory, so that measurements are only spent on unknown ones. This favours the
// classic searches.
type walk struct {
	search.Measured
	walker
	fresh   *search.Unseen
	pending int // proposed and not yet told, or -1
}

func newWalk(s *space.Space, rng *rand.Rand) *walk {
	return &walk{Measured: search.NewMeasured(s), fresh: search.NewUnseen(rng, s.Len()), pending: -1}
}

func (w *walk) Ask() (int, bool) {
	if w.Full() {
		return 0, false
	}
	for range repeats {
		if w.pending < 0 {
			w.pending = w.propose()
		}
		if !w.Known(w.pending) {
			return w.pending, true
		}
		c := w.pending
		w.pending = -1
		w.absorb(c, w.Costs[c])
	}
	w.pending = w.fresh.Draw(&w.Measured)
	return w.pending, true
}

func (w *walk) Tell(config int, cost float64) {
	w.Record(config, cost)
	if config == w.pending {
		w.pending = -1
		w.absorb(config, w.Costs[config])
	}
}

// random measures configurations in random order.
type random struct{ *walk }

func newRandom(s *space.Space, o Options) Searcher {
	w := newWalk(s, search.Generator(o.Seed))
	w.walker = random{w}
	return w
}

func (r random) propose() int        { return max(0, r.fresh.Draw(&r.Measured)) }
func (r random) absorb(int, float64) {}

// local is greedy iterated local search: it moves to the first neighbour that is
// better; from a local optimum it goes back to the best one and jumps a few
// parameters away.
type local struct {
	*walk
	rng     *rand.Rand
	current int
	cost    float64
	around  []int // neighbours still to visit
	started bool
	home    int     // best of the descents so far
	least   float64 // its cost
}

// kick is the number of parameters that a jump changes.
const kick = 3

func newLocal(s *space.Space, o Options) Searcher {
	rng := search.Generator(o.Seed)
	w := newWalk(s, rng)
	w.walker = &local{walk: w, rng: rng, cost: math.Inf(1), least: math.Inf(1)}
	return w
}

func (l *local) propose() int {
	if !l.started || math.IsInf(l.cost, 1) {
		return l.rng.IntN(l.Space.Len())
	}
	if len(l.around) == 0 {
		if l.cost < l.least {
			l.home, l.least = l.current, l.cost
		}
		l.cost = math.Inf(1) // wherever the jump lands is accepted
		return l.jump()
	}
	last := len(l.around) - 1
	i := l.rng.IntN(last + 1)
	l.around[i], l.around[last] = l.around[last], l.around[i]
	return l.around[last]
}

func (l *local) jump() int {
	at := l.home
	for range kick {
		near := l.Space.AppendNeighbours(nil, at)
		if len(near) == 0 {
			return l.rng.IntN(l.Space.Len())
		}
		at = near[l.rng.IntN(len(near))]
	}
	return at
}

func (l *local) absorb(config int, cost float64) {
	if n := len(l.around); n > 0 && l.around[n-1] == config {
		l.around = l.around[:n-1]
	}
	if cost < l.cost {
		l.started, l.current, l.cost = true, config, cost
		l.around = l.Space.AppendNeighbours(l.around[:0], config)
	}
}

// annealing is simulated annealing over the logarithm of the cost, with a
// temperature that falls geometrically over the budget.
type annealing struct {
	*walk
	rng     *rand.Rand
	budget  int
	current int   // -1: none
	near    []int // its neighbours
}

// hot and cold are the first and the last temperature: rises of the logarithm of
// the cost that are accepted with probability 1/e.
const (
	hot  = .5
	cold = .005
)

func newAnnealing(s *space.Space, o Options) Searcher {
	rng := search.Generator(o.Seed)
	w := newWalk(s, rng)
	w.walker = &annealing{walk: w, rng: rng, budget: o.Budget, current: -1}
	return w
}

func (a *annealing) propose() int {
	if a.current < 0 {
		return a.rng.IntN(a.Space.Len())
	}
	if len(a.near) == 0 {
		return a.rng.IntN(a.Space.Len())
	}
	return a.near[a.rng.IntN(len(a.near))]
}

func (a *annealing) absorb(config int, cost float64) {
	if math.IsInf(cost, 1) {
		return
	}
	if a.current >= 0 {
		done := min(1, float64(len(a.Order))/float64(a.budget))
		temperature := hot * math.Pow(cold/hot, done)
		rise := math.Log(cost / a.Costs[a.current])
		if a.rng.Float64() >= math.Exp(-rise/temperature) {
			return
		}
	}
	if config != a.current {
		a.current = config
		a.near = a.Space.AppendNeighbours(a.near[:0], config)
	}
}
