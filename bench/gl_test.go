//go:build cgo

package main

import (
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

func TestTheLiveBenchmarkComparesAndSumsUp(t *testing.T) {
	requireGL(t)
	rows := measured(t, "live", "--live-workload", "light-256", "--live-repeats", "1")
	for _, name := range []string{"live/chosen/light-256", "live/500/light-256", "live/fixed/light-256", "live/chosen/mean", "live/chosen/worst", "live/500/mean", "live/500/worst", "live/500/sum", "live/fixed/mean", "live/fixed/sum"} {
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
