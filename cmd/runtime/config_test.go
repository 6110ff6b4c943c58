package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/terminal"
)

func settingsFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A flag wins over the environment, that over the file, and that over the default.
func TestWhereASettingComesFrom(t *testing.T) {
	path := settingsFile(t, "rate = 5\ndrain = '3s'\nnats = 'nats://u:secret@host:4222'\nworker = 'gpu7'\n[policy]\njit_queue_len_threshold = 8192\n")
	show := func(args ...string) string {
		t.Helper()
		got := ringmaster(t, t.Context(), "", append([]string{"config", "show"}, args...)...)
		if got.code != 0 {
			t.Errorf("%+v", got)
		}
		return strings.Join(strings.Fields(got.stdout), " ")
	}
	t.Setenv("RINGMASTER_RATE", "7")
	for _, want := range []string{"rate 7 RINGMASTER_RATE", "drain 3s " + path + ": line 2", "nats nats://u:xxxxx@host:4222", "hang-after 30s default", "policy.jit_queue_len_threshold 8192"} {
		if got := show("--config", path); !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	t.Setenv("RINGMASTER_CONFIG", path)
	if got := show("--set"); !strings.Contains(got, "worker gpu7") || strings.Contains(got, "default") {
		t.Errorf("%s", got)
	}
	// The worker's name in the file is no name; the one on the command line is none either, and that is refused first.
	bad := settingsFile(t, "worker = 'a b'\n")
	for args, want := range map[string]string{"run": `worker name "a b"`, "run --worker=c:d": `worker name "c:d"`} {
		if got := ringmaster(t, t.Context(), "", append(strings.Fields(args), "--config", bad)...); got.code != 1 || !strings.Contains(got.err, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

func TestASettingThatIsWrongIsNamedWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"\nrate = 'x'":                 ": line 2: --rate: ",
		"done-stream = 'x'":            ": line 1: --done-stream",
		"rats = 3":                     `there is no setting "rats"`,
		"hang-after = '-3s'":           "--hang-after -3s: want",
		"[policy]\ndwell = 1000000000": ": line 2, column 9: ",
	} {
		path := settingsFile(t, text)
		for _, args := range [][]string{{"config", "check", path}, {"--config", path, "run", "--decide-only"}} {
			if got := ringmaster(t, t.Context(), "", args...); got.code == 0 || !strings.Contains(got.err, want) {
				t.Errorf("%q: %v: %+v, want %q", text, args, got, want)
			}
		}
	}
	if got := ringmaster(t, t.Context(), "", "run", "--config", "/nowhere/config.toml"); got.code != 2 || !strings.Contains(got.err, "RINGMASTER_CONFIG): ") || !strings.Contains(got.err, "no such file") {
		t.Errorf("%+v", got)
	}
}

func TestFilesOfSettingsAreCheckedAndCompared(t *testing.T) {
	a, b := settingsFile(t, "rate = 5\n"), settingsFile(t, "rate = 6\n[policy]\njit_queue_len_threshold = 8192\n")
	if got := ringmaster(t, t.Context(), "", "config", "check", b); got.code != 0 || !strings.Contains(got.stdout, "it sets 1 setting and changes 1 threshold") {
		t.Errorf("%+v", got)
	}
	if got := ringmaster(t, t.Context(), "", "config", "diff", a, b); got.code != 1 || !strings.Contains(got.stdout, "policy.jit_queue_len_threshold") || !strings.Contains(got.stdout, "rate") {
		t.Errorf("%+v", got)
	}
	if got := ringmaster(t, t.Context(), "", "config", "diff", a, a); got.code != 0 {
		t.Errorf("%+v", got)
	}
}

// What is written in a file counts for check and diff, also where a variable hides it here.
func TestTheEnvironmentHidesNothingOfAFile(t *testing.T) {
	t.Setenv("RINGMASTER_RATE", "7")
	a, b, bad := settingsFile(t, "rate = 5\n"), settingsFile(t, "rate = 6\n"), settingsFile(t, "rate = 'x'\n")
	if got := ringmaster(t, t.Context(), "", "config", "diff", a, b); got.code != 1 || !strings.Contains(got.stdout, "rate") {
		t.Errorf("%+v", got)
	}
	if got := ringmaster(t, t.Context(), "", "config", "check", a); got.code != 0 || !strings.Contains(got.stdout, "it sets 1 setting ") {
		t.Errorf("%+v", got)
	}
	if got := ringmaster(t, t.Context(), "", "config", "check", bad); got.code == 0 || !strings.Contains(got.err, ": line 1: --rate: ") {
		t.Errorf("%+v", got)
	}
}

// What decides runs by the thresholds of the file, and other commands find the server by it.
func TestRunDecidesByTheFile(t *testing.T) {
	url := serverOf(t)
	path := settingsFile(t, "nats = '"+url+"'\n[policy]\njit_queue_len_threshold = 600\n")
	t.Setenv("RINGMASTER_CONFIG", path)
	startNode(t, url, "--decide-only")
	ringmasterUntil(t, url, `{"kind":"worker","max_workgroup_size_x":256,"max_compute_workgroups_per_dimension":1000,"max_compute_invocations_per_workgroup":256}`+"\n"+`{"kind":"queue","queue_len":800}`+"\n"+`{"kind":"queue","queue_len":801}`+"\n")
	if got := ringmaster(t, t.Context(), "", "explain", "w7.q"); got.code != 0 || !strings.Contains(got.stdout, "compiled: 801 slots") && !strings.Contains(got.stdout, "compiled: 800 slots") {
		t.Errorf("%+v", got)
	}
}

// The sample sets nothing as it is; with the comments taken away it names every setting, and run takes each default.
func TestTheSampleOfSettingsHasEverySettingAndChangesNone(t *testing.T) {
	sample := ringmaster(t, t.Context(), "", "config", "sample").stdout
	path := filepath.Join(t.TempDir(), "config.toml")
	check := func(text string) outcome {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return ringmaster(t, t.Context(), "", "config", "check", path)
	}
	if got := check(sample); got.code != 0 || !strings.Contains(got.stdout, "it sets 0 settings") {
		t.Errorf("the sample: %+v", got)
	}
	var c cli
	var lines []string
	for _, flag := range runFlags(newParser(&c, terminal.Stdio{Out: io.Discard, Err: io.Discard}).Model) {
		_, line, found := strings.Cut(sample, "\n#"+flag.Name+" = ")
		if !found {
			t.Errorf("no %s in the sample", flag.Name)
		}
		line, _, _ = strings.Cut(line, "\n")
		if flag.HasDefault && flag.Default != "" && flag.Default != option.HostName() {
			lines = append(lines, flag.Name+" = "+line)
		}
	}
	if got := check(strings.Join(lines, "\n")); got.code != 0 || len(lines) < 15 {
		t.Errorf("the defaults of the sample: %+v", got)
	}
}
