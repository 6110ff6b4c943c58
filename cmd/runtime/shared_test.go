package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A process follows the settings that are stored under its key: it begins anew with each text that is right for it, and
// says of every other why it is not. What the command line says counts more, what a file says less.
func TestAProcessFollowsSharedSettings(t *testing.T) {
	url, state := serverOf(t), t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	file := settingsFile(t, "rate = 5\nmax-queues = 50\n[policy]\ndwell = 3\n")
	put := func(text string) {
		t.Helper()
		if got := ringmaster(t, t.Context(), text, "config", "put", "fleet", "-", "--nats", url); got.code != 0 || !strings.Contains(got.stdout, "of fleet") {
			t.Fatalf("%+v", got)
		}
	}
	args := []string{"run", "--decide-only", "--config", file, "--config-key", "fleet", "--nats", url, "--worker", "w1", "--max-deliveries", "7"}
	_, until := startLogged(t, args...)
	first := until("serving")
	until("cannot be looked at") // there is no bucket
	put("rate = 9\nmax-deliveries = 8\n")
	if l := until("settings have changed"); l.Changed != "rate" || l.Revision != 1 {
		t.Errorf("first text: %+v", l)
	}
	second := until("serving")
	if second.Incarnation == first.Incarnation {
		t.Errorf("served as %s twice", first.Incarnation)
	}
	put("rate = 9\r\n# for the night\r\n")
	if l := until("settings are as they were"); l.Revision != 2 {
		t.Errorf("a comment: %+v", l)
	}
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	raw := func(text string) { // of a neighbour that checks nothing
		t.Helper()
		js, err := jetstream.New(nc)
		if err == nil {
			_, err = js.Publish(t.Context(), "$KV.RINGMASTER_CONFIG.fleet", []byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range [][2]string{{"\x00", "line 1"}, {"nats = 'nats://evil'\n", "line 1: nats is for each process by itself"}} {
		raw(c[0])
		if l := until("settings are wrong"); !strings.Contains(l.Error, c[1]) {
			t.Errorf("%q: %+v, want %q", c[0], l, c[1])
		}
	}
	put("[policy]\ndwell = 5\n")
	if l := until("settings have changed"); l.Changed != "policy.dwell, rate" {
		t.Errorf("after wrong ones: %+v", l)
	}
	until("serving")
	got := ringmaster(t, t.Context(), "", "config", "show", "--set", "--config", file)
	if strings.Contains(got.stdout, "revision 5") {
		t.Errorf("without the key: %+v", got)
	}
	t.Setenv("RINGMASTER_CONFIG_KEY", "fleet")
	got = ringmaster(t, t.Context(), "", "config", "show", "--set", "--config", file)
	if words := strings.Join(strings.Fields(got.stdout), " "); !strings.Contains(words, "policy.dwell 5 fleet, revision 5") || !strings.Contains(words, "max-queues 50 "+file+": line 2") {
		t.Errorf("%+v", got)
	}
	history := ringmaster(t, t.Context(), "", "config", "history", "fleet", "--nats", url)
	var said []string
	for line := range strings.Lines(history.stdout) {
		words := strings.Fields(line)
		said = append(said, strings.Join(append(words[:1], words[3:]...), " "))
	}
	want := []string{"5 nats, policy.dwell", "4 not a file of settings", "3 not a file of settings", "2 max-deliveries", "1 max-deliveries, rate"}
	if len(said) != 6 {
		t.Fatalf("%s%s", history.stdout, history.err)
	}
	for i, want := range want {
		if !strings.HasPrefix(said[i+1], want) {
			t.Errorf("%q, want %q", said[i+1], want)
		}
	}
	if got := ringmaster(t, t.Context(), "", "config", "get", "fleet", "--revision", "2", "--nats", url); got.stdout != "rate = 9\n# for the night\n" {
		t.Errorf("%+v", got)
	}
}

// A process begins with what it took last where the server is away, and without it where the copy is broken.
func TestACopyOfSharedSettingsOutlivesItsProcess(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	path := filepath.Join(state, "ringmaster", "shared", "ringmaster.v1.fleet.toml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"# revision 3 of fleet\nrate = 9\n":     "rate 9 fleet, revision 3: line 1",
		"# revision 3 of other\nrate = 9\n":     "the first line is not that of a copy",
		"# revision 3 of fleet\nrate = 'x'\n":   "fleet, revision 3: line 1: --rate",
		"# revision 3 of fleet\nstore = '/x'\n": "line 1: store is for each process by itself",
		"":                                      "the first line is not that of a copy",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("RINGMASTER_CONFIG_KEY", "fleet")
		got := ringmaster(t, t.Context(), "", "config", "show", "--set")
		if said := strings.Join(strings.Fields(got.stdout+got.err), " "); !strings.Contains(said, want) {
			t.Errorf("%q: %s, want %q", text, said, want)
		}
		cmd, until := startLogged(t, "run", "--decide-only", "--listen", "127.0.0.1:0")
		if !strings.HasPrefix(want, "rate") {
			if l := until("left out"); !strings.Contains(l.Error, want) {
				t.Errorf("%q: %+v, want %q", text, l, want)
			}
		}
		until("serving")
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

func TestSettingsThatCannotBeSharedAreNotStored(t *testing.T) {
	url := serverOf(t)
	for text, want := range map[string]string{
		"nats = 'nats://other'\n":  "line 1: nats is for each process by itself; shared are ",
		"rats = 3\n":               `there is no setting "rats"; did you mean`,
		"rate = 0\n":               "--rate 0: want more than 0",
		"autotuner = 'x'\n":        "the text: line 1: --autotuner",
		"[policy]\ndwell = 0\n":    "dwell is 0",
		strings.Repeat("#", 70000): "want at most",
	} {
		if got := ringmaster(t, t.Context(), text, "config", "put", "fleet", "-", "--nats", url); got.code == 0 || !strings.Contains(got.err, want) {
			t.Errorf("%.40q: %+v, want %q", text, got, want)
		}
	}
	for _, args := range [][]string{{"config", "get", "fleet"}, {"config", "history", "fleet"}} {
		if got := ringmaster(t, t.Context(), "", append(args, "--nats", url)...); got.code != 1 || !strings.Contains(got.err, "nothing is stored under this key") {
			t.Errorf("%v: %+v", args, got)
		}
	}
	if got := ringmaster(t, t.Context(), "", "config", "put", "a.b", "-", "--nats", url); got.code != 1 || !strings.Contains(got.err, "a key has") {
		t.Errorf("%+v", got)
	}
	if got := ringmaster(t, t.Context(), "", "run", "--decide-only", "--config-key", "a.b"); got.code != 1 || !strings.Contains(got.err, "--config-key") {
		t.Errorf("%+v", got)
	}
}
