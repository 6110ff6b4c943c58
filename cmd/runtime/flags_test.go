package main

import (
	"io"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"ringmaster/cmd/runtime/terminal"
)

func TestServersAreShownWithoutPasswords(t *testing.T) {
	if got := withoutPasswords("nats://u:secret@a:4222, nats://b:4222"); got != "nats://u:xxxxx@a:4222,nats://b:4222" {
		t.Error(got)
	}
	if got := withoutPasswords("nats://token@a:4222,token@b:4222,u:secret@c"); got != "nats://:xxxxx@a:4222,:xxxxx@b:4222,u:xxxxx@c" {
		t.Error(got)
	}
}

func TestEveryRateHasABurst(t *testing.T) {
	for rate, burst := range map[float64]int{0.1: 1, 1: 2, 20_000: 40_000, 1e300: math.MaxInt32} {
		if limit := (&runCmd{Rate: rate}).rateLimit(); limit.Burst != burst || limit.PerSecond != rate {
			t.Errorf("--rate %v: %+v, want a burst of %d", rate, *limit, burst)
		}
	}
}

// What no device can have is refused without one too, and names its flag.
func TestServingRefusesWhatCannotBeMeantBeforeAnythingIsOpened(t *testing.T) {
	for args, want := range map[string]string{
		"--windows 0": "--windows 0: want 1 to ", "--window-words 0": "--window-words 0", "--listen nowhere": `--listen "nowhere"`,
		"--listen 127.0.0.1:99999": "want a port of 0 to 65535", "--rate NaN": "--rate NaN", "--hang-after=-1s": "--hang-after -1s",
		"--drain=-1s": "--drain -1s", "--max-queues=-3": "--max-queues -3", "--lease-duration 2s": "--lease-duration 2s",
	} {
		got := ringmaster(t, t.Context(), "", append([]string{"run", "--decide-only", "--store", t.TempDir()}, strings.Fields(args)...)...)
		if got.code != 1 || !strings.Contains(got.err, want) {
			t.Errorf("%s: exit code %d, %q, want %q", args, got.code, got.err, want)
		}
	}
}

func TestATimeoutOfNothingIsCalledSo(t *testing.T) {
	for _, timeout := range []string{"0s", "-1s"} {
		for _, args := range []string{"submit --slots nop", "cancel b", "heap download 0:1", "graph list", "graph run bfs g --source 0 --worker w1"} {
			got := ringmaster(t, t.Context(), "", append(strings.Fields(args), "--queue", "q", "--timeout="+timeout)...)
			if got.code != 1 || !strings.Contains(got.err, "--timeout "+timeout+": want more than 0") {
				t.Errorf("%s: exit code %d, %q", args, got.code, got.err)
			}
		}
	}
}

// Who gives a flag that does nothing believes that it does.
func TestFlagsWithoutEffectAreToldOf(t *testing.T) {
	for line, want := range map[string][]string{
		"run --decide-only --windows 3 --memory-budget none": {"--windows", "--memory-budget"},
		"run --shadow --nats nats://h --device x":            {"--device"},
		"run --nats nats://h --store /tmp/x":                 {"--store"},
		"run --http-pprof --decision-log-bytes 5000000":      {"--http-pprof", "--decision-log-bytes"},
		"run --http :0 --http-pprof --windows 3 --store /x":  nil,
		"run --autotuner off --tuner-cache /tmp/x":           {"--tuner-cache"},
	} {
		var c cli
		parsed, err := newParser(&c, terminal.Stdio{Out: io.Discard, Err: io.Discard}).Parse(strings.Fields(line))
		if err != nil {
			t.Fatal(err)
		}
		c.Run.given = given(parsed)
		var told strings.Builder
		c.Run.warnOfIdle(slog.New(slog.NewTextHandler(&told, nil)))
		if n := strings.Count(told.String(), "without effect"); n != len(want) {
			t.Errorf("%s: %d are told of, want %v:\n%s", line, n, want, told.String())
		}
		for _, flag := range want {
			if !strings.Contains(told.String(), "flag="+flag+" ") {
				t.Errorf("%s: %s is not told of:\n%s", line, flag, told.String())
			}
		}
		for _, row := range idle {
			for _, name := range row.flags {
				if !slices.ContainsFunc(parsed.Flags(), func(f *kong.Flag) bool { return f.Name == name }) {
					t.Fatalf("run has no --%s", name)
				}
			}
		}
	}
}

// What is left out of the parser for a command line is not missed by it: the command is there with its help, and run with
// the settings.
func TestOnlyTheAskedCommandIsDescribedToTheParser(t *testing.T) {
	helpOf := func(path string, only kong.Option) (string, *kong.Kong) {
		var said strings.Builder
		parser := newParser(new(cli), terminal.Stdio{Out: &said, Err: &said}, only, kong.Exit(func(int) {}))
		_, _ = parser.Parse(append(strings.Fields(path), "--help"))
		return said.String(), parser
	}
	whole := onlyAsked([]string{"--help"})
	_, all := helpOf("", whole)
	if len(all.Model.Children) != reflect.TypeFor[cli]().NumField()-4 { // which are no commands
		t.Errorf("%d commands for --help", len(all.Model.Children))
	}
	for _, leaf := range all.Model.Leaves(false) {
		path := leaf.Path()
		got, parser := helpOf(path, onlyAsked(strings.Fields(path)))
		if want, _ := helpOf(path, whole); got != want {
			t.Errorf("%s --help:\n%swant:\n%s", path, got, want)
		}
		if many := len(parser.Model.Children) > 2; many != (path == "completion" || path == "man") {
			t.Errorf("%s: the parser knows %d commands", path, len(parser.Model.Children))
		}
		if got, want := namesOf(runFlags(parser.Model)), namesOf(runFlags(all.Model)); !slices.Equal(got, want) {
			t.Errorf("%s: the settings are %v, want %v", path, got, want)
		}
	}
}
