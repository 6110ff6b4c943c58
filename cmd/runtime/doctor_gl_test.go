//go:build cgo

package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDoctorSaysThatANameIsInUse(t *testing.T) {
	requireGL(t)
	s := serve(t)
	for name, want := range map[string]bool{"w1": true, "w2": false} {
		got := ringmaster(t, t.Context(), "", "doctor", "--nats", s.url, "--worker", name)
		if said := strings.Contains(got.stdout, "a worker "+name+" serves on this bus"); got.code != 0 || said != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}

// A worker that was given for a GPU does not serve slowly on the processors instead.
func TestAnotherDeviceThanTheExpectedOneIsRefused(t *testing.T) {
	requireGL(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for command, code := range map[string]int{"run": 1, "doctor": doctorNoGL} {
		got := ringmaster(t, t.Context(), "", command, "--listen", "127.0.0.1:0", "--expect-device", "no such device")
		if got.code != code || !strings.Contains(got.stdout+got.err, "not the expected device: --expect-device no such device, and OpenGL opens ") {
			t.Errorf("%s: %+v", command, got)
		}
	}
}

// The worker that runs is asked, from anywhere, and what it has instead of what was expected is missing.
func TestDoctorAsksAWorkerThatRuns(t *testing.T) {
	requireGL(t)
	s := serve(t, "--limit", "q:rate=0.001,burst=1")
	for range 2 {
		if got := ringmaster(t, t.Context(), "", "submit", "--nats", s.url, "--worker", "w1", "--queue", "q", "--slots", "nop", "--no-wait"); got.code != 0 {
			t.Fatalf("%+v", got)
		}
	}
	ask := func(args ...string) outcome {
		return ringmaster(t, t.Context(), "", append([]string{"doctor", "--running", "--nats", s.url}, args...)...)
	}
	want := []string{"worker w1", "version " + version + ", decides and executes", "main loop: turned ", "backlog: 1 batch in the stream, 1 of them in hand", "refused: 0 records", "nothing is missing"}
	var got outcome
	for deadline := time.Now().Add(clientPatience); time.Now().Before(deadline); {
		if got = ask("--worker", "w1"); got.code == 0 && !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(got.stdout, w) }) {
			break
		}
	}
	for _, w := range want {
		if got.code != 0 || !strings.Contains(got.stdout, w) {
			t.Errorf("no %q in %+v", w, got)
		}
	}
	if got := ask("--worker", "w1", "--expect-device", "no such device"); got.code != doctorUnwell || !strings.Contains(got.stdout, "  missing: not the expected device: --expect-device no such device") {
		t.Errorf("%+v", got)
	}
	if got := ask("--worker", "w2"); got.code != 1 || !strings.Contains(got.err, "no worker w2 serves on this bus") {
		t.Errorf("%+v", got)
	}
	s.stop()
}
