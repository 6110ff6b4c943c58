//go:build cgo

package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTheLiveBenchmarkComparesAndSumsUp(t *testing.T) {
	requireGL(t)
	got := ringmaster(t, t.Context(), "", "bench", "live", "--live-workload", "light-256", "--live-repeats", "1", "--json")
	if got.code != 0 {
		t.Fatalf("exit code %d, %s", got.code, got.err)
	}
	rows := make(map[string]benchRow)
	for line := range strings.Lines(got.stdout) {
		var row benchRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		rows[row.Name] = row
	}
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
		if got := ringmaster(t, t.Context(), "", append([]string{"bench", "live"}, flags...)...); got.code != 1 || !strings.Contains(got.err, flags[0]) {
			t.Errorf("%v: exit code %d, %q", flags, got.code, got.err)
		}
	}
}
