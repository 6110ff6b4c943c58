package course

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Every goal has a figure in the goals' list, and the first goals have one of every load.
func TestTheGoalsListHasEveryGoal(t *testing.T) {
	var records []Record
	cells := make(map[key]bool)
	for _, p := range Goals(time.Second) {
		for _, d := range p.Deciders {
			for round := range 2 {
				c := Cell{Load: p.Load.Name, Rate: p.Rate, Decider: d.Name, Round: round, Seed: uint64(round), Throughput: 1, Shares: map[string]float64{"q": 1}}
				for _, s := range p.Load.Streams {
					if !slices.ContainsFunc(c.Classes, func(k Class) bool { return k.Name == s.Class }) {
						c.Classes = append(c.Classes, Class{Name: s.Class, Batches: 1, P50: 1, P99: 1})
					}
				}
				if cells[keyOf(&c)] {
					t.Errorf("%s at %v under %s is in the list twice", p.Load.Name, p.Rate, d.Name)
				}
				cells[keyOf(&c)] = true
				records = append(records, Record{Cell: &c})
			}
		}
	}
	s := Summarize(records, "warm")
	places := make(map[string]int)
	for _, g := range s.Goals {
		places[g.Name]++
	}
	for name, want := range map[string]int{
		"warm, p99 over the best online decider":        len(Loads()) + 3,
		"cold, p99 over off":                            len(Loads()),
		"warm, throughput over the best online decider": 3,
		"warm, share of busy loads at 0.9 or less":      1,
		"warm, p99 over the clairvoyant":                1,
		"warm, urgent p99 over alone":                   1,
		"cold, throughput over the backlog's alone":     1,
		"off, device time, least over most tenant":      1,
		"warm, the others' p99 over that of equals":     1,
		"cold, the others' p99 over that of equals":     1,
	} {
		if places[name] != want {
			t.Errorf("%s: %d figures, want %d", name, places[name], want)
		}
	}
}

// The table has a row a goal: the worst figure, and how many are met and missed.
func TestTheTableHasTheWorstFigureOfEachGoal(t *testing.T) {
	s := Summary{}
	s.add("one", "here", &Interval{Mean: 0.5, Low: 0.4, High: 0.6, Pairs: 3}, 1, 0)
	s.add("one", "there", &Interval{Mean: 3, Low: 2, High: 4, Pairs: 3}, 1, 0)
	s.add("one", "elsewhere", &Interval{Mean: 1, Low: 0.5, High: 2, Pairs: 3}, 1, 0)
	s.add("one", "far", &Interval{Mean: 9, Low: 0.5, High: 99, Pairs: 3}, 1, 0) // open, and so no worse than a miss
	s.add("two", "here", &Interval{Mean: 0.9, Low: 0.85, High: 0.95, Pairs: 3}, 0, 0.8)
	s.add("two", "there", &Interval{Mean: 0.85, Low: 0.7, High: 1, Pairs: 3}, 0, 0.8)
	want := strings.Join([]string{
		"| goal | wanted | value | |",
		"|---|---|---|---|",
		"| one | ≤ 1 | 3.00 (2.00 to 4.00), there; of 4 places 1 met, 1 missed | **missed** |",
		"| two | ≥ 0.8 | 0.85 (0.70 to 1.00), there; of 2 places 1 met, 0 missed | open |",
		"",
	}, "\n")
	if got := s.Table(); got != want {
		t.Errorf("%s", got)
	}
}

func TestTunersLearnBelowTheCapacity(t *testing.T) {
	load := Load{Name: "l", Streams: []Stream{{Weight: 1}}}
	for _, c := range []struct {
		rates []float64
		want  float64
	}{{[]float64{0.3, 0.9, 1.2}, 0.9}, {[]float64{1.2, 0.6}, 0.6}, {[]float64{2, 1.2}, 1.2}} {
		cfg := Config{Parts: append(Grid([]Load{load}, c.rates, nil, time.Second), Part{Load: Load{Name: "other"}, Rate: 0.95})}
		if got := cfg.learnRate("l"); got != c.want {
			t.Errorf("%v: %v, want %v", c.rates, got, c.want)
		}
	}
}

// What is known needs nothing: not to train, not to sweep.
func TestAPartNeedsWhatItsUnknownCellsNeed(t *testing.T) {
	deciders, err := FindContestants([]string{"warm", "off", "clairvoyant"})
	if err != nil {
		t.Fatal(err)
	}
	p := Part{Load: Load{Name: "l"}, Rate: 0.9, Deciders: deciders}
	known := make(map[key]bool)
	for _, c := range []struct {
		knows string
		want  need
	}{
		{"", need{cells: 6, train: true, sweep: true}},
		{"clairvoyant", need{cells: 4, train: true}},
		{"warm", need{cells: 2}},
		{"off", need{}},
	} {
		for round := range 2 {
			known[key{"l", 0.9, c.knows, round}] = true
		}
		if got := p.needs(known, 2); got != c.want {
			t.Errorf("%s known: %+v, want %+v", c.knows, got, c.want)
		}
	}
	if got := p.needs(known, 3); got != (need{cells: 3, train: true, sweep: true}) {
		t.Errorf("another round: %+v", got)
	}
}
