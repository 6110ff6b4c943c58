package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringmaster/cmd/runtime/graphs"
	"ringmaster/cmd/runtime/terminal"
)

const (
	facebook = "../../megakernel/graph/testdata/ego-facebook.el.gz"
	caida    = "../../megakernel/graph/testdata/as-caida.el.gz"
)

// runGraph runs the command and returns its exit code and what it wrote.
func runGraph(in string, args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = execute(context.Background(), append([]string{"graph"}, args...), terminal.Stdio{In: strings.NewReader(in), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

func graphJSON(t *testing.T, in string, args ...string) graphs.Report {
	t.Helper()
	code, out, errs := runGraph(in, append(args, "--json")...)
	if code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, errs)
	}
	var r graphs.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %v in %s", args, err, out)
	}
	return r
}

// The levels were counted by a program of its own.
func TestGraphRunCountsLevelsOfRealGraphs(t *testing.T) {
	for _, c := range []struct {
		file, source string
		edges        uint64
		levels       []uint64
	}{
		{facebook, "0", 88234, []uint64{1, 347, 1171, 1742, 519, 117, 142}},
		{facebook, "107", 88234, []uint64{1, 1045, 1641, 1093, 117, 142}},
		{caida, "0", 53381, []uint64{1, 3, 1137, 12360, 11018, 1847, 101, 1, 1, 1, 1, 1, 1, 1, 1}},
	} {
		r := graphJSON(t, "", "run", "bfs", "--engine", "reference", "--source", c.source, c.file)
		if !slices.Equal(r.Levels, c.levels) || r.EdgesTraversed != c.edges || r.Reached != uint64(r.Nodes) {
			t.Errorf("%s from %s: %+v", c.file, c.source, r)
		}
	}
}

func TestGraphRunCountsEdgesOfTheReachedComponentOnce(t *testing.T) {
	const list = "10 20\n20 30\n30 10\n30 30\n77 78\n"
	r := graphJSON(t, list, "run", "bfs", "--engine", "reference", "--source", "20", "-")
	if r.Reached != 3 || r.EdgesTraversed != 3 || !slices.Equal(r.Levels, []uint64{1, 2}) {
		t.Errorf("undirected: %+v", r)
	}
	r = graphJSON(t, list, "run", "bfs", "--engine", "reference", "--source", "30", "--directed", "-")
	if r.Reached != 3 || r.EdgesTraversed != 3 || !slices.Equal(r.Levels, []uint64{1, 1, 1}) {
		t.Errorf("directed: %+v", r)
	}
}

func TestGraphRunWritesValuesUnderTheFilesNames(t *testing.T) {
	out := filepath.Join(t.TempDir(), "values")
	for _, c := range []struct {
		args string
		want string
	}{
		{"bfs --source 7", "5 1\n7 0\n900 -1\n901 -1\n"},
		{"sssp --source 7", "5 3\n7 0\n900 -1\n901 -1\n"},
		{"cc", "5 5\n7 5\n900 900\n901 900\n"},
		{"cc --directed", "5 5\n7 5\n900 900\n901 900\n"},
		{"reach --source 901 --source 5", "5 2\n7 2\n900 1\n901 1\n"},
	} {
		args := append(append([]string{"run"}, strings.Fields(c.args)...), "--engine", "reference", "--out", out, "-")
		if code, _, errs := runGraph("7 5 3\n901 900 4\n", args...); code != 0 {
			t.Fatalf("%s: %s", c.args, errs)
		}
		if got, err := os.ReadFile(out); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v; want %q", c.args, got, err, c.want)
		}
	}
}

func TestGraphConvertKeepsTheGraph(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "g.rmg")
	if code, _, errs := runGraph("", "convert", caida, "--out", binary); code != 0 || !strings.Contains(errs, "53,381 edges") {
		t.Fatal(errs)
	}
	a := graphJSON(t, "", "run", "bfs", "--engine", "reference", "--source", "5", caida)
	b := graphJSON(t, "", "run", "bfs", "--engine", "reference", "--source", "5", binary)
	if a.Seconds, b.Seconds, a.EdgesPerSecond, b.EdgesPerSecond = 0, 0, 0, 0; !slices.Equal(a.Levels, b.Levels) || a.EdgesTraversed != b.EdgesTraversed {
		t.Errorf("%+v from the list, %+v from the binary file", a, b)
	}
	if code, _, errs := runGraph("", "run", "bfs", "--engine", "reference", "--source", "5", "--directed", binary); code != 1 || !strings.Contains(errs, "undirected") {
		t.Errorf("an undirected file read as directed: %d, %s", code, errs)
	}
}

func TestGraphRunRefusesBadInputBeforeItOpensADevice(t *testing.T) {
	for _, c := range []struct{ args, in, want string }{
		{"bfs -", "0 1", "bfs takes one --source; got 0"},
		{"cc --source 1 -", "0 1", "cc labels all nodes"},
		{"bfs --source 9 -", "0 1", "--source 9 is no node of the graph: its 2 nodes are called 0 to 1"},
		{"bfs --source 0 -", "", "--source 0: the graph is empty"},
		{"bfs --source 0", "", "name a FILE or --generate"},
		{"bfs --source 0 - --generate path:3", "", "name a FILE or --generate"},
		{"bfs --source 0 --generate ring:3", "", "kronecker:SCALE"},
		{"bfs --source 0 -", "0 1\n0 -1\n", "-: graph: line 2: node \"-1\" is negative"},
		{"sssp --source 0 -", "0 1 -5\n", "line 1: weight \"-5\" is negative"},
		{"bfs --source 0 --max-edges 1 -", "0 1\n1 2\n", "larger than allowed: over 1 edges"},
		{"bfs --source 0 no-such-file", "", "no such file"},
	} {
		args := append([]string{"run", "--device", "no-such-device"}, strings.Fields(c.args)...)
		code, _, errs := runGraph(c.in, args...)
		if code != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d, %q, want %q", c.args, code, errs, c.want)
		}
	}
}

func TestGraphRunWithoutADeviceNamesDoctor(t *testing.T) {
	code, _, errs := runGraph("0 1", "run", "bfs", "--source", "0", "--device", "no-such-device", "-")
	if code != 1 || !strings.Contains(errs, "ringmaster doctor") || !strings.Contains(errs, "--engine reference") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestAFileThatCannotBeWrittenIsRefusedBeforeTheRun(t *testing.T) {
	for _, args := range []string{"run bfs --source 0 --engine reference", "convert"} {
		code, out, errs := runGraph("no graph at all", append(strings.Fields(args), "-", "--out", "/nowhere/at/all")...)
		if code != 1 || out != "" || errs != "ringmaster: --out /nowhere/at/all: no such file or directory\n" {
			t.Errorf("%s: exit code %d, %q", args, code, errs)
		}
	}
}
