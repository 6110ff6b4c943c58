package course

import (
	"cmp"
	"math"
	"slices"

	"ringmaster/bench/course/interval"
)

// Row is what a decider made of a load at a rate: medians over rounds.
type Row struct {
	Load    string  `json:"load"`
	Rate    float64 `json:"rate"`
	Decider string  `json:"decider"`
	Rounds  int     `json:"rounds"`
	Failed  int     `json:"failed"` // rounds without figures

	Classes    []Class `json:"classes"`
	Throughput float64 `json:"slots_per_second"`
	Busy       float64 `json:"device_share"`
	Even       float64 `json:"least_over_most_share"` // of the device's time, over the queues
	Launches   float64 `json:"launches"`
	Decisions  float64 `json:"decisions"`
	Changes    float64 `json:"changes"`
	Changed    float64 `json:"changed"`

	// Ours over this decider: of the mean over classes of the 99th percentile, and of the throughput.
	P99Ratio  *Interval `json:"p99_ratio,omitempty"`
	RateRatio *Interval `json:"throughput_ratio,omitempty"`
}

// Interval is a ratio with the interval that holds it with 95 %. With one pair nothing bounds it: Low and High
// are 0 then.
type Interval struct {
	Mean  float64 `json:"mean"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Pairs int     `json:"pairs"`
}

// Summary is what came of a course.
type Summary struct {
	Ours  string `json:"ours"` // the decider that the others are compared with
	Rows  []Row  `json:"rows"`
	Goals []Goal `json:"goals"`

	cells map[key]*Cell
}

// Summarize compares one decider with all others.
func Summarize(records []Record, ours string) *Summary {
	s := &Summary{Ours: ours, cells: make(map[key]*Cell)}
	groups := make(map[key][]*Cell) // by all but the round
	var order []key
	for i := range records {
		c := records[i].Cell
		if c == nil {
			continue
		}
		k := keyOf(c)
		s.cells[k] = c
		k.round = 0
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], c)
	}
	slices.SortStableFunc(order, byPlace)
	for _, k := range order {
		s.Rows = append(s.Rows, s.row(k, groups[k]))
	}
	s.goals()
	return s
}

// byPlace orders rows as the course's lists do.
func byPlace(a, b key) int {
	loads, deciders := Loads(), Contestants()
	load := func(name string) int { return slices.IndexFunc(loads, func(l Load) bool { return l.Name == name }) }
	place := func(name string) int {
		return slices.IndexFunc(deciders, func(c Contestant) bool { return c.Name == name })
	}
	return cmp.Or(cmp.Compare(load(a.load), load(b.load)), cmp.Compare(a.rate, b.rate), cmp.Compare(place(a.decider), place(b.decider)))
}

func (s *Summary) row(k key, cells []*Cell) Row {
	row := Row{Load: k.load, Rate: k.rate, Decider: k.decider}
	var good []*Cell
	for _, c := range cells {
		if c.Error != "" {
			row.Failed++
			continue
		}
		good = append(good, c)
	}
	if row.Rounds = len(good); row.Rounds == 0 {
		return row
	}
	of := func(value func(*Cell) float64) float64 { return medianOf(good, value) }
	row.Throughput, row.Busy = of(func(c *Cell) float64 { return c.Throughput }), of(func(c *Cell) float64 { return c.Busy })
	row.Even = of((*Cell).even)
	row.Launches, row.Decisions = of(func(c *Cell) float64 { return float64(c.Launches) }), of(func(c *Cell) float64 { return float64(c.Decisions) })
	row.Changes, row.Changed = of(func(c *Cell) float64 { return float64(c.Changes) }), of(func(c *Cell) float64 { return float64(c.Changed) })
	for i, class := range good[0].Classes {
		at := func(c *Cell) *Class { return &c.Classes[min(i, len(c.Classes)-1)] }
		row.Classes = append(row.Classes, Class{
			Name: class.Name, Batches: int(of(func(c *Cell) float64 { return float64(at(c).Batches) })),
			P50: of(func(c *Cell) float64 { return at(c).P50 }), P99: of(func(c *Cell) float64 { return at(c).P99 }),
			Mean: of(func(c *Cell) float64 { return at(c).Mean }),
		})
	}
	if k.decider != s.Ours {
		row.P99Ratio = s.versus(k, cells, (*Cell).p99)
		row.RateRatio = s.versus(k, cells, func(c *Cell) float64 { return c.Throughput })
	}
	return row
}

// even is the least share of the device's time of a queue over the most.
func (c *Cell) even() float64 {
	least, most := math.Inf(1), 0.0
	for _, share := range c.Shares {
		least, most = min(least, share), max(most, share)
	}
	if most == 0 {
		return 0
	}
	return least / most
}

// versus is ours over the cells of another decider, in pairs by round; nil without pairs.
func (s *Summary) versus(k key, others []*Cell, value func(*Cell) float64) *Interval {
	var pairs [][2]float64
	for _, other := range others {
		mine := s.cells[key{k.load, k.rate, s.Ours, other.Round}]
		if mine != nil && mine.Error == "" && other.Error == "" && mine.Seed == other.Seed {
			pairs = append(pairs, [2]float64{value(mine), value(other)})
		}
	}
	return ratioOf(pairs)
}

// ratioOf is nil if there are no pairs.
func ratioOf(pairs [][2]float64) *Interval {
	r := interval.Of(pairs)
	if r.Pairs == 0 {
		return nil
	}
	i := &Interval{Mean: r.Mean, Low: r.Low, High: r.High, Pairs: r.Pairs}
	if math.IsInf(i.High, 1) {
		i.High = 0 // JSON has no infinity
	}
	return i
}

func medianOf(cells []*Cell, value func(*Cell) float64) float64 {
	var all []float64
	for _, c := range cells {
		all = append(all, value(c))
	}
	slices.Sort(all)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

// find is the row of a decider, nil if it has no figures.
func (s *Summary) find(load string, rate float64, decider string) *Row {
	i := slices.IndexFunc(s.Rows, func(r Row) bool { return r.Load == load && r.Rate == rate && r.Decider == decider && r.Rounds > 0 })
	if i < 0 {
		return nil
	}
	return &s.Rows[i]
}

// class is the latency of a class.
func (r *Row) class(name string) *Class {
	for i := range r.Classes {
		if r.Classes[i].Name == name {
			return &r.Classes[i]
		}
	}
	return nil
}
