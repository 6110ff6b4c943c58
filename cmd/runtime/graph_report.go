package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
)

// graphReport is what `graph run --json` prints; docs/graphs.md describes it.
type graphReport struct {
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

	Details []graphLevel `json:"details"`
}

// graphLevel is what one level did and why.
type graphLevel struct {
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

func newGraphReport(algorithm string, nothing uint32, p graph.Pair, o graphOutcome) *graphReport {
	reached := func(v uint32) bool { return o.Values[v] != nothing }
	r := &graphReport{
		Algorithm: algorithm, Engine: o.engine, Nodes: p.Out.Nodes(), Edges: p.Edges(), Levels: []uint64{}, Topologies: []string{}, Details: []graphLevel{},
		EdgesTraversed: p.Traversed(reached), EdgesExamined: o.EdgesExamined, Seconds: o.Time.Seconds(),
		HitCapacity: o.HitCapacity, GraphBytes: p.Bytes(), JobBytes: o.Bytes, Visits: o.Visits,
	}
	for v := range o.Values {
		if !reached(uint32(v)) {
			continue
		}
		r.Reached++
		if level := int(o.Values[v]); algorithm == "bfs" {
			for len(r.Levels) <= level {
				r.Levels = append(r.Levels, 0)
			}
			r.Levels[level]++
		}
	}
	for i := range o.Levels {
		level := &o.Levels[i]
		if algorithm != "bfs" {
			r.Levels = append(r.Levels, uint64(level.FrontierNodes))
		}
		r.Topologies = append(r.Topologies, level.Topology.String())
		r.Requeued += uint64(level.Requeued)
		r.Details = append(r.Details, graphLevel{
			0, level.Level, level.Topology.String(), uint64(level.FrontierNodes), uint64(level.FrontierEdges),
			uint64(level.Examined), uint64(level.Requeued), level.Time.Seconds(), graphWhy(level),
		})
	}
	if r.Seconds > 0 {
		r.EdgesPerSecond = float64(r.EdgesTraversed) / r.Seconds
	}
	return r
}

// plain removes control characters, which a terminal would obey, from the texts of a
// worker's report.
func (r *graphReport) plain() {
	r.Algorithm, r.Engine, r.VerifiedBy = plain(r.Algorithm), plain(r.Engine), plain(r.VerifiedBy)
	for i := range r.Topologies {
		r.Topologies[i] = plain(r.Topologies[i])
	}
	for i := range r.Details {
		r.Details[i].Topology, r.Details[i].Why = plain(r.Details[i].Topology), plain(r.Details[i].Why)
	}
}

func (r *graphReport) json(out io.Writer) error {
	return json.NewEncoder(out).Encode(r)
}

// shownLevels is how many levels the table lists one by one. If there are more,
// consecutive levels that ran the same way share a row.
const shownLevels = 40

func (r *graphReport) table(out io.Writer, what string) error {
	fmt.Fprintln(out, what)
	if levels := r.Details; len(levels) > 0 {
		var rows [][]string
		for i := 0; i < len(levels); {
			n := 1
			for len(levels) > shownLevels && i+n < len(levels) && levels[i+n].Topology == levels[i].Topology && levels[i+n].Pass == levels[i].Pass {
				n++
			}
			rows = append(rows, graphRow(levels[i:i+n]))
			i += n
		}
		fmt.Fprint(out, table([]string{"LEVEL", "TOPOLOGY", "NODES", "EDGES", "EXAMINED", "REQUEUED", "TIME", "WHY"}, rows))
	}
	if r.Passes > 0 {
		passes := "one pass"
		if r.Passes > 1 {
			passes = fmt.Sprintf("%d passes", r.Passes)
		}
		fmt.Fprintf(out, "%s facts in %s\n", grouped(uint64(r.Facts)), passes)
	}
	fmt.Fprintf(out, "%s: %s nodes reached, %s edges traversed in %v on %s: %s edges/s\n", r.Algorithm, grouped(r.Reached),
		grouped(r.EdgesTraversed), time.Duration(r.Seconds*1e9).Round(time.Microsecond), r.Engine, grouped(uint64(r.EdgesPerSecond)))
	if int64(r.HitCapacity) < int64(r.Nodes) && r.JobBytes > 0 {
		fmt.Fprintf(out, "room for %s hits at a time: %s times a node waited for a later pass\n", grouped(r.HitCapacity), grouped(r.Requeued))
	}
	switch r.VerifiedBy {
	case byReference:
		fmt.Fprintf(out, "verified: all %s values are those of the Go algorithm\n", grouped(uint64(r.Nodes)))
	case byEquations:
		fmt.Fprintf(out, "verified: all %s values solve the join's equations, computed on the device: what sources begin with, joined with what arrives\n", grouped(uint64(r.Nodes)))
	}
	return nil
}

// graphRow is a row of the table for levels that ran the same way.
func graphRow(levels []graphLevel) []string {
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
	return []string{name, topologyWord(first.Topology), grouped(sum.Nodes), grouped(sum.Edges), grouped(sum.Examined), grouped(sum.Requeued), took, first.Why}
}

// graphWhy says why a level ran as it did.
func graphWhy(l *frontier.Level) string {
	why := "asked for"
	if l.Reason != (policy.Reason{}) {
		why = fmt.Sprintf("%s: %s against %s", l.Reason.Rule, grouped(l.Reason.Value), grouped(l.Reason.Threshold))
		if l.Reason.Held {
			why += ", held"
		}
	}
	if l.Persistent {
		why += "; persistent"
	}
	return why
}

// writeValues writes a line for each node.
func (c *graphRunCmd) writeValues(g *graph.Graph, values []uint32) error {
	return replaceFile(c.Out, func(w io.Writer) error {
		var line []byte
		for v, value := range values {
			line = strconv.AppendUint(line[:0], g.ID(uint32(v)), 10)
			switch {
			case c.Algorithm == "cc":
				line = strconv.AppendUint(append(line, ' '), g.ID(value), 10)
			case c.Algorithm != "reach" && value == c.nothing():
				line = append(line, " -1"...)
			default:
				line = strconv.AppendUint(append(line, ' '), uint64(value), 10)
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		return nil
	})
}
