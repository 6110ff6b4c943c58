//go:build cgo

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ringmaster/telemetry"
)

func TestSubmitRunsWorkInOrderAndSaysWhatBecameOfIt(t *testing.T) {
	requireGL(t)
	s := serve(t, "--opcodes", "../../docs/opcodes", "--done-stream", "always")
	to := []string{"--nats", s.url, "--worker", "w1", "--queue", "q"}
	submit := func(stdin string, args ...string) outcome {
		return ringmaster(t, t.Context(), stdin, append(append([]string{"submit"}, args...), to...)...)
	}
	// 70,000 slots are two batches, and all of them come before what reads their sum.
	got := submit("# read it\nload a0=7 # the sum\n", "--slots", "add a0=2 a1=7 x70000", "--slots-file", "-", "--results", "--priority", "high", "--batch", "sum")
	if got.code != 0 || !regexp.MustCompile(`(?m)^batch sum-2: 4464 slots of add: 4464 executed, 0 faulted, 0 dropped after .*s$`).MatchString(got.err) ||
		!regexp.MustCompile(`(?m)^batch sum: 65536 slots of add: 65536 executed`).MatchString(got.err) ||
		!strings.Contains(got.err, "batch sum-3: 1 slots of load: 1 executed") {
		t.Errorf("exit code %d, %s", got.code, got.err)
	}
	if lines := strings.Fields(got.stdout); len(lines) == 0 || lines[len(lines)-1] != "140000" {
		t.Errorf("the last result is not 140000: %.200s", got.stdout)
	}
	got = submit("", "--slots", "add a0=2 a1=7", "--batch", "sum")
	if got.code != 1 || !strings.Contains(got.err, "batch sum was submitted before") {
		t.Errorf("another batch of the same name: exit code %d, %s", got.code, got.err)
	}
	got = submit("", "--slots", "load a0=7", "--batch", "sum-3", "--results")
	if got.code != 0 || !strings.Contains(got.err, "batch sum-3 was submitted before and does not run again") || !strings.Contains(got.err, "1 executed") || !strings.HasSuffix(got.stdout, " 140000\n") {
		t.Errorf("the same batch again: exit code %d, %s%s", got.code, got.err, got.stdout)
	}
	got = submit("", "--slots", "store a0=1 a1=0x40000000 x2")
	if got.code != 1 || !strings.Contains(got.err, "0 executed, 2 faulted, 0 dropped") || !strings.Contains(got.err, "fault: slot 1, arguments [1 1073741824 ") {
		t.Errorf("faults: exit code %d, %s", got.code, got.err)
	}
	got = submit("", "--slots", "print a0=3 a1=1 a3=9 x70", "--slots", "add a0=1 a1=8 x300")
	if got.code != 0 || !strings.Contains(got.err, "print: slot 0: [3 1 0 9]\n") || !strings.Contains(got.err, "print: slot 63: [3 1 0 9]\nand 6 prints more\n") ||
		strings.Count(got.err, "print: slot") != telemetry.MaxPrints {
		t.Errorf("prints: exit code %d, %s", got.code, got.err)
	}
	got = submit("", "--slots", "load a0=7", "--epoch", "1")
	if got.code != 1 || !strings.Contains(got.err, "1 dropped") || !strings.Contains(got.err, "dropped: heap lost: the data of epoch 1 is not in the queue's window; upload it again") {
		t.Errorf("another epoch: exit code %d, %s", got.code, got.err)
	}
	file := filepath.Join(t.TempDir(), "slots")
	if err := os.WriteFile(file, []byte("\nhistogram text=0 bytes=4 table=100\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got = submit("", "--opcodes", "../../docs/opcodes", "--slots-file", file, "--deadline", "1m"); got.code != 0 || !strings.Contains(got.err, "1 slots of histogram: 1 executed") {
		t.Errorf("an operator's opcode: exit code %d, %s", got.code, got.err)
	}
	if got = submit("", "--slots", "packed a0=0xffffffff a1=0xffffffff"); got.code == 0 || !strings.Contains(got.err, "slot 0") {
		t.Errorf("a slot that cannot be: exit code %d, %s", got.code, got.err)
	}
	if got = submit("", "--slots", "nop", "--no-wait", "--batch", "later"); got.code != 0 || !strings.Contains(got.err, "batch later: 1 slots of nop are in the stream") {
		t.Errorf("without waiting: exit code %d, %s", got.code, got.err)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}

// Whoever submits more than the queue may ever hold is told at once.
func TestSubmitSaysThatTheWorkerRefusesABatch(t *testing.T) {
	requireGL(t)
	s := serve(t, "--limit", "q:pending=10")
	got := ringmaster(t, t.Context(), "", "submit", "--nats", s.url, "--worker", "w1", "--queue", "q", "--slots", "nop x100", "--batch", "big", "--timeout", "1m")
	if got.code != 1 || !strings.Contains(got.err, "batch big was refused") {
		t.Errorf("exit code %d, %s", got.code, got.err)
	}
	s.stop()
}

func TestSubmitToNobodySubmitsNothingUnlessTold(t *testing.T) {
	s := serve(t, "--decide-only")
	args := []string{"submit", "--nats", s.url, "--worker", "w9", "--queue", "q", "--slots", "nop"}
	got := ringmaster(t, t.Context(), "", args...)
	if got.code != 1 || !strings.Contains(got.err, "nobody serves worker w9") || !strings.Contains(got.err, "--no-wait") {
		t.Errorf("exit code %d, %s", got.code, got.err)
	}
	if got = ringmaster(t, t.Context(), "", append(args, "--no-wait")...); got.code != 0 {
		t.Errorf("for a worker to come: exit code %d, %s", got.code, got.err)
	}
	s.stop()
}

func TestSubmitRefusesWhatCannotBeMeant(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing":          {nil, "nothing to submit"},
		"no such opcode":   {[]string{"--slots", "frobnicate"}, "there is no opcode frobnicate"},
		"a bad batch":      {[]string{"--slots", "nop", "--batch", "a b"}, "--batch"},
		"a long batch":     {[]string{"--slots", "nop", "--batch", strings.Repeat("x", telemetry.MaxToken+1)}, "--batch"},
		"a tiny deadline":  {[]string{"--slots", "nop", "--deadline", "1us"}, "--deadline"},
		"no file":          {[]string{"--slots-file", "/nonexistent/slots"}, "--slots-file /nonexistent/slots"},
		"order, unwatched": {[]string{"--slots", "nop", "--slots", "nop", "--no-wait"}, "--no-wait"},
	} {
		got := ringmaster(t, t.Context(), "", append([]string{"submit", "--queue", "q"}, c.args...)...)
		if got.code == 0 || !strings.Contains(got.err, c.want) {
			t.Errorf("%s: exit code %d, %s", name, got.code, got.err)
		}
	}
}
