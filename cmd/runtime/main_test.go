package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/glcompute"
	"ringmaster/megakernel/texttest"
	"ringmaster/telemetry/natsio/natstest"
)

// TestMain serves main-thread calls, as the command's main function does.
func TestMain(m *testing.M) {
	os.Setenv("RINGMASTER_TUNER_CACHE", "") // what earlier runs learned is no part of a test
	if _, named := os.LookupEnv("RINGMASTER_CONFIG"); !named {
		os.Setenv("RINGMASTER_CONFIG", "") // nor is what this machine's user has set
	}
	if os.Getenv(asCommand) != "" {
		main()
	}
	code := glcompute.Main(m.Run)
	natstest.Remove()
	os.Exit(code)
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
	var stdout bytes.Buffer
	var stderr texttest.Log // the log is written there too, by any goroutine
	code := execute(ctx, args, terminal.Stdio{In: strings.NewReader(stdin), Out: &stdout, Err: &stderr})
	return outcome{code, stdout.String(), stderr.String()}
}

func TestHelpExplainsEveryCommand(t *testing.T) {
	top := ringmaster(t, t.Context(), "", "--help")
	if top.code != 0 {
		t.Fatalf("exit code %d: %s", top.code, top.err)
	}
	for _, command := range []string{"demo", "run", "publish", "watch", "replay", "exec", "tune", "submit", "cancel", "work", "heap", "graph", "opcodes", "doctor", "version"} {
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
	for _, args := range [][]string{{"dance"}, {"demo", "--speed", "fast"}, {"run", "--gl", "vulkan"}} {
		got := ringmaster(t, t.Context(), "", args...)
		if got.code != 2 || !strings.Contains(got.err, "--help") {
			t.Errorf("%v: exit code %d, %q", args, got.code, got.err)
		}
	}
}

func TestUsageErrorsNameTheHelpOfTheCommandThatWasMeant(t *testing.T) {
	for args, want := range map[string]string{
		"graph":             "'ringmaster graph --help'",
		"graph run nothing": "'ringmaster graph run --help'",
		"exec":              "'ringmaster exec --help'",
		"dance":             "'ringmaster COMMAND --help'",
	} {
		if got := ringmaster(t, t.Context(), "", strings.Fields(args)...); got.code != 2 || !strings.Contains(got.err, want) {
			t.Errorf("%s: exit code %d, %q, want %s", args, got.code, got.err, want)
		}
	}
}

func TestHelpCanBeAskedForLikeACommand(t *testing.T) {
	for args, command := range map[string]string{"help": "--help", "help graph run": "graph run --help"} {
		got, want := ringmaster(t, t.Context(), "", strings.Fields(args)...), ringmaster(t, t.Context(), "", strings.Fields(command)...)
		if got != want || got.code != 0 {
			t.Errorf("%s: %+v, want %+v", args, got, want)
		}
	}
	if got := ringmaster(t, t.Context(), ""); got.code != 2 || !strings.Contains(got.err, "Run and decide:") || got.stdout != "" {
		t.Errorf("without arguments: %+v", got)
	}
}

func TestHelpPrintsDefaultsBehindPlaceholders(t *testing.T) {
	words := func(args ...string) string {
		return strings.Join(strings.Fields(ringmaster(t, t.Context(), "", args...).stdout), " ")
	}
	for _, want := range []string{"--rate=N", "(default: 20000) ($RINGMASTER_RATE).", "(default: auto) ($RINGMASTER_MEMORY_BUDGET).", "(default: 16384)."} {
		if got := words("run", "--help"); !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if got := words("graph", "run", "--help"); !strings.Contains(got, "Refuse files that list more edges (default: 268435456).") {
		t.Error(got)
	}
}

func TestAWrongModeOfTheTunerSaysWhichThereAreAndWhereItCameFrom(t *testing.T) {
	t.Setenv("RINGMASTER_AUTOTUNER", "maybe")
	got := ringmaster(t, t.Context(), "", "run", "--decide-only")
	if got.code != 2 || !strings.Contains(got.err, `--autotuner: "maybe": want on, off (or default), or reference`) || !strings.Contains(got.err, `RINGMASTER_AUTOTUNER="maybe"`) {
		t.Errorf("%+v", got)
	}
}

func TestNamesThatCannotBeAreRefusedWithTheirFlag(t *testing.T) {
	for args, want := range map[string]string{
		"graph list --queue a.b":                    `--queue "a.b"`,
		"graph load g main.go --queue a.b":          `--queue "a.b"`,
		"submit --slots nop --queue=":               `--queue ""`,
		"cancel b --queue q --worker a*":            `--worker "a*"`,
		"heap download 0:4 --queue q --worker a.b":  `--worker "a.b"`,
		"graph run bfs g --source 1 --queue walks":  "--worker",
		"graph run bfs g --source 1 --worker gpu0 ": "--queue",
	} {
		if got := ringmaster(t, t.Context(), "", strings.Fields(args)...); got.code == 0 || !strings.Contains(got.err, want) {
			t.Errorf("%s: exit code %d, %q, want %s", args, got.code, got.err, want)
		}
	}
}

func TestAWorkerThatNobodyServesComesWithAdvice(t *testing.T) {
	s := serve(t, "--decide-only")
	for _, args := range [][]string{{"graph", "list"}, {"graph", "drop", "g"}, {"heap", "download", "0:4"}, {"cancel", "b"}} {
		got := ringmaster(t, t.Context(), "", append(args, "--nats", s.url, "--worker", "w1", "--queue", "q")...)
		if got.code != 1 || !strings.Contains(got.err, "is up with a GPU") {
			t.Errorf("%v: exit code %d, %q", args, got.code, got.err)
		}
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}

func TestVersionNamesTheToolchain(t *testing.T) {
	got := ringmaster(t, t.Context(), "", "version")
	if got.code != 0 || !strings.Contains(got.stdout, "ringmaster dev, go1.") {
		t.Errorf("exit code %d, %q", got.code, got.stdout)
	}
}

func TestBadWorkerNameIsRefusedBeforeAnythingStarts(t *testing.T) {
	got := ringmaster(t, t.Context(), "", "run", "--decide-only", "--listen", "127.0.0.1:0", "--store", t.TempDir(), "--worker", "a.b")
	if got.code != 1 || !strings.Contains(got.err, "worker name") {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
}

// The embedded server asks nobody who they are, so it is not for other machines unless somebody says so.
func TestRunServesOthersOnlyIfTold(t *testing.T) {
	run := func(flags ...string) outcome {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // serves no longer than it takes to start
		return ringmaster(t, ctx, "", append([]string{"run", "--no-gpu", "--listen", "0.0.0.0:0", "--store", t.TempDir()}, flags...)...)
	}
	if got := run(); got.code != 1 || !strings.Contains(got.err, "--insecure-listen") || !strings.Contains(got.err, "auth template") {
		t.Errorf("exit code %d, %s", got.code, got.err)
	}
	if got := run("--insecure-listen"); got.code != 0 {
		t.Errorf("with the flag: exit code %d, %s", got.code, got.err)
	}
}

// Two servers that write the same streams would damage them.
func TestStreamsOfAnotherServerAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	other, err := worker.ClaimStore(dir, "the server at 127.0.0.1:4222")
	if err != nil {
		t.Fatal(err)
	}
	run := func() outcome {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // serves no longer than it takes to start
		return ringmaster(t, ctx, "", "run", "--decide-only", "--listen", "127.0.0.1:0", "--store", dir)
	}
	if got := run(); got.code != 1 || !strings.Contains(got.err, "in use (the server at 127.0.0.1:4222, process ") || !strings.Contains(got.err, "--store") {
		t.Errorf("exit code %d, %s", got.code, got.err)
	}
	other.Release()
	for range 2 { // and gives them back at its end
		if got := run(); got.code != 0 {
			t.Errorf("when the other has ended: exit code %d, %s", got.code, got.err)
		}
	}
}

func TestATraceIsNotReplayedAtASpeedThatIsNone(t *testing.T) {
	for _, speed := range []string{"0", "-1", "NaN", "Inf"} {
		for _, args := range [][]string{{"demo"}, {"publish", "trace", "--nats", "nats://127.0.0.1:1"}} {
			got := ringmaster(t, t.Context(), "", append(args, "--speed="+speed)...)
			if got.code != 1 || !strings.Contains(got.err, "--speed") {
				t.Errorf("%v --speed=%s: exit code %d, %q", args, speed, got.code, got.err)
			}
		}
	}
}

func TestRunRefusesWhatCannotBeMeantBeforeAnythingStarts(t *testing.T) {
	for _, flag := range []string{"--hang-after=-3s", "--drain=-1s", "--rate=0", "--rate=NaN", "--max-queues=-5", "--lease-duration=0s", "--lease-duration=-1ms", "--lease-duration=1001ms"} {
		got := ringmaster(t, t.Context(), "", "run", "--decide-only", "--listen", "127.0.0.1:0", "--store", t.TempDir(), flag)
		name, _, _ := strings.Cut(flag, "=")
		if got.code != 1 || !strings.Contains(got.err, name) || strings.Contains(got.err, "embedded") {
			t.Errorf("%s: exit code %d, %q", flag, got.code, got.err)
		}
	}
}
