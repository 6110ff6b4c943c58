//go:build cgo

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ringmaster/cmd/runtime/terminal"
	"ringmaster/megakernel/texttest"
)

// Every command does its work as a user of its kind, and no user tries what it may not.
func TestEveryCommandWorksWithTheRightsOfItsKind(t *testing.T) {
	requireGL(t)
	g := guard(t, asPrinted, "--queue", "q")
	s := g.serve(t, "worker-w1", "--done-stream", "always", "--config-key", "fleet")
	dir := t.TempDir()
	words, edges := filepath.Join(dir, "words"), filepath.Join(dir, "edges")
	for file, text := range map[string]string{words: "1 2 3 4\n", edges: "0 1\n1 2\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	watched := make(chan outcome, 1)
	go func() {
		watched <- g.do(t, "subscriber-w1-q", "", "watch", "--json", "--count", "1", "--worker", "w1", "--queue", "q")
	}()
	for len(watched) == 0 { // the watcher's subscription may come later
		if got := g.do(t, "publisher-w1-q", `{"kind":"queue","queue_len":64}`, "publish", "--worker", "w1", "--queue", "q", "--take-over"); got.code != 0 {
			t.Fatalf("publish: exit code %d, %s", got.code, got.err)
		}
	}
	if got := <-watched; got.code != 0 || !strings.Contains(got.stdout, `"recommendation"`) {
		t.Errorf("watch: exit code %d, %s%s", got.code, got.stdout, got.err)
	}
	queue := []string{"--worker", "w1", "--queue", "q"}
	for _, c := range []struct{ user, command string }{
		{"submitter-w1-q", "heap upload 0:" + words + ":u32"},
		{"submitter-w1-q", "heap download 0:4"},
		{"submitter-w1-q", "submit --slots load,a0=0 --batch b1"},
		{"submitter-w1-q", "submit --slots nop --batch b2 --no-wait"},
		{"submitter-w1-q", "graph load g " + edges},
		{"submitter-w1-q", "graph list"},
		{"submitter-w1-q", "graph run bfs g --source 0"},
		{"submitter-w1-q", "graph drop g"},
		{"submitter-w1-q", "cancel b3"},
		{"operator", "cancel b4"},
		{"operator", "graph list"},
		{"operator", "work list"},
	} {
		args := append(strings.Fields(c.command), queue...)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], ",", " ")
		}
		if got := g.do(t, c.user, "", args...); got.code != 0 {
			t.Errorf("%s: exit code %d, %s%s", c.command, got.code, got.stdout, got.err)
		}
	}
	for id, want := range map[string]string{"w1.q b1": "is done: ", "w1.q b9": "is unknown: ", "pool.p.q b1": "is unknown: "} {
		queue, batch, _ := strings.Cut(id, " ")
		if got := g.do(t, "operator", "", "explain", queue, "--batch", batch); got.code != 0 || !strings.Contains(got.stdout, want) {
			t.Errorf("explain %s: exit code %d, %s%s", id, got.code, got.stdout, got.err)
		}
	}
	if got := g.do(t, "operator", "", "doctor", "--running", "--worker", "w1"); got.code != 0 {
		t.Errorf("doctor --running: exit code %d, %s%s", got.code, got.stdout, got.err)
	}
	if got := g.do(t, "operator", "rate = 30000\n", "config", "put", "fleet", "-"); got.code != 0 {
		t.Errorf("config put: exit code %d, %s", got.code, got.err)
	}
	for _, command := range []string{"config get fleet", "config get fleet --revision 1", "config history fleet"} {
		if got := g.do(t, "operator", "", strings.Fields(command)...); got.code != 0 || !strings.Contains(got.stdout, "rate") {
			t.Errorf("%s: exit code %d, %s%s", command, got.code, got.stdout, got.err)
		}
	}
	for _, user := range []string{"worker-w1", "operator"} {
		if got := g.do(t, user, "", "doctor", "--decide-only"); got.code != 0 {
			t.Errorf("doctor as %s: exit code %d, %s", user, got.code, got.stdout)
		}
	}
	if code := s.stop(); code != 0 { // which writes what is left of the decision log
		t.Errorf("run ended with exit code %d", code)
	}
	if got := g.do(t, "operator", "", "replay", "--stream"); got.code != 0 {
		t.Errorf("replay: exit code %d, %s%s", got.code, got.stdout, got.err)
	}
	d := g.serve(t, "decider", "--no-gpu")
	if got := g.do(t, "publisher-w1-q", `{"kind":"queue","queue_len":64}`, "publish", "--worker", "w1", "--queue", "q", "--take-over"); got.code != 0 {
		t.Errorf("publish to a decider: exit code %d, %s", got.code, got.err)
	}
	if code := d.stop(); code != 0 {
		t.Errorf("run --no-gpu ended with exit code %d", code)
	}
	for _, line := range g.log.seen() {
		t.Errorf("the server says: %s", line)
	}
}

// Through a context a worker and a submitter reach the streams of a JetStream domain, with inboxes of their own.
func TestWorkThroughContextsWithADomainAndPrivateInboxes(t *testing.T) {
	requireGL(t)
	g := guard(t, asPrinted, "--queue", "q", "--domain", "hub", "--private-inboxes")
	as := func(user string) []string {
		return []string{"--context", natsContext(t, map[string]string{
			"url": g.url, "nkey": filepath.Join(g.keys, user+".nk"), "jetstream_domain": "hub", "inbox_prefix": "_INBOX." + user,
		}), "--worker", "w1"}
	}
	s := serveWith(t, as("worker-w1")...)
	for _, command := range []string{"heap upload 0:../../go.mod", "submit --slots nop"} {
		if got := ringmaster(t, t.Context(), "", append(append(strings.Fields(command), "--queue", "q"), as("submitter-w1-q")...)...); got.code != 0 {
			t.Errorf("%s: exit code %d, %s", command, got.code, got.err)
		}
	}
	if got := ringmaster(t, t.Context(), "", append([]string{"auth", "check", "--account", "worker"}, as("worker-w1")...)...); got.code != 0 {
		t.Errorf("auth check: exit code %d, %s%s", got.code, got.err, bad(got.stdout))
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
	for _, line := range g.log.seen() {
		if strings.Contains(line, "Violation") && !strings.Contains(line, "auth check") {
			t.Errorf("the server says: %s", line)
		}
	}
}

// A worker goes on without a right, which it may be given meanwhile, and says at once which it lacks.
func TestAWorkerSaysWhichRightItLacks(t *testing.T) {
	requireGL(t)
	subjects := []string{"$JS.API.INFO", "ringmaster.v1.done.w1.*", "$JS.API.STREAM.CREATE.RINGMASTER_WORK", "ringmaster.v1.telemetry.>"}
	g := guard(t, func(conf string) string {
		users, all := lacking(conf, "worker-w1")
		for i, subject := range all {
			if slices.Contains(subjects, subject) {
				users = strings.Replace(users, fmt.Sprintf("worker-w1-%d,", i), fmt.Sprintf("lacks-%d,", slices.Index(subjects, subject)), 1)
			}
		}
		return strings.Replace(conf, "users = [\n", "users = [\n"+users, 1)
	})
	for i, subject := range subjects {
		var log texttest.Log
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		ended := make(chan int, 1)
		go func() {
			ended <- execute(ctx, []string{"run", "--worker", "w1", "--nats", strings.Replace(g.url, "//", fmt.Sprintf("//lacks-%d:x@", i), 1)}, terminal.Stdio{In: strings.NewReader(""), Out: io.Discard, Err: &log})
		}()
		said := func() bool {
			return strings.Contains(log.String(), "this user may not") && strings.Contains(log.String(), literalOf(subject))
		}
		for !said() && ctx.Err() == nil {
			if subject == "ringmaster.v1.done.w1.*" { // it is used when a batch ends
				ringmaster(t, ctx, "", "submit", "--slots", "nop", "--no-wait", "--worker", "w1", "--queue", "q", "--nats", g.url, "--nkey", filepath.Join(g.keys, "submitter-w1.nk"))
			}
			time.Sleep(10 * time.Millisecond)
		}
		if ctx.Err() != nil {
			t.Errorf("nothing is said of %s: %s", subject, log.String())
		}
		cancel()
		<-ended
	}
}
