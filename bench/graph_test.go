package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ringmaster/megakernel/graph"
)

// rows are the rows of a report in JSON, by name.
func rowsOf(t *testing.T, out []byte) map[string]row {
	t.Helper()
	rows := make(map[string]row)
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var row row
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		rows[row.Name] = row
	}
	return rows
}

// The performance goal of the rule is to stay within a tenth of the cheaper walk of every
// level, on graphs with hubs, on graphs without, and on graphs of many levels.
func TestBenchGraphHoldsTheRuleToTheOracle(t *testing.T) {
	var out bytes.Buffer
	report := &report{out: &out, json: true}
	for _, spec := range []string{"kronecker:14", "uniform:14:8", "uniform:16:8", "grid:96x96"} {
		g, err := newGraph(spec, 8)
		if err != nil {
			t.Fatal(err)
		}
		if err := edgeWorkRows(g, report); err != nil {
			t.Fatal(err)
		}
		rows := rowsOf(t, out.Bytes())
		if ours := rows["graph/edges/"+spec+"/standard"]; ours.Ratio < 1 || ours.Ratio > 1.1 {
			t.Errorf("%s: %.3f of the oracle", spec, ours.Ratio)
		}
	}
	rows := rowsOf(t, out.Bytes())
	if original := rows["graph/edges/kronecker:14/original"]; original.Ratio < 3 {
		t.Errorf("the vertex rule does %.3f of the oracle on a graph with hubs: the graph shows no difference", original.Ratio)
	}
}

func TestBenchGraphDumpsWhatTheYardstickReads(t *testing.T) {
	g, err := newGraph("grid:3x2", 4)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "graphs")
	if err := g.dump(folder); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(folder, "grid-3x2.graph"))
	if err != nil {
		t.Fatal(err)
	}
	words := make([]uint32, len(raw)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	want := slices.Concat([]uint32{6, 14, 4}, g.sources, []uint32{0, 2, 5, 7, 9, 12, 14}, []uint32{1, 3, 0, 2, 4, 1, 5, 0, 4, 1, 3, 5, 2, 4})
	if !slices.Equal(words, want) {
		t.Errorf("%v, want %v", words, want)
	}
}

func TestBenchGraphSourcesHaveEdgesAndAreTheSameInEveryRun(t *testing.T) {
	a, err := newGraph("kronecker:10", 16)
	if err != nil {
		t.Fatal(err)
	}
	b, err := newGraph("kronecker:10", 16)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.sources, b.sources) {
		t.Errorf("%v, then %v", a.sources, b.sources)
	}
	for _, s := range a.sources {
		if a.pair.Out.Degree(s) == 0 {
			t.Errorf("source %d has no edges", s)
		}
	}
	if _, err := newGraph("path:1", 1); err == nil {
		t.Error("a graph without edges has a source")
	}
	if levels := graph.BFS(a.pair.Out, a.sources[0]); levels[a.sources[0]] != 0 {
		t.Error("the source is no node")
	}
}
