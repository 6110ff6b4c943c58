package decisions

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"ringmaster/cmd/runtime/text"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry/decisionlog"
)

// Explain prints every decision that has the number: each queue, and each start of a
// process, may have one.
func Explain(out io.Writer, log *Source, number uint64) error {
	type queueID struct{ worker, queue string }
	var e decisionlog.Entry
	previous := make(map[queueID]policy.State) // what the queue's last decision left
	found, first, last := 0, uint64(math.MaxUint64), uint64(0)
	for {
		err := log.next(&e)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if e.Director {
			continue
		}
		id := queueID{e.Worker, e.Queue}
		first, last = min(first, e.Decision), max(last, e.Decision)
		switch {
		case e.Decision+1 == number:
			previous[id] = e.After
		case e.Decision == number:
			if found++; found > 1 {
				fmt.Fprintln(out)
			}
			left, known := previous[id]
			fmt.Fprint(out, explain(log.header(), &e, known && left != e.Before))
			delete(previous, id)
		}
	}
	fmt.Fprint(out, log.Problems())
	switch {
	case found > 0:
		return nil
	case last == 0:
		return fmt.Errorf("%s has no decisions that are asked for", log.name)
	}
	return fmt.Errorf("%s has no decision %d of what is asked for; its decisions are %d to %d", log.name, number, first, last)
}

// explain is a decision in words: what changed, why, and from which values.
func explain(h *decisionlog.Header, e *decisionlog.Entry, takenBack bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.%s, decision %d, by the %s policy", e.Worker, e.Queue, e.Decision, policyName(&h.Config))
	if h.Software != "" {
		fmt.Fprintf(&b, " of ringmaster %s", text.Plain(h.Software))
	}
	b.WriteByte('\n')
	if r := e.Records; r.Incarnation != 0 {
		fmt.Fprintf(&b, "answers records %d to %d of publisher %016x, the last one sent %s\n",
			r.First, r.Last, uint64(r.Incarnation), time.Unix(0, r.SentNs).UTC().Format(time.RFC3339Nano))
	}
	if takenBack {
		b.WriteString("the state before it is not what the previous decision left: a launch failed and took it back\n")
	}
	b.WriteString("\noutcome\n")
	for _, line := range outcomeLines(e) {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	reasons := e.Plan.Reasons[:min(int(e.Plan.ReasonCount), len(e.Plan.Reasons))]
	if len(reasons) > 0 {
		b.WriteString("\nwhy\n")
		var rows [][]string
		for i := range reasons {
			rows = append(rows, reasonCells(&reasons[i]))
		}
		b.WriteString(indent(text.Table([]string{"RULE", "VALUE", "THRESHOLD", "FLIPS AFTER", ""}, rows)))
	}
	for _, section := range []struct{ title, prefix string }{
		{"request", "request."}, {"state before", "before."}, {"plan", "plan."}, {"state after", "after."},
	} {
		var rows [][]string
		for _, f := range e.Fields() {
			name, ok := strings.CutPrefix(f.Name, section.prefix)
			if ok && !strings.HasPrefix(name, "reason") {
				rows = append(rows, []string{name, f.Value})
			}
		}
		if len(rows) > 0 {
			fmt.Fprintf(&b, "\n%s (what is not listed is zero)\n", section.title)
			b.WriteString(indent(pairs(rows)))
		}
	}
	return b.String()
}

// policyName is the name of a configuration, if it is one of the two that have names.
func policyName(cfg *policy.Config) string {
	switch *cfg {
	case policy.Standard():
		return "standard"
	case policy.Reference():
		return "reference"
	}
	return "configured"
}

// outcomeLines say in words what the decision changed.
func outcomeLines(e *decisionlog.Entry) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if e.Error != "" {
		add("no plan: %s", text.Plain(e.Error))
		if e.Undecided {
			return lines
		}
	}
	was, is := e.Before.Topology.Topology, e.After.Topology.Topology
	switch {
	case is == policy.TopologyNone:
		add("no topology: the queue has no graph")
	case was == policy.TopologyNone:
		add("topology %v, the first of this queue", is)
	case e.Plan.Topology == policy.TopologyEmpty && is != policy.TopologyEmpty:
		add("the queue is empty: topology %v is remembered", is)
	case was != is:
		add("topology switched from %v to %v", was, is)
	case e.Error == "" && e.Plan.RawTopology != is:
		add("topology stays %v: the values ask for %v, hysteresis holds it", is, e.Plan.RawTopology)
	default:
		add("topology stays %v", is)
	}
	if e.Error != "" {
		return lines
	}
	p, q := e.Before.Plan, e.After.Plan
	if p.WorkgroupSizeX == 0 {
		add("mode %v, %s", q.Mode, geometryText(q))
		return lines
	}
	if p.Mode != q.Mode {
		add("mode switched from %v to %v", p.Mode, q.Mode)
	} else {
		add("mode stays %v", q.Mode)
	}
	if p.WorkgroupSizeX != q.WorkgroupSizeX || p.Groups != q.Groups {
		add("geometry changed from %s to %s", geometryText(p), geometryText(q))
	} else {
		add("geometry stays %s", geometryText(q))
	}
	return lines
}

func geometryText(p policy.PlanState) string {
	return fmt.Sprintf("%s of %d", text.Plural(uint64(p.Groups), "group"), p.WorkgroupSizeX)
}

func reasonCells(r *policy.Reason) []string {
	held := ""
	if r.Held {
		held = "held by hysteresis"
	}
	return []string{r.Rule.String(), text.Grouped(r.Value), text.Grouped(r.Threshold), "a change of " + text.Grouped(r.Distance), held}
}

// pairs aligns rows of two cells.
func pairs(rows [][]string) string {
	width := 0
	for _, r := range rows {
		width = max(width, len(r[0]))
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%-*s  %s\n", width, r[0], r[1])
	}
	return b.String()
}

func indent(block string) string {
	var b strings.Builder
	for line := range strings.Lines(block) {
		b.WriteString("  " + strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}
