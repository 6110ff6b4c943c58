//go:build cgo

package main

import (
	"strings"
	"testing"
)

func TestLaunchesOfADemoRunOnTheResidentKernel(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"lease", "auto"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel() // it waits for the load most of its time
			s, got := demoSummary(t, "--limit", "3m", "--speed", "100", "--mode", mode)
			if got.code != 0 || s.SlotsSubmitted == 0 || s.SlotsSubmitted != s.SlotsExecuted || s.TokensCounted != s.TokensGenerated {
				t.Errorf("exit code %d, %d slots submitted, %d executed, %d tokens generated, %d counted: %s",
					got.code, s.SlotsSubmitted, s.SlotsExecuted, s.TokensGenerated, s.TokensCounted, got.err)
			}
			// A resident kernel of a software renderer would take a processor from the rest.
			software := strings.Contains(s.Device, "llvmpipe")
			if leased := s.Geometries["resident kernel"] > 0; leased == (software && mode == "auto") {
				t.Errorf("on %s: %v", s.Device, s.Geometries)
			}
		})
	}
}

func TestDoctorTellsOfTheLease(t *testing.T) {
	requireGL(t)
	got := ringmaster(t, t.Context(), "", "doctor")
	if got.code != 0 || !strings.Contains(got.stdout, "lease: a round of 16 slots") {
		t.Errorf("exit code %d, %s", got.code, got.stdout)
	}
}
