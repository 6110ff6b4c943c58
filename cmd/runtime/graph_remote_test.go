//go:build cgo

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringmaster/cmd/runtime/graphs"
)

func TestGraphsLiveOnAWorkerAndAreSearchedOverNATS(t *testing.T) {
	requireGL(t)
	s := serve(t)
	to := []string{"--nats", s.url, "--worker", "w1", "--queue", "walks"}
	ask := func(args ...string) outcome {
		t.Helper()
		return ringmaster(t, t.Context(), "", append(append([]string{"graph"}, args...), to...)...)
	}
	if got := ask("load", "as", caida); got.code != 0 {
		t.Fatal(got.err)
	}
	if got := ask("load", "ego", facebook); got.code != 0 {
		t.Fatal(got.err)
	}
	got := ask("list", "--json")
	var rows []graphs.Listed
	if err := json.Unmarshal([]byte(got.stdout), &rows); err != nil || len(rows) != 2 || rows[0].Name != "as" || rows[1].Edges != 88234 || rows[0].Bytes != 532952 {
		t.Errorf("list: %s%s, %v", got.stdout, got.err, err)
	}
	values := filepath.Join(t.TempDir(), "values")
	got = ask("run", "bfs", "as", "--source", "0", "--out", values, "--json")
	var report graphs.Report
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
		t.Fatal(err, got.stdout, got.err)
	}
	if want := []uint64{1, 3, 1137, 12360, 11018, 1847, 101, 1, 1, 1, 1, 1, 1, 1, 1}; !slices.Equal(report.Levels, want) || report.EdgesTraversed != 53381 {
		t.Errorf("%+v", report)
	}
	data, err := os.ReadFile(values)
	if lines := strings.Split(string(data), "\n"); err != nil || len(lines) != 26475+1 || lines[0] != "0 0" || lines[3446] != "3446 1" {
		t.Errorf("%d lines of values, %v", len(lines), err)
	}
	gaps := filepath.Join(t.TempDir(), "gaps")
	if err := os.WriteFile(gaps, []byte("70 5\n900 901\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ask("load", "gaps", gaps); got.code != 0 {
		t.Fatal(got.err)
	}
	if got := ask("run", "cc", "gaps", "--out", values); got.code != 0 || !strings.Contains(got.stdout, "4 nodes reached") {
		t.Errorf("%s%s", got.stdout, got.err)
	}
	if data, err := os.ReadFile(values); err != nil || string(data) != "5 5\n70 5\n900 900\n901 900\n" {
		t.Errorf("%q, %v", data, err)
	}
	for args, want := range map[string]string{
		"run bfs none --source 0":      "no graph none",
		"run bfs ego --source 99999":   "--source 99999 is no node of the graph",
		"drop none":                    "no graph none",
		"load bad ../../go.mod":        "graph: line 1",
		"run sssp ego --source 1,2":    "sssp takes one --source",
		"run cc ego --weights 3":       "without --verify, --timed, --generate, --weights",
		"run reach ego --source 99999": "is no node",
	} {
		if got := ask(strings.Fields(args)...); got.code != 1 || !strings.Contains(got.err, want) {
			t.Errorf("%s: exit code %d, %s, want %q", args, got.code, got.err, want)
		}
	}
	if got := ask("drop", "as"); got.code != 0 {
		t.Error(got.err)
	}
	if got := ask("list"); !strings.Contains(got.stdout, "ego") || strings.Contains(got.stdout, "as ") {
		t.Errorf("after the drop: %s", got.stdout)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}
