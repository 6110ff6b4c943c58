package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// logLine is a record of a process's log.
type logLine struct {
	Msg, Error, Changed, Incarnation string
	Revision                         uint64
}

// startLogged starts a process with a state directory of its own; until waits for a record of its log.
func startLogged(t *testing.T, args ...string) (cmd *exec.Cmd, until func(words string) logLine) {
	t.Helper()
	cmd = exec.Command(os.Args[0], append(args, "--log-format", "json")...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	if os.Getenv("XDG_STATE_HOME") == "" {
		cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+t.TempDir())
	}
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	return cmd, func(words string) (l logLine) {
		t.Helper()
		var all []string
		for lines.Scan() {
			l = logLine{}
			if json.Unmarshal(lines.Bytes(), &l) == nil && strings.Contains(l.Msg, words) {
				return l
			}
			all = append(all, lines.Text())
		}
		t.Fatalf("it ended before it said %q:\n%s", words, strings.Join(all, "\n"))
		return l
	}
}

// A SIGHUP has a process begin anew with other settings, in its own place: decisions go on with the next number, under the
// new thresholds. Settings that are wrong, or are what they were, change nothing.
func TestSIGHUPReadsTheSettingsAgain(t *testing.T) {
	url, file := serverOf(t), filepath.Join(t.TempDir(), "config.toml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("[policy]\ndwell = 3\n")
	cmd, until := startLogged(t, "run", "--decide-only", "--config", file, "--nats", url, "--worker", "w1")
	hangUp := func(text, says string) logLine {
		t.Helper()
		write(text)
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		return until(says)
	}
	first := until("serving")
	p := publisherOn(t, url)
	p.announce()
	before := p.answered("q", p.report("q", 1200))
	if l := hangUp("[policy]\ndwell = 3\ndwel = 5\n", "settings are wrong"); !strings.Contains(l.Error, "line 3") {
		t.Errorf("wrong settings: %+v", l)
	}
	if l := hangUp("[policy]\ndwell = 0\n", "settings are wrong"); !strings.Contains(l.Error, "dwell") {
		t.Errorf("thresholds that do not go together: %+v", l)
	}
	hangUp("# the same\n[policy]\ndwell = 3\n", "settings are as they were")
	if l := hangUp("[policy]\ndwell = 5\n", "settings have changed"); l.Changed != "policy.dwell" {
		t.Errorf("changed: %+v", l)
	}
	second := until("serving")
	if second.Incarnation == first.Incarnation || cmd.ProcessState != nil {
		t.Errorf("served as %s, then as %s", first.Incarnation, second.Incarnation)
	}
	after := p.answered("q", p.report("q", 1300))
	if after.Decision != before.Decision+1 {
		t.Errorf("decision %d, then %d", before.Decision, after.Decision)
	}
	stored := p.stored()["q"]
	if n := len(stored); n != 2 || stored[0].Config == stored[1].Config || stored[1].Entry.Before != stored[0].Entry.After {
		t.Errorf("%d decisions: %+v", n, stored)
	}
}
