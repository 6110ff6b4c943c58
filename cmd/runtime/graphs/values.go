package graphs

import (
	"io"
	"strconv"

	"ringmaster/megakernel/graph"
)

// Report is the report of all passes.
func (s *Spec) Report(p graph.Pair, outcomes []Outcome) *Report {
	if s.Facts == nil {
		return newReport(s, p, outcomes[0])
	}
	var reports []*Report
	var values [][]uint32
	for i := range outcomes {
		reports = append(reports, newReport(s, p, outcomes[i]))
		values = append(values, outcomes[i].Values)
	}
	return flowReport(len(s.Facts.Names), reports, values)
}

// flowReport combines the reports of the passes of a dataflow problem.
func flowReport(facts int, passes []*Report, values [][]uint32) *Report {
	all := passes[0]
	for i, pass := range passes {
		for level := range pass.Details {
			if len(passes) > 1 {
				pass.Details[level].Pass = i + 1
			}
		}
		if i > 0 {
			all.append(pass)
		}
	}
	all.Facts, all.Passes, all.Reached = facts, len(passes), 0
	for v := range values[0] {
		for _, pass := range values {
			if pass[v] != 0 {
				all.Reached++
				break
			}
		}
	}
	return all
}

// append adds the report of a further pass.
func (r *Report) append(next *Report) {
	r.Levels, r.Topologies, r.Details = append(r.Levels, next.Levels...), append(r.Topologies, next.Topologies...), append(r.Details, next.Details...)
	r.EdgesTraversed, r.EdgesExamined = r.EdgesTraversed+next.EdgesTraversed, r.EdgesExamined+next.EdgesExamined
	r.Seconds, r.Requeued, r.Visits = r.Seconds+next.Seconds, r.Requeued+next.Requeued, r.Visits+next.Visits
	r.JobBytes = max(r.JobBytes, next.JobBytes)
	if r.Seconds > 0 {
		r.EdgesPerSecond = float64(r.EdgesTraversed) / r.Seconds
	}
}

// WriteValues writes a line for each node: its name in the file, and its value or its facts.
func (s *Spec) WriteValues(w io.Writer, g *graph.Graph, passes []Pass, values [][]uint32) error {
	var line []byte
	for v := range uint32(g.Nodes()) {
		line = strconv.AppendUint(line[:0], g.ID(v), 10)
		switch {
		case s.Facts != nil:
			line = appendFacts(line, " arrives ", s.Facts.Names, func(i int) uint32 { return values[i][v] })
			line = appendFacts(line, " leaves ", s.Facts.Names, func(i int) uint32 { return passes[i].Facts.Leaves(v, values[i][v]) })
		case s.Algorithm == "cc":
			line = strconv.AppendUint(append(line, ' '), g.ID(values[0][v]), 10)
		case s.Algorithm != "reach" && values[0][v] == s.Nothing():
			line = append(line, " -1"...)
		default:
			line = strconv.AppendUint(append(line, ' '), uint64(values[0][v]), 10)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// appendFacts appends the names of facts behind a keyword, and nothing if there are none.
func appendFacts(line []byte, keyword string, names []string, bits func(pass int) uint32) []byte {
	separator := keyword
	for i, name := range names {
		if bits(i/graph.FactsPerPass)>>(i%graph.FactsPerPass)&1 != 0 {
			line = append(append(line, separator...), name...)
			separator = ","
		}
	}
	return line
}
