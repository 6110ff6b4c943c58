package main

import (
	"fmt"
	"io"

	"ringmaster/megakernel/tuner/trial"
)

// Strategies of tune.
const (
	strategySweep  = "sweep"
	strategySearch = "search"
)

// tuneResult is what tune found out.
type tuneResult struct {
	Workload   string      `json:"workload"`
	Slots      uint32      `json:"slots"`
	Device     string      `json:"device"`
	Strategy   string      `json:"strategy"`
	Geometries int         `json:"geometries"` // of the space
	Launches   int         `json:"launches"`
	Complete   bool        `json:"complete"` // false: the budget or the user ended it before its end
	Stored     string      `json:"stored,omitempty"`
	Key        string      `json:"key,omitempty"`
	Rows       []trial.Row `json:"rows"`
}

// chosen is the row of the chosen geometry, or nil.
func (t *tuneResult) chosen() *trial.Row {
	for i := range t.Rows {
		if t.Rows[i].Chosen {
			return &t.Rows[i]
		}
	}
	return nil
}

// shownRows is how many geometries the table lists without --all.
const shownRows = 20

// print writes the table, fastest first; the chosen geometry is always in it.
func (t *tuneResult) print(out io.Writer, all bool) {
	fmt.Fprintf(out, "%s, %s slots, on %s: %s, %s launches at %d of %s geometries\n", t.Workload, grouped(t.Slots), t.Device, t.Strategy,
		grouped(t.Launches), len(t.Rows), grouped(t.Geometries))
	var rows [][]string
	for i := range t.Rows {
		r := &t.Rows[i]
		if !all && i >= shownRows && !r.Chosen {
			continue
		}
		mark := ""
		if r.Chosen {
			mark = "<- chosen"
		}
		rows = append(rows, []string{
			fmt.Sprint(r.Width), fmt.Sprint(r.Groups), fmt.Sprint(r.Chunk), fmt.Sprint(r.Depth), fmt.Sprint(r.Launches),
			launchTime(r.MedianNs), launchTime(r.MeanNs), fmt.Sprintf("%.1f %%", 100*r.Spread), fmt.Sprintf("%.3f", r.VsBest), mark,
		})
	}
	fmt.Fprint(out, table([]string{"WIDTH", "GROUPS", "CHUNK", "DEPTH", "LAUNCHES", "MEDIAN", "MEAN", "SPREAD", "VS BEST", ""}, rows))
	if left := len(t.Rows) - len(rows); left > 0 {
		fmt.Fprintf(out, "and %s slower ones (--all prints them)\n", grouped(left))
	}
	if t.Stored != "" {
		fmt.Fprintf(out, "stored in %s\n", t.Stored)
	}
}

// launchTime is a time with four digits.
func launchTime(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.4g ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.4g µs", ns/1e3)
	case ns < 1e9:
		return fmt.Sprintf("%.4g ms", ns/1e6)
	}
	return fmt.Sprintf("%.4g s", ns/1e9)
}

// strategies are the ways to search, by name.
var strategies = map[string]trial.Strategy{strategySweep: trial.Sweep, strategySearch: trial.Search}
