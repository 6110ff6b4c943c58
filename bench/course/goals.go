package course

import (
	"fmt"
	"math"
	"slices"
)

// Goal is a figure that a course is run for.
type Goal struct {
	Name    string    `json:"goal"`
	At      string    `json:"at"` // load and rate, or what it is a mean over
	Value   *Interval `json:"value"`
	Most    float64   `json:"at_most,omitempty"`
	Least   float64   `json:"at_least,omitempty"`
	Verdict string    `json:"verdict"` // met, missed or open
}

// Verdicts. A goal is open where the interval has the bound in it.
const (
	met    = "met"
	missed = "missed"
	open   = "open"
)

// Bounds of the goals.
const (
	goalOnline      = 1.05 // ours warm, p99 over the best of the other online deciders
	goalBusy        = 0.9  // the same, on at least goalBusyLoads of the loads that keep the device busy
	goalBusyLoads   = 0.5
	goalCold        = 1.2  // ours from a cold cache, p99 over ours without tuner
	goalThroughput  = 1.0  // over the best other decider, beyond the capacity
	goalClairvoyant = 1.15 // p99, mean
	goalUrgent      = 3.0  // p99 of urgent work beside a backlog, over alone
	goalBacklog     = 0.9  // throughput of the backlog beside it, over alone
	goalTenants     = 0.8  // share of the device's time, least over most
	goalFlood       = 2.0  // p99 of the others while one floods, over that of equals
)

func (s *Summary) add(name, at string, value *Interval, most, least float64) {
	if value == nil {
		return
	}
	g := Goal{Name: name, At: at, Value: value, Most: most, Least: least, Verdict: open}
	bounded := value.Pairs != 1
	switch {
	case most > 0 && bounded && value.High <= most, least > 0 && value.Low >= least:
		g.Verdict = met
	case most > 0 && value.Low > most, least > 0 && bounded && value.High < least:
		g.Verdict = missed
	}
	s.Goals = append(s.Goals, g)
}

// exactly is a value that was counted.
func exactly(v float64) *Interval { return &Interval{Mean: v, Low: v, High: v} }

// place is a load at a rate.
type place struct {
	load string
	rate float64
}

func (p place) String() string {
	if p.rate == 0 {
		return p.load
	}
	return fmt.Sprintf("%s at %v", p.load, p.rate)
}

// goals are those for which there are figures.
func (s *Summary) goals() {
	var places []place
	for _, r := range s.Rows {
		if p := (place{r.Load, r.Rate}); len(places) == 0 || places[len(places)-1] != p {
			places = append(places, p)
		}
	}
	busy, won := 0.0, 0.0
	for _, p := range places {
		if over := s.against(p); over != nil && keepsBusy(p.load) {
			if busy++; over.Mean <= goalBusy {
				won++
			}
		}
	}
	if busy > 0 {
		s.add(fmt.Sprintf("%s, share of busy loads at %v or less", s.Ours, goalBusy), fmt.Sprintf("%.0f loads and rates", busy), exactly(won/busy), 0, goalBusyLoads)
	}
	s.clairvoyance()
	for _, p := range places {
		s.fairness(p)
	}
}

// keepsBusy reports whether a load has work that takes the device long.
func keepsBusy(name string) bool {
	loads, err := Find([]string{name})
	return err == nil && slices.ContainsFunc(loads[0].Streams, func(s Stream) bool { return s.Kind != Light })
}

// against compares ours with online deciders and with ours without tuner. It returns the first ratio, nil if
// there is none.
func (s *Summary) against(p place) *Interval {
	var best, bestRate *Interval // ours over the best of the others
	for _, c := range Contestants() {
		r := s.find(p.load, p.rate, c.Name)
		if r == nil || !c.Online || r.P99Ratio == nil {
			continue
		}
		if best == nil || r.P99Ratio.Mean > best.Mean {
			best = r.P99Ratio
		}
		if bestRate == nil || r.RateRatio.Mean < bestRate.Mean {
			bestRate = r.RateRatio
		}
	}
	s.add(s.Ours+", p99 over the best online decider", p.String(), best, goalOnline, 0)
	if p.rate > 1 {
		s.add(s.Ours+", throughput over the best online decider", p.String(), bestRate, 0, goalThroughput)
	}
	s.add("cold, p99 over off", p.String(), s.pairs(p, "cold", p, "off", (*Cell).p99), goalCold, 0)
	return best
}

// pairs is the ratio of what one decider made of a load to what another made of another, by round.
func (s *Summary) pairs(p place, one string, q place, other string, value func(*Cell) float64) *Interval {
	var pairs [][2]float64
	for k, c := range s.cells {
		if k.load != p.load || k.rate != p.rate || k.decider != one || c.Error != "" {
			continue
		}
		o := s.cells[key{q.load, q.rate, other, k.round}]
		if o != nil && o.Error == "" && o.Seed == c.Seed {
			pairs = append(pairs, [2]float64{value(c), value(o)})
		}
	}
	return ratioOf(pairs)
}

// clairvoyance is the geometric mean over loads and rates, with the interval of that mean.
func (s *Summary) clairvoyance() {
	var pairs [][2]float64
	for _, r := range s.Rows {
		if r.Decider == "clairvoyant" && r.P99Ratio != nil {
			pairs = append(pairs, [2]float64{r.P99Ratio.Mean, 1})
		}
	}
	s.add(s.Ours+", p99 over the clairvoyant", fmt.Sprintf("mean of %d", len(pairs)), ratioOf(pairs), goalClairvoyant, 0)
}

// p99Of is the 99th percentile of a class, NaN without it.
func p99Of(class string) func(*Cell) float64 {
	return func(c *Cell) float64 {
		for _, k := range c.Classes {
			if k.Name == class {
				return k.P99
			}
		}
		return math.NaN()
	}
}

// fairness is what mixes are for, of each of ours.
func (s *Summary) fairness(p place) {
	throughput := func(c *Cell) float64 { return c.Throughput }
	for _, c := range Contestants() {
		if !c.ours {
			continue
		}
		switch p.load {
		case "urgent":
			s.add(c.Name+", urgent p99 over alone", p.String(), s.pairs(p, c.Name, place{"alone", 0}, c.Name, p99Of("urgent")), goalUrgent, 0)
			s.add(c.Name+", throughput over the backlog's alone", p.String(), s.pairs(p, c.Name, place{"steady-heavy", p.rate}, c.Name, throughput), 0, goalBacklog)
		case "tenants":
			s.add(c.Name+", device time, least over most tenant", p.String(), s.shared(p, c.Name), 0, goalTenants)
		case "flood":
			s.add(c.Name+", the others' p99 over that of equals", p.String(), s.pairs(p, c.Name, place{"tenants", p.rate}, c.Name, p99Of("tenants")), goalFlood, 0)
		}
	}
}

// shared is the least share of the device's time of a queue over the most.
func (s *Summary) shared(p place, decider string) *Interval {
	var pairs [][2]float64
	for k, c := range s.cells {
		if k.load == p.load && k.rate == p.rate && k.decider == decider && c.Error == "" {
			pairs = append(pairs, [2]float64{c.even(), 1})
		}
	}
	return ratioOf(pairs)
}
