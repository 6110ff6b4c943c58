package course

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Plan says what a course will measure and about how long that takes.
type Plan struct {
	Cells   int           `json:"cells"`
	Known   int           `json:"known"` // cells of which the figures are there
	Prepare int           `json:"prepare"`
	Takes   time.Duration `json:"takes_ns"`
}

// startTakes is about what a rig takes from its start until the first moment, and to its end.
const startTakes = 700 * time.Millisecond

// Plan estimates a course.
func (c *Config) Plan() (p Plan) {
	capacities, sweeps, cells := make(map[string]bool), make(map[string]bool), make(map[key]bool)
	for _, rec := range c.Known {
		switch {
		case rec.Capacity != nil:
			capacities[rec.Capacity.Load] = true
		case rec.Sweep != nil:
			sweeps[rec.Sweep.Load] = true
		case rec.Cell != nil && rec.Cell.Error == "":
			cells[keyOf(rec.Cell)] = true
		}
	}
	trained := make(map[string]bool)
	capacity := func(l *Load) {
		if name := l.measured(); l.rated() && !capacities[name] {
			capacities[name] = true
			p.prepare(2, c.Measure)
		}
	}
	for i := range c.Parts {
		part := &c.Parts[i]
		l := &part.Load
		need := part.needs(cells, c.Rounds)
		all := len(part.Deciders) * c.Rounds
		p.Cells, p.Known = p.Cells+all, p.Known+all-need.cells
		if need.cells == 0 {
			continue
		}
		capacity(l)
		if need.train && !trained[l.Name] && !c.trained(l) {
			trained[l.Name] = true
			p.prepare(1, c.Train)
		}
		for j := range c.Parts {
			if other := &c.Parts[j].Load; !sweeps[other.Name] && (need.everySweep || need.sweep && other.Name == l.Name) {
				sweeps[other.Name] = true
				capacity(other)
				p.prepare(2*c.Sweeps, c.Sweep)
			}
		}
		queued := time.Duration(max(part.Rate-1, 0) * float64(part.Span)) // what is beyond the capacity comes after
		p.Takes += time.Duration(need.cells) * (part.Span + queued + startTakes)
	}
	return p
}

func (p *Plan) prepare(times int, each time.Duration) {
	p.Prepare += times
	p.Takes += time.Duration(times) * (each + startTakes)
}

func (p Plan) String() string {
	return fmt.Sprintf("%d cells, %d of them known, after %d runs that prepare them: about %v, and longer where work queues up",
		p.Cells, p.Known, p.Prepare, p.Takes.Round(time.Second))
}

// String is one line about what was measured.
func (r Record) String() string {
	switch {
	case r.Capacity != nil:
		return fmt.Sprintf("capacity of %s: %s slots/s", r.Capacity.Load, short(r.Capacity.SlotsPerSecond))
	case r.Sweep != nil:
		return fmt.Sprintf("best of %d geometries for %s: %v", len(r.Sweep.Tried), r.Sweep.Load, r.Sweep.Best)
	case r.Cell == nil:
		return "nothing"
	}
	c := r.Cell
	at := fmt.Sprintf("%v, round %d, %s: ", place{c.Load, c.Rate}, c.Round+1, c.Decider)
	if c.Error != "" {
		return at + c.Error
	}
	return at + latencies(c.Classes) + fmt.Sprintf(", %s slots/s", short(c.Throughput))
}

// latencies are p50 / p99 of each class in milliseconds.
func latencies(classes []Class) string {
	var all []string
	for _, c := range classes {
		all = append(all, fmt.Sprintf("%s %s / %s ms", c.Name, digits(c.P50), digits(c.P99)))
	}
	return strings.Join(all, ", ")
}

// Text writes the summary for people.
func (s *Summary) Text(to io.Writer) error {
	if len(s.Rows) == 0 {
		return nil
	}
	out := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "load\trate\tdecider\tp50 / p99 of submit → done\tslots/s\tdevice\tlaunches\tdecisions\tchanges\t%s's p99 over it\tthroughput\n", s.Ours)
	for i := range s.Rows {
		r := &s.Rows[i]
		if r.Rounds == 0 {
			fmt.Fprintf(out, "%s\t%v\t%s\tfailed %d times\n", r.Load, r.Rate, r.Decider, r.Failed)
			continue
		}
		fmt.Fprintf(out, "%s\t%v\t%s\t%s\t%s\t%.0f %%\t%.0f\t%.0f\t%.0f\t%v\t%v\n", r.Load, r.Rate, r.Decider, latencies(r.Classes),
			short(r.Throughput), 100*r.Busy, r.Launches, r.Decisions, r.Changes, r.P99Ratio, r.RateRatio)
	}
	if err := out.Flush(); err != nil || len(s.Goals) == 0 {
		return err
	}
	_, err := fmt.Fprintf(to, "\n%s", s.Table())
	return err
}

// Table is a row for each goal, in Markdown, as docs/course.md has it: the worst of its figures.
func (s *Summary) Table() string {
	var b strings.Builder
	b.WriteString("| goal | wanted | value | |\n|---|---|---|---|\n")
	for i := range s.Goals {
		g := &s.Goals[i]
		if slices.ContainsFunc(s.Goals[:i], func(before Goal) bool { return before.Name == g.Name }) {
			continue
		}
		wanted := fmt.Sprintf("≤ %v", g.Most)
		if g.Most == 0 {
			wanted = fmt.Sprintf("≥ %v", g.Least)
		}
		value, verdict := s.worst(g.Name)
		if verdict == missed {
			verdict = "**missed**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", g.Name, wanted, value, verdict)
	}
	return b.String()
}

// worst is the figure of a goal that is farthest from what is wanted, of those that miss it if there are any, and
// the verdict on all of them: a goal that is missed somewhere is missed, one that is met everywhere is met.
func (s *Summary) worst(name string) (value, verdict string) {
	var worst *Goal
	count := make(map[string]int) // by verdict
	for i := range s.Goals {
		g := &s.Goals[i]
		if g.Name != name {
			continue
		}
		if count[g.Verdict]++; worst == nil || g.worse(worst) {
			worst = g
		}
	}
	value = fmt.Sprintf("%v, %s", worst.Value, worst.At)
	if all := count[met] + count[missed] + count[open]; all > 1 {
		value += fmt.Sprintf("; of %d places %d met, %d missed", all, count[met], count[missed])
	}
	return value, worst.Verdict
}

// worse reports whether a figure is farther from what is wanted than another one of the same goal.
func (g *Goal) worse(than *Goal) bool {
	ranks := map[string]int{met: 0, open: 1, missed: 2}
	if g.Verdict != than.Verdict {
		return ranks[g.Verdict] > ranks[than.Verdict]
	}
	if g.Most > 0 {
		return g.Value.Mean > than.Value.Mean
	}
	return g.Value.Mean < than.Value.Mean
}

// String is the ratio with its interval.
func (i *Interval) String() string {
	switch {
	case i == nil:
		return "-"
	case i.Pairs == 1 || i.Low == i.High:
		return digits(i.Mean)
	}
	return fmt.Sprintf("%s (%s to %s)", digits(i.Mean), digits(i.Low), digits(i.High))
}

// digits is a number with three digits.
func digits(v float64) string {
	switch {
	case v >= 1e4:
		return fmt.Sprintf("%.0e", v)
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// short is a large number in thousands or millions.
func short(v float64) string {
	switch {
	case v >= 1e9:
		return digits(v/1e9) + " G"
	case v >= 1e6:
		return digits(v/1e6) + " M"
	case v >= 1e3:
		return digits(v/1e3) + " k"
	}
	return digits(v)
}
