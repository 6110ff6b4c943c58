package graphs

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"ringmaster/cmd/runtime/text"
	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
)

// Report is what `graph run --json` prints; docs/graphs.md describes it.
type Report struct {
	Algorithm      string   `json:"algorithm"`
	Engine         string   `json:"engine"`
	Nodes          int      `json:"nodes"`
	Edges          uint64   `json:"edges"`
	Reached        uint64   `json:"reached"`
	Levels         []uint64 `json:"levels"`
	Topologies     []string `json:"topologies"`
	EdgesTraversed uint64   `json:"edges_traversed"`
	EdgesExamined  uint64   `json:"edges_examined"`
	Seconds        float64  `json:"seconds"`
	EdgesPerSecond float64  `json:"edges_per_second"`
	Requeued       uint64   `json:"requeued"`
	HitCapacity    uint32   `json:"hit_capacity"`
	GraphBytes     uint64   `json:"graph_bytes"`
	JobBytes       uint64   `json:"job_bytes"`
	Visits         uint32   `json:"host_visits"`
	Verified       bool     `json:"verified"`
	VerifiedBy     string   `json:"verified_by,omitempty"` // reference or equations
	Facts          int      `json:"facts,omitempty"`       // of flow
	Passes         int      `json:"passes,omitempty"`      // of flow

	Details []ReportLevel `json:"details"`
}

// ReportLevel is what one level did and why.
type ReportLevel struct {
	Pass     int     `json:"pass,omitempty"` // of flow, from 1 on; 0: the only one
	Level    uint32  `json:"level"`
	Topology string  `json:"topology"`
	Nodes    uint64  `json:"nodes"`
	Edges    uint64  `json:"edges"`
	Examined uint64  `json:"examined"`
	Requeued uint64  `json:"requeued"`
	Seconds  float64 `json:"seconds"` // 0: not timed
	Why      string  `json:"why"`
}

// Report is what the passes of a run did, one after the other.
func (s *Spec) Report(p graph.Pair, outcomes []Outcome) *Report {
	r := &Report{
		Algorithm: s.Algorithm, Engine: outcomes[0].Engine, Nodes: p.Out.Nodes(), Edges: p.Edges(),
		Levels: []uint64{}, Topologies: []string{}, Details: []ReportLevel{}, HitCapacity: outcomes[0].HitCapacity, GraphBytes: p.Bytes(),
	}
	if s.Facts != nil {
		r.Facts, r.Passes = len(s.Facts.Names), len(outcomes)
	}
	anywhere := make([]bool, p.Out.Nodes())
	for i := range outcomes {
		o := &outcomes[i]
		reached := func(v uint32) bool { return o.Values[v] != s.Nothing() }
		for v := range anywhere {
			anywhere[v] = anywhere[v] || reached(uint32(v))
		}
		r.EdgesTraversed += p.Traversed(reached)
		r.EdgesExamined += o.EdgesExamined
		r.Seconds += o.Time.Seconds()
		r.Visits += o.Visits
		r.JobBytes = max(r.JobBytes, o.Bytes)
		pass := 0
		if len(outcomes) > 1 {
			pass = i + 1
		}
		r.addLevels(pass, o.Levels)
	}
	for v, there := range anywhere {
		if !there {
			continue
		}
		r.Reached++
		if s.Algorithm == "bfs" {
			level := int(outcomes[0].Values[v])
			r.Levels = append(r.Levels, make([]uint64, max(0, level+1-len(r.Levels)))...)
			r.Levels[level]++
		}
	}
	if r.Seconds > 0 {
		r.EdgesPerSecond = float64(r.EdgesTraversed) / r.Seconds
	}
	return r
}

// addLevels adds the levels of a pass, 0 for the only one.
func (r *Report) addLevels(pass int, levels []frontier.Level) {
	for i := range levels {
		level := &levels[i]
		if r.Algorithm != "bfs" { // whose levels are counted by the nodes' values
			r.Levels = append(r.Levels, uint64(level.FrontierNodes))
		}
		r.Topologies = append(r.Topologies, level.Topology.String())
		r.Requeued += uint64(level.Requeued)
		r.Details = append(r.Details, ReportLevel{
			pass, level.Level, level.Topology.String(), uint64(level.FrontierNodes), uint64(level.FrontierEdges),
			uint64(level.Examined), uint64(level.Requeued), level.Time.Seconds(), why(level),
		})
	}
}

// Plain removes control characters, which a terminal would obey, from the texts of a
// worker's report.
func (r *Report) Plain() {
	r.Algorithm, r.Engine, r.VerifiedBy = text.Plain(r.Algorithm), text.Plain(r.Engine), text.Plain(r.VerifiedBy)
	for i := range r.Topologies {
		r.Topologies[i] = text.Plain(r.Topologies[i])
	}
	for i := range r.Details {
		r.Details[i].Topology, r.Details[i].Why = text.Plain(r.Details[i].Topology), text.Plain(r.Details[i].Why)
	}
}

// shownLevels is how many levels the table lists one by one. If there are more,
// consecutive levels that ran the same way share a row.
const shownLevels = 40

// Table prints the report for people, below a line that says what ran.
func (r *Report) Table(out io.Writer, what string) error {
	fmt.Fprintln(out, what)
	if levels := r.Details; len(levels) > 0 {
		var rows [][]string
		for i := 0; i < len(levels); {
			n := 1
			for len(levels) > shownLevels && i+n < len(levels) && levels[i+n].Topology == levels[i].Topology && levels[i+n].Pass == levels[i].Pass {
				n++
			}
			rows = append(rows, tableRow(levels[i:i+n]))
			i += n
		}
		fmt.Fprint(out, text.Table([]string{"LEVEL", "TOPOLOGY", "NODES", "EDGES", "EXAMINED", "REQUEUED", "TIME", "WHY"}, rows))
	}
	if r.Passes > 0 {
		passes := "one pass"
		if r.Passes > 1 {
			passes = fmt.Sprintf("%d passes", r.Passes)
		}
		fmt.Fprintf(out, "%s facts in %s\n", text.Grouped(uint64(r.Facts)), passes)
	}
	fmt.Fprintf(out, "%s: %s nodes reached, %s edges traversed in %v on %s: %s edges/s\n", r.Algorithm, text.Grouped(r.Reached),
		text.Grouped(r.EdgesTraversed), time.Duration(r.Seconds*1e9).Round(time.Microsecond), r.Engine, text.Grouped(uint64(r.EdgesPerSecond)))
	if int64(r.HitCapacity) < int64(r.Nodes) && r.JobBytes > 0 {
		fmt.Fprintf(out, "room for %s hits at a time: %s times a node waited for a later pass\n", text.Grouped(r.HitCapacity), text.Grouped(r.Requeued))
	}
	switch r.VerifiedBy {
	case byReference:
		fmt.Fprintf(out, "verified: all %s values are those of the Go algorithm\n", text.Grouped(uint64(r.Nodes)))
	case byEquations:
		fmt.Fprintf(out, "verified: all %s values solve the join's equations, computed on the device: what sources begin with, joined with what arrives\n", text.Grouped(uint64(r.Nodes)))
	}
	return nil
}

// tableRow is a row of the table for levels that ran the same way.
func tableRow(levels []ReportLevel) []string {
	first := &levels[0]
	sum := *first
	for _, l := range levels[1:] {
		sum.Nodes, sum.Edges, sum.Examined = sum.Nodes+l.Nodes, sum.Edges+l.Edges, sum.Examined+l.Examined
		sum.Requeued, sum.Seconds = sum.Requeued+l.Requeued, sum.Seconds+l.Seconds
	}
	name := strconv.Itoa(int(first.Level))
	if len(levels) > 1 {
		name += "–" + strconv.Itoa(int(levels[len(levels)-1].Level))
	}
	if first.Pass > 0 {
		name = fmt.Sprintf("%d: %s", first.Pass, name)
	}
	took := "-"
	if sum.Seconds > 0 {
		took = time.Duration(sum.Seconds * 1e9).String()
	}
	word, _, _ := strings.Cut(first.Topology, "_")
	return []string{name, word, text.Grouped(sum.Nodes), text.Grouped(sum.Edges), text.Grouped(sum.Examined), text.Grouped(sum.Requeued), took, first.Why}
}

// why says why a level ran as it did.
func why(l *frontier.Level) string {
	why := "asked for"
	if l.Reason != (policy.Reason{}) {
		why = fmt.Sprintf("%s: %s against %s", l.Reason.Rule, text.Grouped(l.Reason.Value), text.Grouped(l.Reason.Threshold))
		if l.Reason.Held {
			why += ", held"
		}
	}
	if l.Persistent {
		why += "; persistent"
	}
	return why
}
