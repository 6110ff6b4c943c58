package course

import (
	"fmt"
	"math"
)

// Goal is a figure that a course is run for.
type Goal struct {
	Name  string  `json:"goal"`
	At    string  `json:"at"` // load and rate, or what it is a mean over
	Value float64 `json:"value"`
	Most  float64 `json:"at_most,omitempty"`
	Least float64 `json:"at_least,omitempty"`
	Met   bool    `json:"met"`
}

// Bounds of the goals.
const (
	goalOnline      = 1.05 // ours warm, p99 over the best of the other online deciders
	goalCold        = 1.2  // ours from a cold cache, p99 over ours without tuner
	goalThroughput  = 1.0  // over the best other decider, beyond the capacity
	goalClairvoyant = 1.15 // p99, mean
	goalUrgent      = 3.0  // p99 of urgent work beside a backlog, over alone
	goalBacklog     = 0.9  // throughput of the backlog beside it, over alone
	goalTenants     = 0.8  // share of the device's time, least over most
	goalFlood       = 2.0  // p99 of the others while one floods, over that of equals
)

func (s *Summary) add(name, at string, value, most, least float64) {
	if math.IsNaN(value) {
		return
	}
	s.Goals = append(s.Goals, Goal{
		Name: name, At: at, Value: value, Most: most, Least: least,
		Met: most > 0 && value <= most || least > 0 && value >= least,
	})
}

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
	for _, p := range places {
		s.against(p)
	}
	s.clairvoyance()
	for _, p := range places {
		s.fairness(p)
	}
}

// against compares ours with online deciders and with ours without tuner.
func (s *Summary) against(p place) {
	best, bestRate := math.NaN(), math.NaN() // ours over the best of the others
	for _, c := range Contestants() {
		r := s.find(p.load, p.rate, c.Name)
		if r == nil || !c.Online || r.P99Ratio == nil {
			continue
		}
		if !(best > r.P99Ratio.Mean) {
			best = r.P99Ratio.Mean
		}
		if !(bestRate < r.RateRatio.Mean) {
			bestRate = r.RateRatio.Mean
		}
	}
	s.add(s.Ours+", p99 over the best online decider", p.String(), best, goalOnline, 0)
	if p.rate > 1 {
		s.add(s.Ours+", throughput over the best online decider", p.String(), bestRate, 0, goalThroughput)
	}
	if cold := s.pairs(p, "cold", "off"); cold != nil {
		s.add("cold, p99 over off", p.String(), cold.Mean, goalCold, 0)
	}
}

// pairs is the ratio of the 99th percentiles of two deciders.
func (s *Summary) pairs(p place, one, other string) *Interval {
	var pairs [][2]float64
	for k, c := range s.cells {
		if k.load != p.load || k.rate != p.rate || k.decider != one || c.Error != "" {
			continue
		}
		k.decider = other
		if o := s.cells[k]; o != nil && o.Error == "" && o.Seed == c.Seed {
			pairs = append(pairs, [2]float64{c.p99(), o.p99()})
		}
	}
	return ratioOf(pairs)
}

// clairvoyance is the geometric mean over loads and rates.
func (s *Summary) clairvoyance() {
	sum, n := 0.0, 0.0
	for _, r := range s.Rows {
		if r.Decider == "clairvoyant" && r.P99Ratio != nil {
			sum, n = sum+math.Log(r.P99Ratio.Mean), n+1
		}
	}
	s.add(s.Ours+", p99 over the clairvoyant", fmt.Sprintf("mean of %.0f", n), math.Exp(sum/n), goalClairvoyant, 0)
}

// fairness is what mixes are for, of each of ours.
func (s *Summary) fairness(p place) {
	for _, c := range Contestants() {
		r := s.find(p.load, p.rate, c.Name)
		if r == nil || !c.ours {
			continue
		}
		switch p.load {
		case "urgent":
			if alone := s.find("alone", 0, c.Name); alone != nil && r.class("urgent") != nil {
				s.add(c.Name+", urgent p99 over alone", p.String(), r.class("urgent").P99/alone.class("urgent").P99, goalUrgent, 0)
			}
			if alone := s.find("steady-heavy", p.rate, c.Name); alone != nil {
				s.add(c.Name+", throughput over the backlog's alone", p.String(), r.Throughput/alone.Throughput, 0, goalBacklog)
			}
		case "tenants":
			s.add(c.Name+", device time, least over most tenant", p.String(), r.Even, 0, goalTenants)
		case "flood":
			if equal := s.find("tenants", p.rate, c.Name); equal != nil && r.class("tenants") != nil {
				s.add(c.Name+", the others' p99 over that of equals", p.String(), r.class("tenants").P99/equal.class("tenants").P99, goalFlood, 0)
			}
		}
	}
}
