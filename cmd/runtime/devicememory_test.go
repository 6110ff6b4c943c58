package main

import (
	"strings"
	"testing"

	"ringmaster/cmd/runtime/doctor"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/glcompute"
)

func TestAMemoryBudgetThatIsNoneIsWrongUsage(t *testing.T) {
	got := ringmaster(t, t.Context(), "", "run", "--decide-only", "--memory-budget", "80%")
	if got.code != 2 || !strings.Contains(got.err, "auto, none or a number of bytes") {
		t.Errorf("exit code %d, %s", got.code, got.err)
	}
}

func TestDoctorsLineOfMemory(t *testing.T) {
	h200 := glcompute.Memory{Total: 143771 << 20, Available: 143000 << 20, Source: "GL_NVX_gpu_memory_info"}
	if got, want := doctor.Memory(h200, true), "memory: 143000 of 143771 MiB free (GL_NVX_gpu_memory_info); the --memory-budget of run is 80 % of what is free, now 114400 MiB"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := doctor.Memory(glcompute.Memory{}, false); !strings.Contains(got, "not reported") {
		t.Error(got)
	}
}

func TestMoreThanIsFreeDoesNotFit(t *testing.T) {
	m := glcompute.Memory{Available: 1000}
	for _, c := range []struct {
		bytes uint64
		known bool
		fits  bool
	}{{1000, true, true}, {1001, true, false}, {1 << 40, false, true}} {
		if err := worker.FitsDevice(c.bytes, m, c.known); (err == nil) != c.fits {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
