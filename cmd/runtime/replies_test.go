package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ringmaster/cmd/runtime/option"
	"ringmaster/telemetry"
)

// contextOf writes a NATS context whose user has inboxes of its own, and returns its path.
func contextOf(t *testing.T, url, inbox string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "context.json")
	if err := os.WriteFile(path, fmt.Appendf(nil, `{"url":%q,"inbox_prefix":%q}`, url, inbox), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A runtime answers below --reply-prefix and at the inboxes of its own context.
func TestAContextWithInboxesOfItsOwnIsAnswered(t *testing.T) {
	server, err := startServer("127.0.0.1", -1, t.TempDir(), quietLog)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown()
	s := serveWith(t, "--decide-only", "--context", contextOf(t, server.URL(), "_INBOX_run"), "--reply-prefix", "_INBOX_a", "--reply-prefix", "_INBOX_b")
	for inbox, answered := range map[string]bool{"_INBOX_a": true, "_INBOX_b": true, "_INBOX_run": true, "_INBOX_c": false} {
		flags := option.NATS{Context: contextOf(t, server.URL(), inbox), Prefix: telemetry.DefaultPrefix}
		conn, err := flags.Dial(t.Context(), "test", quietLog)
		if err != nil {
			t.Fatal(err)
		}
		patience := clientPatience
		if !answered {
			patience = 100 * time.Millisecond
		}
		m, err := conn.NATS().Request("ringmaster.v1.status", nil, patience)
		if answered != (err == nil) || answered && !strings.HasPrefix(string(m.Data), "{") {
			t.Errorf("inboxes below %s: %v, want an answer: %t", inbox, err, answered)
		}
		conn.Close()
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
	got := ringmaster(t, t.Context(), "", "run", "--decide-only", "--nats", server.URL(), "--reply-prefix", "ringmaster.v1")
	if got.code != 1 || !strings.Contains(got.err, "holds other subjects than inboxes") {
		t.Errorf("a reply prefix of the runtime's own subjects: exit code %d, %s", got.code, got.err)
	}
}
