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
