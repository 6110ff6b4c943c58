package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ringmaster/cmd/runtime/fleetview"
	"ringmaster/cmd/runtime/text"
	"ringmaster/telemetry"
)

// planText is a plan in words, "" where there is none.
func planText(p *fleetview.Plan, r *telemetry.Recommendation) string {
	if p.Width == 0 {
		return ""
	}
	said := fmt.Sprintf("%s (width × workgroups), %s a claim, up to %s a launch, %s under way, %s, %s", p.Geometry(),
		text.Plural(uint64(p.Chunk), "slot"), text.Plural(uint64(p.Depth), "slot"), text.Plural(uint64(p.InFlight), "launch"), p.Mode, p.Launch)
	if p.Walk() != "" {
		said += ", " + p.Topology
	}
	if r.HitCapacity > 0 {
		said += fmt.Sprintf(", room for %s", text.Plural(uint64(r.HitCapacity), "hit"))
	}
	return said
}

// difference is what a decision launches otherwise than the decision before it, "" for nothing.
func difference(before, after *telemetry.Recommendation) string {
	if before.Error != "" || after.Error != "" {
		switch {
		case before.Error == after.Error:
			return ""
		case after.Error != "":
			return "no plan any more"
		}
		return "a plan again"
	}
	was, is := fleetview.PlanOf(before), fleetview.PlanOf(after)
	var said []string
	add := func(what, from, to string) {
		if from != to {
			said = append(said, fmt.Sprintf("%s %s → %s", what, text.OrDash(from), text.OrDash(to)))
		}
	}
	add("topology", was.Topology, is.Topology)
	add("kernel", was.Mode, is.Mode)
	add("launched as", was.Launch, is.Launch)
	add("geometry", was.Geometry(), is.Geometry())
	add("claim", text.Grouped(was.Chunk), text.Grouped(is.Chunk))
	add("most a launch", text.Grouped(was.Depth), text.Grouped(is.Depth))
	add("under way", text.Grouped(was.InFlight), text.Grouped(is.InFlight))
	add("hits", text.Grouped(before.HitCapacity), text.Grouped(after.HitCapacity))
	return strings.Join(said, ", ")
}

// causes are the rules that decide a part of a plan, by the word that difference has for the part: the first of a
// change's parts whose rule had a say is why it came. A rule is named by what its name begins with.
var causes = []struct {
	part  string
	rules []string
}{
	{"topology", []string{"memory_constrained", "sparse_frontier", "hybrid_frontier", "dense_frontier", "fused_dense", "queue_empty"}},
	{"kernel", []string{"mode_"}},
	{"launched as", []string{"lease_"}},
	{"geometry", []string{"audit", "tuned_geometry", "shed_", "workers"}},
	{"most a launch", []string{"turn", "latency_target", "first_launch"}},
	{"hits", []string{"memory_"}},
}

// because is why a plan changed in what difference says.
func because(what string, r *telemetry.Recommendation) string {
	for _, c := range causes {
		if !strings.Contains(what, c.part) {
			continue
		}
		for i := range r.Reasons {
			if slices.ContainsFunc(c.rules, func(rule string) bool { return strings.HasPrefix(r.Reasons[i].Rule, rule) }) {
				return fleetview.Sentence(&r.Reasons[i])
			}
		}
	}
	if r.Error == "" && strings.Contains(what, "geometry") && !strings.Contains(what, "kernel") && !strings.Contains(what, "topology") {
		return text.Plural(uint64(r.QueueLen), "slot") + " waited"
	}
	return fleetview.Why(r.Reasons, r.Error)
}

// Text is an explanation for people.
func (e *Explanation) Text() string {
	var b strings.Builder
	why := strings.TrimPrefix(e.Why, e.State+": ")
	state := "is " + e.State
	if e.State == "no plan" {
		state = "has no plan"
	}
	fmt.Fprintf(&b, "%s.%s %s: %s\nnext: %s\n\n", e.Worker, e.Queue, state, why, e.Next)
	rows := [][2]string{
		{"plan", text.OrDash(e.Plan)},
		{"decided", fmt.Sprintf("decision %d, %s ago, by %s", e.Number, fleetview.Ago(time.Duration(e.Age*1e9)), text.Plain(e.By))},
		{"unchanged", fmt.Sprintf("for %s of the %s that are kept", text.Plural(uint64(e.Held), "decision"), text.Grouped(e.Kept))},
		{"tuner", e.Tuner}, {"publisher", e.Reports}, {"work", e.Work},
	}
	for _, row := range rows {
		fmt.Fprintf(&b, "%-10s %s\n", row[0], row[1])
	}
	table(&b, "why", []string{"", "changes with"}, len(e.Reasons), func(i int) []string { return []string{e.Reasons[i].Says, text.OrDash(e.Reasons[i].Flips)} })
	table(&b, "decided from", []string{"", "", "age", "said by"}, len(e.Evidence), func(i int) []string {
		v := &e.Evidence[i]
		return []string{v.What, v.Value, v.AgeText(), v.Source}
	})
	table(&b, "changes of the plan, the newest first", []string{"", "", "", "because"}, len(e.Changes), func(i int) []string {
		c := &e.Changes[i]
		return []string{c.At.UTC().Format("15:04:05.000Z"), fmt.Sprint(c.Number), c.What, c.Why}
	})
	return b.String()
}

// table writes rows under a title, whose first cell the title takes.
func table(b *strings.Builder, title string, header []string, n int, row func(i int) []string) {
	if n == 0 {
		return
	}
	rows := make([][]string, 0, n)
	for i := range n {
		rows = append(rows, row(i))
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for line := range strings.Lines(text.Table(header, rows)) {
		fmt.Fprintf(b, "  %s\n", strings.TrimRight(line, " \n"))
	}
}
