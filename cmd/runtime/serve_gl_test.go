//go:build cgo

package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestRunAnswersPublishedLinesAndDrains(t *testing.T) {
	requireGL(t)
	s := serve(t)
	watched := make(chan outcome, 2)
	for queue, count := range map[string]string{"q1": "2", "q2": "1"} { // q1 may be decided between its records
		go func() {
			watched <- ringmaster(t, t.Context(), "", "watch", "--nats", s.url, "--json", "--count", count, "--queue", queue)
		}()
	}
	const lines = `{"kind":"graph","queue":"q1","graph_node_count":1000,"frontier_density_bps":9000}
{"kind":"queue","queue":"q1","queue_len":70000}
{"kind":"queue","queue":"q1","queue_len":-5}
{"kind":"queue","queue":"q2","queue_len":0}
`
	published := publishUntilWatched(t, s.url, lines, watched)
	if published.code != 1 || !strings.Contains(published.err, "line 3") || !strings.Contains(published.err, "queue_len") {
		t.Errorf("publish: exit code %d, %q", published.code, published.err)
	}
	topologies := map[string]bool{}
	for range cap(watched) {
		got := <-watched
		if got.code != 0 {
			t.Fatalf("watch: exit code %d, %s", got.code, got.err)
		}
		for line := range strings.Lines(got.stdout) {
			var r struct{ Queue, Topology string }
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatalf("watch printed %q: %v", line, err)
			}
			topologies[r.Queue+" "+r.Topology] = true
		}
	}
	if !topologies["q1 dense_frontier"] || !topologies["q2 none"] {
		t.Errorf("topologies %v", topologies)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}

func TestTraceWithWorkRunsOnAnotherProcessesRing(t *testing.T) {
	requireGL(t)
	s := serve(t)
	got := ringmaster(t, t.Context(), "", "publish", "trace", "--work", "--nats", s.url, "--worker", "w1", "--limit", "2m", "--speed", "200")
	if got.code != 0 || !strings.Contains(got.err, "published") {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}

func TestRunWithoutGLSaysWhatToInstallAndOffersToDecideOnly(t *testing.T) {
	t.Setenv("DISPLAY", "")
	got := ringmaster(t, t.Context(), "", "run", "--gl", "glfw", "--listen", "127.0.0.1:0", "--store", t.TempDir())
	if got.code != 1 || !strings.Contains(got.err, "--decide-only") || !strings.Contains(got.err, "display") {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
}

func TestDoctorComputesOnTheDevice(t *testing.T) {
	requireGL(t)
	all := ringmaster(t, t.Context(), "", "doctor")
	if all.code != 0 || !strings.Contains(all.stdout, "self-test: passed") {
		t.Errorf("exit code %d, %s", all.code, all.stdout)
	}
}
