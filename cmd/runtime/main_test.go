package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"ringmaster/glcompute"
)

// TestMain serves main-thread calls, as the command's main function does.
func TestMain(m *testing.M) {
	os.Setenv("RINGMASTER_TUNER_CACHE", "") // what earlier runs learned is no part of a test
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(glcompute.Main(m.Run))
}

// asCommand in the environment makes the test binary the command itself.
const asCommand = "RINGMASTER_TEST_AS_COMMAND"

// outcome is what a command line left behind.
type outcome struct {
	code        int
	stdout, err string
}

// ringmaster runs a command line in this process.
func ringmaster(t *testing.T, ctx context.Context, stdin string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := execute(ctx, args, stdio{in: strings.NewReader(stdin), out: &stdout, err: &stderr})
	return outcome{code, stdout.String(), stderr.String()}
}

func TestHelpExplainsEveryCommand(t *testing.T) {
	top := ringmaster(t, t.Context(), "", "--help")
	if top.code != 0 {
		t.Fatalf("exit code %d: %s", top.code, top.err)
	}
	for _, command := range []string{"demo", "run", "publish", "watch", "replay", "exec", "tune", "heap", "opcodes", "doctor", "bench", "version"} {
		if !strings.Contains(top.stdout, command) {
			t.Errorf("--help does not name %s", command)
		}
		help := ringmaster(t, t.Context(), "", command, "--help")
		if help.code != 0 || !strings.Contains(help.stdout, "Usage: ringmaster "+command) {
			t.Errorf("%s --help: exit code %d, %q", command, help.code, help.stdout)
		}
	}
}

func TestWrongUsageIsExitCodeTwoAndSaysWhereHelpIs(t *testing.T) {
	for _, args := range [][]string{{"dance"}, {"demo", "--speed", "fast"}, {"run", "--gl", "vulkan"}, {"bench", "everything"}} {
		got := ringmaster(t, t.Context(), "", args...)
		if got.code != 2 || !strings.Contains(got.err, "--help") {
			t.Errorf("%v: exit code %d, %q", args, got.code, got.err)
		}
	}
}

func TestVersionNamesTheToolchain(t *testing.T) {
	got := ringmaster(t, t.Context(), "", "version")
	if got.code != 0 || !strings.Contains(got.stdout, "ringmaster dev, go1.") {
		t.Errorf("exit code %d, %q", got.code, got.stdout)
	}
}

func TestBadWorkerNameIsRefusedBeforeAnythingStarts(t *testing.T) {
	got := ringmaster(t, t.Context(), "", "run", "--no-gpu", "--listen", "127.0.0.1:0", "--store", t.TempDir(), "--worker", "a.b")
	if got.code != 1 || !strings.Contains(got.err, "worker name") {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
}

func TestRunRefusesWhatCannotBeMeantBeforeAnythingStarts(t *testing.T) {
	for _, flag := range []string{"--hang-after=-3s", "--drain=-1s", "--rate=0", "--rate=NaN", "--lease-duration=0s", "--lease-duration=-1ms", "--lease-duration=1001ms"} {
		got := ringmaster(t, t.Context(), "", "run", "--no-gpu", "--listen", "127.0.0.1:0", "--store", t.TempDir(), flag)
		name, _, _ := strings.Cut(flag, "=")
		if got.code != 1 || !strings.Contains(got.err, name) || strings.Contains(got.err, "embedded") {
			t.Errorf("%s: exit code %d, %q", flag, got.code, got.err)
		}
	}
}
