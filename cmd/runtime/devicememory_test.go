package main

import (
	"strings"
	"testing"

	"ringmaster/cmd/runtime/worker"
	"ringmaster/glcompute"
)

func TestMemoryBudgetIsAShareOfWhatIsFreeUnlessItIsGiven(t *testing.T) {
	h200 := glcompute.Memory{Total: 143771 << 20, Available: 143000 << 20, Source: "GL_NVX_gpu_memory_info"}
	for _, c := range []struct {
		flag   string
		memory glcompute.Memory
		known  bool
		want   uint64
	}{
		{"auto", h200, true, 114400 << 20},
		{"auto", glcompute.Memory{Total: 1 << 30, Available: 5<<20 + 999}, true, 4 << 20},
		{"auto", glcompute.Memory{Total: 1 << 30}, true, 1 << 20}, // never the 0 that means no bound
		{"auto", glcompute.Memory{}, false, 0},
		{"none", h200, true, 0},
		{"0", h200, true, 0},
		{"4096", h200, true, 4096},
		{"4096", glcompute.Memory{}, false, 4096},
	} {
		var f memoryFlag
		if err := f.UnmarshalText([]byte(c.flag)); err != nil {
			t.Fatal(err)
		}
		if got := f.Bytes(c.memory, c.known); got != c.want {
			t.Errorf("%s of %v: %d bytes, want %d", c.flag, c.memory, got, c.want)
		}
	}
	if got := (memoryFlag{}).Bytes(h200, true); got != 0 {
		t.Errorf("where nothing is asked for: %d bytes", got)
	}
	got := ringmaster(t, t.Context(), "", "run", "--decide-only", "--memory-budget", "80%")
	if got.code != 2 || !strings.Contains(got.err, "auto, none or a number of bytes") {
		t.Errorf("exit code %d, %s", got.code, got.err)
	}
}

func TestDoctorsLineOfMemory(t *testing.T) {
	h200 := glcompute.Memory{Total: 143771 << 20, Available: 143000 << 20, Source: "GL_NVX_gpu_memory_info"}
	if got, want := memoryState(h200, true), "memory: 143000 of 143771 MiB free (GL_NVX_gpu_memory_info); the --memory-budget of run is 80 % of what is free, now 114400 MiB"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := memoryState(glcompute.Memory{}, false); !strings.Contains(got, "not reported") {
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
