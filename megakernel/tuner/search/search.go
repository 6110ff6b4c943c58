package search

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"ringmaster/megakernel/tuner/natural"
	"ringmaster/megakernel/tuner/space"
)

// Searcher proposes configurations and learns from their cost.
type Searcher interface {
	// Ask returns the configuration to measure next, by its number in the
	// space; false when every configuration was measured. Asking again
	// without telling is allowed and may return the same configuration.
	Ask() (config int, ok bool)
	// Tell reports the cost of a configuration: above zero, in any unit, lower
	// being better, or Failed. It may be one that was not asked for. One that was
	// told before gets the new cost.
	Tell(config int, cost float64)
}

// Failed is the cost of a configuration that does not build or run.
var Failed = math.Inf(1)

// ErrStrategy says that no strategy has the name given or that it cannot work
// with the options.
var ErrStrategy = errors.New("search: unusable strategy")

// Default is the strategy for a space about which nothing is known.
const Default = "mixture"

// Options are the inputs of a search beside its measurements.
type Options struct {
	Seed uint64
	// Budget is the number of measurements that will be made. annealing and joint
	// cool down over it; the others ignore it. 0 or less means 100.
	Budget int
	// History are recordings of the same kernel on other devices.
	History []*space.Recording
	// Device names where the search runs. Recordings from devices of the same
	// maker count for more.
	Device string
	// Steps runs the integer steps of the joint policy; nil means on the host.
	Steps natural.Engine
}

// Classic are the searches without a model, the yardsticks for the others.
var Classic = []string{"random", "local", "annealing", "genetic"}

var strategies = map[string]func(*space.Space, Options) Searcher{
	"random":    newRandom,
	"local":     newLocal,
	"annealing": newAnnealing,
	"genetic":   newGenetic,
	"natural":   newNatural,
	"joint":     newJoint,
	"gaussian":  newGaussian,
	"trees":     newTrees,
	"mixture":   newMixture,
	"rank":      newRank,
	"warm":      newWarm,
}

// Strategies are the names that New knows, sorted.
func Strategies() []string {
	var names []string
	for name := range strategies {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// New returns a searcher of the named strategy. The error wraps ErrStrategy.
func New(strategy string, s *space.Space, o Options) (Searcher, error) {
	make, ok := strategies[strategy]
	if !ok {
		return nil, fmt.Errorf("%w: %q is none of %v", ErrStrategy, strategy, Strategies())
	}
	if (strategy == "rank" || strategy == "warm") && len(o.History) == 0 {
		return nil, fmt.Errorf("%w: %s needs recordings of the kernel", ErrStrategy, strategy)
	}
	if o.Budget <= 0 {
		o.Budget = 100
	}
	return make(s, o), nil
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)) }

// told are the measurements of a search.
type told struct {
	space *space.Space
	costs []float64 // NaN: unknown
	order []int     // configurations in the order of their first measurement
	best  int       // cheapest configuration, -1 if none ran
}

func newTold(s *space.Space) told {
	t := told{space: s, costs: make([]float64, s.Len()), best: -1}
	for i := range t.costs {
		t.costs[i] = math.NaN()
	}
	return t
}

func (t *told) known(config int) bool { return !math.IsNaN(t.costs[config]) }

func (t *told) full() bool { return len(t.order) == t.space.Len() }

// record notes a cost and reports whether the configuration is new.
func (t *told) record(config int, cost float64) bool {
	if !(cost > 0) {
		cost = Failed // NaN, zero and below are no measurements
	}
	fresh := !t.known(config)
	t.costs[config] = cost
	if fresh {
		t.order = append(t.order, config)
	}
	if config == t.best && !fresh { // it may have become dearer
		t.best = -1
		for _, c := range t.order {
			t.better(c)
		}
	}
	t.better(config)
	return fresh
}

func (t *told) better(config int) {
	if cost := t.costs[config]; !math.IsInf(cost, 1) && (t.best < 0 || cost < t.costs[t.best]) {
		t.best = config
	}
}

// unseen draws configurations that were not measured, each equally likely.
type unseen struct {
	rng   *rand.Rand
	order []int32 // a permutation, shuffled as far as it was drawn
	next  int
}

func newUnseen(rng *rand.Rand, n int) *unseen {
	u := &unseen{rng: rng, order: make([]int32, n)}
	for i := range u.order {
		u.order[i] = int32(i)
	}
	return u
}

// draw returns an unmeasured configuration without using it up, or -1.
func (u *unseen) draw(t *told) int {
	for u.next < len(u.order) {
		i := u.next + u.rng.IntN(len(u.order)-u.next)
		u.order[u.next], u.order[i] = u.order[i], u.order[u.next]
		c := int(u.order[u.next])
		if !t.known(c) {
			return c
		}
		u.next++
	}
	return -1
}
