package decisions

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ringmaster/cmd/runtime/text"
)

// String is the comparison for people: a table, and what is behind each queue's row.
func (c *Comparison) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: the %s policy launches something else in %s of %s\n", text.Plain(c.Log), text.Plain(c.Policy),
		text.Grouped(c.Different), text.Plural(c.Decisions, "decision"))
	var rows [][]string
	for _, q := range c.Queues {
		rows = append(rows, []string{q.Queue, text.Grouped(q.Decisions), text.Grouped(q.Different), text.Grouped(q.Logged.Changes), text.Grouped(q.Other.Changes)})
	}
	b.WriteString(text.Table([]string{"QUEUE", "DECISIONS", "DIFFERENT", "CHANGES LOGGED", "CHANGES OTHER"}, rows))
	for i := range c.Queues {
		b.WriteString(c.Queues[i].text())
	}
	b.WriteString(c.Problems)
	return b.String()
}

func (q *QueueComparison) text() string {
	var b strings.Builder
	if d := q.First; d != nil {
		fmt.Fprintf(&b, "\n%s: first at decision %d", q.Queue, d.Decision)
		if d.Publisher != 0 {
			fmt.Fprintf(&b, ", on records %d to %d of publisher %016x", d.First, d.Last, uint64(d.Publisher))
		}
		if !d.Sent.IsZero() {
			fmt.Fprintf(&b, ", sent %s", d.Sent.Format(time.RFC3339Nano))
		}
		b.WriteByte('\n')
		b.WriteString(contrasts("LAUNCHES", d.Launches))
		b.WriteString(contrasts("WHY", d.Why))
	} else {
		fmt.Fprintf(&b, "\n%s: no difference\n", q.Queue)
	}
	b.WriteString(q.times())
	return b.String()
}

func contrasts(title string, list []Contrast) string {
	if len(list) == 0 {
		return ""
	}
	var rows [][]string
	for _, c := range list {
		rows = append(rows, []string{c.What, text.Plain(c.Logged), text.Plain(c.Other)})
	}
	return indent(text.Table([]string{title, "LOGGED", "OTHER"}, rows))
}

// times says how long plans of each kind stood.
func (q *QueueComparison) times() string {
	var rows [][]string
	for _, group := range []struct {
		name          string
		logged, other map[string]time.Duration
	}{
		{"kernel", q.Logged.Kernel, q.Other.Kernel}, {"launch", q.Logged.Launch, q.Other.Launch}, {"walk", q.Logged.Walk, q.Other.Walk},
	} {
		names := maps.Clone(group.logged)
		maps.Copy(names, group.other)
		for _, mode := range slices.Sorted(maps.Keys(names)) {
			rows = append(rows, []string{group.name + " " + mode, seconds(group.logged[mode]), seconds(group.other[mode])})
		}
	}
	s := ""
	if len(rows) > 0 {
		s = indent(text.Table([]string{"TIME IN", "LOGGED", "OTHER"}, rows))
	}
	if q.Unplaced > 0 {
		s += fmt.Sprintf("  without the time of %s: a decision is missing, or another clock gave its end\n", text.Plural(q.Unplaced, "decision"))
	}
	return s
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }
