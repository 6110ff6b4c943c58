//go:build cgo

package main

import (
	"strings"
	"testing"
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
