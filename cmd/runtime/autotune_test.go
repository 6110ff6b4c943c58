package main

import (
	"os"
	"strings"
	"testing"
)

func TestInvalidAutotunerIsWrongUsageWhereverItStands(t *testing.T) {
	for _, command := range []string{"run", "demo"} {
		got := ringmaster(t, t.Context(), "", command, "--autotuner", "sometimes")
		if got.code != 2 || !strings.Contains(got.err, "sometimes") || !strings.Contains(got.err, "reference") {
			t.Errorf("%s: exit code %d, %q", command, got.code, got.err)
		}
		t.Setenv("RINGMASTER_AUTOTUNER", "perhaps")
		got = ringmaster(t, t.Context(), "", command, "--limit", "1s")
		if got.code != 2 {
			t.Errorf("%s by its environment: exit code %d, %q", command, got.code, got.err)
		}
		os.Unsetenv("RINGMASTER_AUTOTUNER")
	}
}
