package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"ringmaster/telemetry"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// comparison pairs the decisions of two logs, queue by queue in the order in
// which they were made.
type comparison struct {
	queues  map[string]*queuePair
	entries [2]uint64
	headers [2]*telemetry.DecisionHeader
}

// queuePair is one queue in both logs.
type queuePair struct {
	ahead     int                       // log whose decisions wait
	waiting   []telemetry.DecisionEntry // for their partner in the other log
	pairs     uint64
	different uint64
	first     telemetry.DecisionEntry // of the first log, where they differ first
	fields    []telemetry.DecisionDifference
}

// compareLogs says at which decision and in which field two logs differ. It leaves out
// what belongs to a run: incarnations, sequence numbers and clocks.
func compareLogs(out io.Writer, a, b *logReader) error {
	c := comparison{queues: make(map[string]*queuePair)}
	logs := [2]*logReader{a, b}
	ended := [2]bool{}
	var e telemetry.DecisionEntry
	for !ended[0] || !ended[1] {
		for side, log := range logs {
			if ended[side] {
				continue
			}
			err := log.next(&e)
			if err == io.EOF {
				ended[side] = true
				continue
			}
			if err != nil {
				return err
			}
			if c.headers[side] == nil {
				c.headers[side] = log.header()
			}
			c.take(side, &e)
		}
	}
	same := c.report(out, a.name, b.name)
	fmt.Fprint(out, a.problems(), b.problems())
	if c.entries[0]+c.entries[1] == 0 {
		return fmt.Errorf("%s and %s: no decisions to compare", a.name, b.name)
	}
	if !same || a.damaged() || b.damaged() {
		return exitError{1}
	}
	return nil
}

// take pairs an entry with the entry of the other log that waits for it, or makes it wait.
func (c *comparison) take(side int, e *telemetry.DecisionEntry) {
	c.entries[side]++
	e.Records = telemetry.DecisionRecords{}
	name := e.Worker + "." + e.Queue
	if e.Director {
		name = levelsOf(name)
	}
	q := c.queues[name]
	if q == nil {
		q = &queuePair{}
		c.queues[name] = q
	}
	if len(q.waiting) == 0 || q.ahead == side {
		q.ahead = side
		q.waiting = append(q.waiting, *e)
		return
	}
	var pair [2]*telemetry.DecisionEntry
	pair[q.ahead], pair[side] = &q.waiting[0], e
	q.pairs++
	if *pair[0] != *pair[1] {
		if q.different++; q.different == 1 {
			q.first, q.fields = *pair[0], telemetry.DiffDecisions(pair[0], pair[1])
		}
	}
	q.waiting = q.waiting[1:]
}

// report prints what differs and reports whether the logs are equal.
func (c *comparison) report(out io.Writer, a, b string) bool {
	same := true
	differs := func(format string, args ...any) {
		same = false
		fmt.Fprintf(out, format+"\n", args...)
	}
	fmt.Fprintf(out, "A is %s: %s\nB is %s: %s\n", a, plural(c.entries[0], "decision"), b, plural(c.entries[1], "decision"))
	if c.headers[0] != nil && c.headers[1] != nil {
		x, y := *c.headers[0], *c.headers[1]
		x.Incarnation, x.Software = y.Incarnation, y.Software
		for _, f := range telemetry.DiffDecisionHeaders(&x, &y) {
			differs("policy: %s: A %s, B %s", f.Field, f.A, f.B)
		}
	}
	for _, name := range sortedKeys(c.queues) {
		q := c.queues[name]
		writeFields(out, name, fmt.Sprintf("decision %d", q.first.Decision), q.fields, "A", "B")
		same = same && q.different == 0
		if q.different > 1 {
			differs("%s: %s of %s differ", name, plural(q.different, "decision"), grouped(q.pairs))
		}
		if n := len(q.waiting); n > 0 {
			differs("%s: %s only in %c, from %d on", name, plural(uint64(n), "decision"), 'A'+rune(q.ahead), q.waiting[0].Decision)
		}
	}
	if same {
		fmt.Fprintln(out, "no decision differs")
	}
	return same
}
