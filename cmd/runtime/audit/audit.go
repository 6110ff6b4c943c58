package audit

import (
	"fmt"
	"io"

	"ringmaster/cmd/runtime/text"
	"ringmaster/telemetry/decisionlog"
)

// maxHoles is how many holes are listed; the rest is counted.
const maxHoles = 100

// Hole is a place where the stream is not what it has to be.
type Hole struct {
	Sequence uint64 `json:"sequence"` // of the message behind it
	Worker   string `json:"worker"`
	Queue    string `json:"queue"`
	What     string `json:"what"`
}

// Report is what a stream shows.
type Report struct {
	Decisions int            `json:"decisions"`
	Queues    int            `json:"queues"`
	Nodes     int            `json:"nodes"`     // processes that decided
	TakeOvers int            `json:"takeovers"` // times that a queue's next decision is another process's
	Configs   map[string]int `json:"configs"`   // decisions by the name of their policy's configuration
	Changes   int            `json:"changes"`   // times that a queue's next decision has another configuration
	Rejoined  int            `json:"rejoined"`  // decisions behind some that a process made alone, which are not in the stream
	Begun     int            `json:"begun"`     // queues whose first decisions the bounds of the stream have removed
	Removed   int            `json:"removed"`   // gaps, because the bounds removed decisions before they were read
	Holes     []Hole         `json:"holes"`     // the first 100
	HoleCount int            `json:"hole_count"`
}

// Checker checks a stream. The zero value is ready for one from which nothing is removed meanwhile.
type Checker struct {
	// Removed says whether the bounds of the stream have removed a queue's messages up to a sequence by now.
	Removed func(worker, queue string, sequence uint64) (bool, error)

	report Report
	queues map[string]*last
	nodes  map[decisionlog.ID]bool
}

// last is a queue's newest message.
type last struct {
	sequence, number uint64
	node             decisionlog.ID
	config           string
	records          decisionlog.Records
}

// Damaged takes a message that cannot be read.
func (c *Checker) Damaged(worker, queue string, sequence uint64, why error) {
	c.hole(worker, queue, sequence, "cannot be read: "+why.Error())
}

// Take takes a message. The error is that of Removed.
func (c *Checker) Take(sequence uint64, d *decisionlog.Decided) error {
	e := &d.Entry
	if c.queues == nil {
		c.queues, c.nodes, c.report.Configs = make(map[string]*last), make(map[decisionlog.ID]bool), make(map[string]int)
	}
	c.report.Decisions++
	c.report.Configs[d.Config]++
	c.nodes[d.Node] = true
	name := e.Worker + "." + e.Queue
	before := c.queues[name]
	c.queues[name] = &last{sequence, e.Decision, d.Node, d.Config, e.Records}
	if d.Rejoined {
		c.report.Rejoined++
	}
	if before == nil {
		if d.Previous != 0 {
			c.report.Begun++
		}
		return nil
	}
	removed, err := c.removed(before, d)
	if err != nil {
		return err
	}
	if removed {
		c.report.Removed++
	}
	for _, what := range before.follow(d, removed) {
		c.hole(e.Worker, e.Queue, sequence, what)
	}
	if d.Node != before.node {
		c.report.TakeOvers++
	}
	if d.Config != before.config {
		c.report.Changes++
	}
	return nil
}

// removed says whether the bounds of the stream removed what stood between two messages. They remove a queue's oldest
// first, so whatever stood there is gone only if nothing of the queue is left up to the later one's previous.
func (c *Checker) removed(l *last, d *decisionlog.Decided) (bool, error) {
	e := &d.Entry
	if c.Removed == nil || d.Previous <= l.sequence || e.Decision <= l.number+1 {
		return false, nil
	}
	return c.Removed(e.Worker, e.Queue, d.Previous)
}

// follow says in what a message does not follow its queue's last message, or what was removed behind that.
func (l *last) follow(d *decisionlog.Decided, removed bool) (holes []string) {
	note := func(format string, args ...any) { holes = append(holes, fmt.Sprintf(format, args...)) }
	e := &d.Entry
	if d.Previous != l.sequence && !removed {
		note("decision %d was made from the state after message %d, and stands behind message %d", e.Decision, d.Previous, l.sequence)
	}
	switch {
	case e.Decision <= l.number:
		note("decision %d stands behind decision %d: it was made twice", e.Decision, l.number)
	case e.Decision != l.number+1 && !d.Rejoined && !removed:
		note("decision %d stands behind decision %d: %d are missing", e.Decision, l.number, e.Decision-l.number-1)
	}
	if r := &e.Records; r.Incarnation == l.records.Incarnation && r.Last < l.records.Last {
		note("decision %d answers record %d of publisher %016x, and decision %d record %d", e.Decision, r.Last, uint64(r.Incarnation), l.number, l.records.Last)
	}
	return holes
}

func (c *Checker) hole(worker, queue string, sequence uint64, what string) {
	if c.report.HoleCount++; len(c.report.Holes) < maxHoles {
		c.report.Holes = append(c.report.Holes, Hole{sequence, worker, queue, what})
	}
}

// Report returns what was found so far.
func (c *Checker) Report() Report {
	r := c.report
	r.Queues, r.Nodes = len(c.queues), len(c.nodes)
	return r
}

// Print writes a report for people; clean makes text of the bus fit for a terminal.
func (r *Report) Print(out io.Writer, clean func(string) string) {
	fmt.Fprintf(out, "%s decisions of %d queues, by %d processes: %d take-overs, %d changes of configuration\n", text.Grouped(r.Decisions), r.Queues, r.Nodes, r.TakeOvers, r.Changes)
	if r.Begun > 0 {
		fmt.Fprintf(out, "of %d queues the bounds of the stream have removed the first decisions\n", r.Begun)
	}
	if r.Removed > 0 {
		fmt.Fprintf(out, "%d gaps are no holes: the bounds of the stream removed those decisions before they were read\n", r.Removed)
	}
	if r.Rejoined > 0 {
		fmt.Fprintf(out, "%d decisions follow others that their process made alone, while the stream was away\n", r.Rejoined)
	}
	for _, h := range r.Holes {
		fmt.Fprintf(out, "message %d, %s.%s: %s\n", h.Sequence, clean(h.Worker), clean(h.Queue), clean(h.What))
	}
	switch more := r.HoleCount - len(r.Holes); {
	case r.HoleCount == 0:
		fmt.Fprintln(out, "none was made twice, none is missing, and no input goes back")
	case more > 0:
		fmt.Fprintf(out, "and %d more\n", more)
	}
}
