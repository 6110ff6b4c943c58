package top

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ringmaster/cmd/runtime/fleetview"
	"ringmaster/cmd/runtime/text"
)

// page is all that is known of one queue, as lines.
func (s *screen) page() []string {
	d := s.detail
	q := &d.Queue
	lines := []string{strong.on(clean(queueLabel(q))) + "  " + paintOf(q.State).on(clean(verdict(q))), ""}
	row := func(name, format string, args ...any) {
		lines = append(lines, dim.on(pad(name, 10, false))+" "+clean(fmt.Sprintf(format, args...)))
	}
	row("plan", "%s", planText(q))
	row("decision", "%d, %s ago, %s", q.Decision, q.Age.Ago(), holds(q))
	row("load", "%s waiting, drains in %s; %s records/s, %s decisions/s", text.Plural(uint64(q.Length), "slot"), q.Wait.Span(), q.Records.Number(), q.Decides.Number())
	if d.Publisher != 0 {
		row("publisher", "%016x, last heard %s ago%s", d.Publisher, d.ReportedAge.Ago(), targetText(d.TargetMs))
	}
	row("answers", "p50 %s, p99 %s from a record's sending to its recommendation here", q.Answer50.Span(), q.Answer99.Span())
	row("work", "%s batches/s, %s slots/s, %s stored; submission to done p50 %s, p99 %s",
		q.Batches.Number(), q.Slots.Number(), q.Stored.Number(), q.Done50.Span(), q.Done99.Span())
	if d.Launched != nil {
		row("launch", "%s by %s, %s slots in %s, %s ago%s", d.Launched.Geometry(), d.Launched.Kernel, text.Grouped(d.Launched.Executed),
			fleetview.Short(time.Duration(min(d.Launched.ElapsedNs, 1<<62))), d.LaunchAge.Ago(), notApplied(d.Launched.NotApplied))
	}
	if q.Refusals > 0 {
		row("refused", "%s since the start of this view (%s); the last: %s", text.Grouped(q.Refusals), reasonCounts(d.RefusedBy), d.LastRefusal)
	}
	for i := range d.Reasons {
		name, r := "", &d.Reasons[i]
		if i == 0 {
			name = "why"
		}
		row(name, "%s", r.Says)
		if r.Flips != "" {
			row("", "  changes with %s", r.Flips)
		}
	}
	lines = append(lines, "", dim.on("ten minutes"))
	for _, band := range []struct {
		name  string
		spans []fleetview.Span
	}{{"topology", d.Topologies}, {"kernel", d.Modes}, {"geometry", d.Geometries}} {
		row(band.name, "%s", spanText(band.spans, d.Queue.Plan.Topology == "none" && band.name == "topology"))
	}
	lines = append(lines, "", dim.on("changes of the plan, the newest first"))
	for i := len(d.Changes) - 1; i >= 0; i-- {
		lines = append(lines, clean(changeText(&d.Changes[i])))
	}
	return lines
}

// verdict is a queue's state and why, said once.
func verdict(q *queueRow) string {
	if state := q.State.String(); !strings.HasPrefix(q.Why, state+": ") {
		return state + ": " + q.Why
	}
	return q.Why
}

func planText(q *queueRow) string {
	p := &q.Plan
	if p.Geometry() == "" {
		return "none"
	}
	said := fmt.Sprintf("%s (width × groups), chunk %s, up to %s a launch, %d in flight, %s",
		p.Geometry(), text.Grouped(p.Chunk), text.Plural(uint64(p.Depth), "slot"), p.InFlight, p.Kernel())
	if p.Walk() != "" {
		said += ", " + p.Topology
	}
	return said
}

func holds(q *queueRow) string {
	if !q.Left.Known || q.Left.Value <= 0 {
		return "no longer valid"
	}
	return "valid for another " + q.Left.Ago()
}

func targetText(ms uint32) string {
	if ms == 0 {
		return ""
	}
	return fmt.Sprintf(", latency target %s", fleetview.Short(time.Duration(ms)*time.Millisecond))
}

func notApplied(why string) string {
	if why == "" {
		return ""
	}
	return "; not as planned: " + why
}

func reasonCounts(of map[string]uint64) string {
	var said []string
	for _, reason := range slices.Sorted(maps.Keys(of)) {
		said = append(said, reason+" "+text.Grouped(of[reason]))
	}
	return strings.Join(said, ", ")
}

// maxSpans is how many states a band tells, the newest last.
const maxSpans = 6

// spanText is a band in words: what was for how long.
func spanText(spans []fleetview.Span, none bool) string {
	if none {
		return "no graph"
	}
	var said []string
	if len(spans) > maxSpans {
		said = append(said, fmt.Sprintf("… %d before", len(spans)-maxSpans))
		spans = spans[len(spans)-maxSpans:]
	}
	for i := range spans {
		label := spans[i].Label
		if label == "" {
			label = "unknown"
		}
		said = append(said, fmt.Sprintf("%s %s", label, fleetview.Ago(spans[i].To.Sub(spans[i].From))))
	}
	return strings.Join(said, " → ")
}

func changeText(c *fleetview.Change) string {
	plan := "no plan"
	if c.Error == "" {
		plan = strings.TrimSpace(c.Plan.Walk() + " " + c.Plan.Kernel() + " " + c.Plan.Geometry())
	}
	return fmt.Sprintf("%s  %d  %s  %s", c.At.Format(time.TimeOnly), c.Decision, plan, c.Why)
}
