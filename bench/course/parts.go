package course

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Part is a load at a rate under some deciders. A course is a list of them.
type Part struct {
	Load     Load
	Rate     float64 // of the capacity; 0: the load has none
	Deciders []Contestant
	Span     time.Duration // in which work arrives in a cell
}

// Grid is every load at every rate under every decider.
func Grid(loads []Load, rates []float64, deciders []Contestant, span time.Duration) (parts []Part) {
	for _, l := range loads {
		of := rates
		if !l.rated() {
			of = []float64{0}
		}
		for _, rate := range of {
			parts = append(parts, Part{Load: l, Rate: rate, Deciders: deciders, Span: span})
		}
	}
	return parts
}

// Rates of the goals: near the capacity, and beyond it.
const (
	nearCapacity   = 0.9
	beyondCapacity = 1.2
)

// Goals is a list with a figure for every goal, the most telling ones first. Every load is played near the
// capacity, three also beyond it, four also by the clairvoyant, mixes also without a choice between queues.
// Shares between tenants want cells of twice the span.
func Goals(span time.Duration) (parts []Part) {
	others := []string{"reference", "fill", "batching", "aimd"}
	all := append([]string{"warm", "cold", "off"}, others...)
	add := func(span time.Duration, rate float64, deciders []string, loads ...string) {
		parts = append(parts, Grid(must(Find(loads)), []float64{rate}, must(FindContestants(deciders)), span)...)
	}
	add(span, nearCapacity, append(slices.Clone(all), "clairvoyant"), "steady-heavy")
	mixes := append(slices.Clone(all), "fifo")
	add(span, nearCapacity, all, "alone")
	add(span, nearCapacity, mixes, "urgent")
	add(2*span, nearCapacity, mixes, "tenants", "flood")
	add(span, nearCapacity, append(slices.Clone(all), "clairvoyant"), "steady-skewed", "steady-light", "trace")
	add(span, beyondCapacity, append([]string{"warm"}, others...), "steady-heavy", "steady-skewed", "steady-light")
	add(span, nearCapacity, all, "bursty-heavy", "bursty-skewed", "ramp-heavy", "ramp-skewed", "step-heavy", "step-skewed")
	add(span, nearCapacity, all, "bursty-light", "ramp-light", "step-light")
	return parts
}

// must is for names that this package has written itself.
func must[T any](found T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("bug: %v", err))
	}
	return found
}

// learnRate is the rate at which tuners learn a load and geometries are swept: the largest of its parts below
// the capacity, or the least one.
func (c *Config) learnRate(load string) (rate float64) {
	for _, p := range c.Parts {
		if p.Load.Name != load {
			continue
		}
		if rate == 0 || p.Rate < 1 && (rate >= 1 || p.Rate > rate) || p.Rate >= 1 && p.Rate < rate {
			rate = p.Rate
		}
	}
	return rate
}

// need is what has to be known before the cells of a part that are not known can be played.
type need struct {
	cells             int
	train             bool // what a tuner learns of the load
	sweep, everySweep bool // the best geometry for it, or for every load
}

// needs of a part, where some cells are known.
func (p *Part) needs(known map[key]bool, rounds int) (n need) {
	for _, d := range p.Deciders {
		cells := 0
		for round := range rounds {
			if !known[key{p.Load.Name, p.Rate, d.Name, round}] {
				cells++
			}
		}
		if n.cells += cells; cells > 0 {
			n.train, n.sweep, n.everySweep = n.train || d.trains, n.sweep || d.sweeps, n.everySweep || d.hindsight
		}
	}
	return n
}

// trainedDir has what the tuner learned of a load.
func (c *Config) trainedDir(l *Load) string { return filepath.Join(c.Dir, "trained-"+l.Name) }

// trained reports whether an earlier call has trained the tuner on a load.
func (c *Config) trained(l *Load) bool {
	_, err := os.Stat(c.trainedDir(l))
	return err == nil
}
