package main

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/graph"
)

// maxFactsText is the most bytes of a file of facts, unpacked.
const maxFactsText = 1 << 30

// readFacts reads the facts of a dataflow problem, and refuses flags that contradict them.
func (c *graphRunCmd) readFacts() error {
	switch {
	case c.Algorithm != "flow" && c.FactsFile != "":
		return fmt.Errorf("--facts is for the algorithm flow, not %s", c.Algorithm)
	case c.Algorithm != "flow":
		return nil
	case c.FactsFile == "":
		return fmt.Errorf("flow takes --facts FILE, which says what begins and ends at each node; see docs/graphs.md")
	}
	f, err := os.Open(c.FactsFile)
	if err != nil {
		return err
	}
	defer f.Close()
	if c.facts, err = graph.ReadFacts(f, maxFactsText); err != nil {
		return fmt.Errorf("%s: %w", c.FactsFile, err)
	}
	return nil
}

// graphPass is one propagation over the graph. A run is one pass; a dataflow problem has a
// pass for each 32 facts, which is what fits a word.
type graphPass struct {
	sources []uint32
	facts   graph.FactPass // of flow
}

// passes are the passes of the run that the flags ask for.
func (c *graphRunCmd) passes(g *graph.Graph, sources []uint32) ([]graphPass, error) {
	if c.facts == nil {
		return []graphPass{{sources: sources}}, nil
	}
	passes := make([]graphPass, c.facts.Passes())
	for i := range passes {
		var err error
		if passes[i].facts, err = c.facts.Pass(g, i); err != nil {
			return nil, fmt.Errorf("%s: %w", c.FactsFile, err)
		}
	}
	return passes, nil
}

// passJob is the device's job of one pass.
func (c *graphRunCmd) passJob(pass *graphPass) frontier.Job {
	job := c.job(pass.sources)
	if c.Algorithm == "flow" {
		giveFacts(&job, &pass.facts)
	}
	return job
}

// giveFacts sets the facts of a pass in its job.
func giveFacts(job *frontier.Job, facts *graph.FactPass) {
	job.Gen, job.Kill = facts.Gen, facts.Kill
	job.Sources, job.Seeds = nil, []uint32{}
	for v, arrives := range facts.Entry {
		if arrives != 0 {
			job.Sources, job.Seeds = append(job.Sources, uint32(v)), append(job.Seeds, arrives)
		}
	}
}

// report is the report of all passes.
func (c *graphRunCmd) report(p graph.Pair, outcomes []graphOutcome) *graphReport {
	if c.facts == nil {
		return newGraphReport(c.Algorithm, c.nothing(), p, outcomes[0])
	}
	var reports []*graphReport
	var values [][]uint32
	for i := range outcomes {
		reports = append(reports, newGraphReport(c.Algorithm, c.nothing(), p, outcomes[i]))
		values = append(values, outcomes[i].Values)
	}
	return flowReport(len(c.facts.Names), reports, values)
}

// flowReport combines the reports of the passes of a dataflow problem.
func flowReport(facts int, passes []*graphReport, values [][]uint32) *graphReport {
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
func (r *graphReport) append(next *graphReport) {
	r.Levels, r.Topologies, r.Details = append(r.Levels, next.Levels...), append(r.Topologies, next.Topologies...), append(r.Details, next.Details...)
	r.EdgesTraversed, r.EdgesExamined = r.EdgesTraversed+next.EdgesTraversed, r.EdgesExamined+next.EdgesExamined
	r.Seconds, r.Requeued, r.Visits = r.Seconds+next.Seconds, r.Requeued+next.Requeued, r.Visits+next.Visits
	r.JobBytes = max(r.JobBytes, next.JobBytes)
	if r.Seconds > 0 {
		r.EdgesPerSecond = float64(r.EdgesTraversed) / r.Seconds
	}
}

// write writes the values of all passes.
func (c *graphRunCmd) write(g *graph.Graph, passes []graphPass, values [][]uint32) error {
	if c.facts == nil {
		return c.writeValues(g, values[0])
	}
	return replaceFile(c.Out, func(w io.Writer) error {
		var line []byte
		for v := range uint32(g.Nodes()) {
			line = strconv.AppendUint(line[:0], g.ID(v), 10)
			line = appendFacts(line, " arrives ", c.facts.Names, func(i int) uint32 { return values[i][v] })
			line = appendFacts(line, " leaves ", c.facts.Names, func(i int) uint32 { return passes[i].facts.Leaves(v, values[i][v]) })
			if _, err := w.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		return nil
	})
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
