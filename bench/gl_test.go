//go:build cgo

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringmaster/glcompute/gltest"
)

func requireGL(t *testing.T) {
	t.Helper()
	gltest.OpenUnclosed(t).Close()
}

// measured runs benchmarks and returns their rows by name.
func measured(t *testing.T, args ...string) map[string]row {
	t.Helper()
	got := bench(t, append(args, "--json")...)
	if got.code != 0 {
		t.Fatalf("exit code %d, %s", got.code, got.err)
	}
	return rowsOf(t, []byte(got.stdout))
}

// TestTheDeviceIsMeasured checks that every benchmark of the ring has its rows; each checks what it ran.
func TestTheDeviceIsMeasured(t *testing.T) {
	requireGL(t)
	rows := measured(t, "drain", "feed", "staging", "lease", "--slots", "4096")
	for _, name := range []string{"ring/fused4/best", "ring/feed/2 producers", "ring/staging/8 writers", "lease/p50", "lease/p99", "lease/launch/p50", "lease/launch/p99"} {
		if r := rows[name]; r.Value <= 0 || r.YardstickValue <= 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestGraphsAreSearchedByEveryWalk(t *testing.T) {
	requireGL(t)
	rows := measured(t, "graph", "--graph", "kronecker:13", "--sources", "1", "--scale", "16")
	for _, name := range []string{"graph/bfs/kronecker:13", "graph/bfs/sparse/kronecker:13", "graph/bfs/host/kronecker:13", "graph/memory/kronecker:13"} {
		if rows[name].Value <= 0 {
			t.Errorf("no row %s", name)
		}
	}
}

func TestTheGeometryWithoutATunerIsComparedWithASweep(t *testing.T) {
	requireGL(t)
	rows := measured(t, "own", "--live-workload", "light-256", "--live-workload", "heavy-256")
	for _, name := range []string{"policy/own/light-256", "policy/own/heavy-256", "policy/own/mean", "policy/own/p95", "policy/own/worst", "policy/limits/mean", "policy/limits/worst"} {
		if row, ok := rows[name]; !ok || !(row.Value > 0) || !(row.YardstickValue > 0) || !(row.Ratio > 0) {
			t.Errorf("%s: %+v", name, row)
		}
	}
	light, heavy := rows["policy/own/light-256"].Ratio, rows["policy/own/heavy-256"].Ratio
	if mean, worst := rows["policy/own/mean"].Value, rows["policy/own/worst"].Value; !near(mean, (light+heavy)/2) || !near(worst, max(light, heavy)) {
		t.Errorf("%.3f and %.3f have the mean %.3f and the worst %.3f", light, heavy, mean, worst)
	}
}

func TestTheLiveBenchmarkComparesAndSumsUp(t *testing.T) {
	requireGL(t)
	rows := measured(t, "live", "--live-workload", "light-256", "--live-repeats", "1")
	for _, name := range []string{"live/chosen/light-256", "live/500/light-256", "live/fixed/light-256", "live/chosen/mean", "live/chosen/worst", "live/500/mean", "live/500/worst", "live/500/sum", "live/fixed/mean", "live/fixed/sum", "policy/own/light-256", "policy/own/mean"} {
		if row, ok := rows[name]; !ok || !(row.Value > 0) || !(row.YardstickValue > 0) || !(row.Ratio > 0) {
			t.Errorf("%s: %+v", name, row)
		}
	}
	// Nothing is faster than the least of the medians with which it is compared.
	if rows["live/chosen/worst"].Value < 1 {
		t.Errorf("chosen better than the best: %+v", rows["live/chosen/worst"])
	}
	for _, flags := range [][]string{{"--live-workload", "nothing"}, {"--live-repeats", "0"}} {
		if got := bench(t, append([]string{"live"}, flags...)...); got.code != 1 || !strings.Contains(got.err, flags[0]) {
			t.Errorf("%v: exit code %d, %q", flags, got.code, got.err)
		}
	}
}

// TestTheCourseIsPlannedBeforeItRuns checks the flags of the course; package course runs it.
func TestTheCourseIsPlannedBeforeItRuns(t *testing.T) {
	requireGL(t)
	log := filepath.Join(t.TempDir(), "course.jsonl")
	got := bench(t, "course", "--quick", "--course-plan", "--course-log", log)
	if got.code != 0 || !strings.Contains(got.stdout, "45 cells, 0 of them known, after 5 runs") {
		t.Errorf("exit code %d, %q, %s", got.code, got.stdout, got.err)
	}
	known := `{"capacity":{"load":"steady-heavy","slots_per_second":1000}}` + "\n" +
		`{"cell":{"load":"urgent","rate":0.9,"decider":"warm","round":2,"seed":3,"classes":[{"class":"urgent","p99_ms":5}]}}` + "\n"
	if err := os.WriteFile(log, []byte(known), 0o600); err != nil {
		t.Fatal(err)
	}
	got = bench(t, "course", "--quick", "--course-plan", "--course-log", log, "--json")
	if got.code != 0 || !strings.Contains(got.stdout, `"cells":45,"known":1,"prepare":3`) {
		t.Errorf("exit code %d, %q, %s", got.code, got.stdout, got.err)
	}
	for _, flags := range [][]string{
		{"--course-load", "nothing"}, {"--course-decider", "nobody"}, {"--trace", filepath.Join(t.TempDir(), "none.csv")},
		{"--course-rate=-1", "--course-load=trace"}, {"--course-log", t.TempDir()},
	} {
		if got := bench(t, append([]string{"course", "--quick"}, flags...)...); got.code != 1 || got.err == "" {
			t.Errorf("%v: exit code %d, %q", flags, got.code, got.err)
		}
	}
}
