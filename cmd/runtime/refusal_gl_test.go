//go:build cgo

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// lacking are users that lack one right each: the block of a user, as `auth template` prints it, without one of its
// subjects at a time.
func lacking(conf, user string) (users string, subjects []string) {
	_, block, _ := strings.Cut(conf, "  # "+user+"\n")
	block, _, _ = strings.Cut(block, "\n  } }\n")
	lines := strings.Split(block, "\n")
	for i, line := range lines {
		subject, _, found := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), `"`), `" #`)
		if !found {
			continue
		}
		rest := append(append([]string{}, lines[1:i]...), lines[i+1:]...)
		users += fmt.Sprintf("  { user: %s-%d, password: x, permissions: {\n%s\n  } }\n", user, len(subjects), strings.Join(rest, "\n"))
		subjects = append(subjects, subject)
	}
	return users, subjects
}

// A command whose user lacks a right that it needs says so, with the subject and exit code 77, and at once instead of
// when its time is over. With any other right missing it does its work.
func TestACommandThatLacksOneRightSaysWhich(t *testing.T) {
	requireGL(t)
	all := map[string][]string{} // subjects by user
	g := guard(t, func(conf string) string {
		more := ""
		for _, user := range []string{"publisher-w1-q", "subscriber-w1-q", "submitter-w1-q", "operator"} {
			users, subjects := lacking(conf, user)
			more, all[user] = more+users, subjects
		}
		return strings.Replace(conf, "users = [\n", "users = [\n"+more, 1)
	}, "--queue", "q")
	s := g.serve(t, "worker-w1")
	defer s.stop()
	edges := filepath.Join(t.TempDir(), "edges")
	if err := os.WriteFile(edges, []byte("0 1\n1 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := g.do(t, "submitter-w1-q", "", "heap", "upload", "0:"+edges+":u32", "--worker", "w1", "--queue", "q"); got.code != 0 {
		t.Fatalf("heap upload: exit code %d, %s", got.code, got.err)
	}
	const record = `{"kind":"queue","queue_len":64,"take_over":true}`
	for { // until there is something to watch, and to replay
		published := g.do(t, "publisher-w1-q", record, "publish", "--worker", "w1", "--queue", "q")
		if published.code == 0 && g.do(t, "operator", "", "replay", "--stream").code == 0 {
			break
		}
	}
	for user, commands := range map[string]map[string]string{ // the subjects that a command needs, by what they contain
		"publisher-w1-q":  {"publish": "telemetry _INBOX"},
		"subscriber-w1-q": {"watch --count 1": "recommend", "top --plain --every 200ms": "recommend _INBOX"},
		"submitter-w1-q": {
			"submit --slots nop": "v1.work v1.done.w1.q v1.rejected _INBOX", "submit --slots nop --no-wait": "v1.work _INBOX",
			"heap download 0:4": "heap _INBOX", "cancel b1": "cancel _INBOX", "graph list": "v1.graph _INBOX",
			"graph load g " + edges: "v1.graph _INBOX $O. INFO.OBJ GET.OBJ",
		},
		"operator": {"cancel b1": "cancel _INBOX", "work list": "STREAM.*.RINGMASTER_POISON _INBOX", "graph list": "v1.graph _INBOX", "doctor --decide-only": "API.INFO STREAM.INFO.RINGMASTER_WORK STREAM.INFO.RINGMASTER_DECIDED _INBOX",
			"replay --stream": "CONSUMER.CREATE.RINGMASTER_DECIDED NEXT.RINGMASTER_DECIDED _INBOX"},
	} {
		for command, needs := range commands {
			for i, subject := range all[user] {
				needed := false
				for need := range strings.FieldsSeq(needs) {
					needed = needed || strings.Contains(subject, need) && !strings.Contains(subject, "_DONE.") // read by who was away
				}
				lacking := fmt.Sprintf("%s-%d", user, i)
				refused := tryLacking(t, g, lacking, command, subject, record)
				if refused != needed {
					t.Errorf("%s without %s: refused %v", command, subject, refused)
				}
			}
		}
	}
}

// literalOf is what stands before the first wildcard of a subject.
func literalOf(subject string) string {
	literal, _, _ := strings.Cut(subject, "*")
	return strings.TrimSuffix(literal, ">")
}

// tryLacking runs a command as a user that lacks a subject, and tells whether that was the command's end.
func tryLacking(t *testing.T, g *guarded, user, command, subject, stdin string) (refused bool) {
	t.Helper()
	args := append(strings.Fields(command), "--nats", strings.Replace(g.url, "//", "//"+user+":x@", 1))
	if command != "doctor --decide-only" && command != "replay --stream" {
		args = append(args, "--worker", "w1", "--queue", "q")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	begin := time.Now()
	got := ringmaster(t, ctx, stdin, args...)
	said := got.stdout + got.err
	if took := time.Since(begin); took > 5*time.Second { // the shortest wait for an answer is ten
		t.Errorf("%s without %s took %v", command, subject, took)
	}
	switch {
	case got.code == 0:
		return false
	case got.code != exitRefused && got.code != doctorNoNATS:
		t.Errorf("%s without %s: exit code %d, %s", command, subject, got.code, said)
	case !strings.Contains(said, "this user may not") || !strings.Contains(said, literalOf(subject)):
		t.Errorf("%s without %s says %s", command, subject, said)
	}
	return true
}
