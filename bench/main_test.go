package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"ringmaster/glcompute"
)

// TestMain serves main-thread calls, as the program's main function does.
func TestMain(m *testing.M) { os.Exit(glcompute.Main(m.Run)) }

// outcome is what a run of the program left behind.
type outcome struct {
	code        int
	stdout, err string
}

// bench runs the program's arguments in this process.
func bench(t *testing.T, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := execute(t.Context(), args, &stdout, &stderr)
	return outcome{code, stdout.String(), stderr.String()}
}

func TestWhatCannotBeMeasuredIsRefusedBeforeAnythingIsPrinted(t *testing.T) {
	for args, want := range map[string]string{
		"graph --scale 99":             "--scale 99: it is 16 to 20",
		"policy graph --sources 0":     "--sources 0",
		"graph --graph grid:7":         "grid:WxH",
		"graph --graph kronecker:30":   "--graph kronecker:30",
		"policy graph --graph path:1":  "--graph path:1: it has no edges",
		"graph --graph uniform:4:0":    "--graph uniform:4:0: ",
		"graph --graph kronecker:0":    "--graph kronecker:0: it has no edges",
		"course --course-load nothing": `there is no load "nothing"; there are trace, steady-light`,
		"course --course-rate=-1":      "rate -1, want more than 0",
		"course --course-span 1ms":     "cells of 1ms, want 100ms to 10m",
		"course --course-rounds=-1":    "-1 rounds, want at least 1",
		"course --course-budget=-1s":   "a budget of -1s",
		"course --trace /nonexistent":  "--trace: open /nonexistent",
		"tuner":                        "--space FILE",
		"live --live-workload nothing": "tune --list",
		"live --live-repeats 0":        "--live-repeats 0",
		"own --live-sweep=-1s":         "--live-sweep -1s",
		"soak --duration 0s":           "--duration 0s",
		"drain --slots=-1":             "--slots -1",
	} {
		got := bench(t, strings.Fields(args)...)
		if got.code != 1 || got.stdout != "" || !strings.Contains(got.err, want) {
			t.Errorf("bench %s: %+v, want %q", args, got, want)
		}
	}
}

func TestWrongUsageIsExitCodeTwo(t *testing.T) {
	for _, args := range [][]string{{}, {"everything"}, {"policy", "--gl", "vulkan"}} {
		if got := bench(t, args...); got.code != 2 || !strings.Contains(got.err, "--help") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestADeviceThatIsNamedHasToBeThere(t *testing.T) {
	if got := bench(t, "policy", "--device", "77"); got.code != 1 || got.stdout != "" || got.err == "" {
		t.Errorf("%+v", got)
	}
}

func TestFourDigitsNeedNoExponent(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.1234567: "0.1235", 9999: "9999", 10_980: "10.98 k", 905_512: "905.5 k", 7.29e6: "7.29 M", 4.74e10: "47.4 G",
	} {
		if got := fourDigits(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}
