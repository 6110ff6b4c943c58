package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/bustest"
)

// painter is a worker that would write on its clients' terminals.
type painter struct{}

func (painter) Answer(_ context.Context, _ string, r *telemetry.GraphRequest) error {
	if r.Ask == telemetry.GraphList {
		r.Data = []byte(`[{"name":"\u001b[2Jgraph","nodes":1}]`)
		return nil
	}
	return fmt.Errorf("%w: \x1b[2Jred", natsio.ErrNoGraph)
}

func TestWhatAWorkerSaysOfGraphsIsNothingThatATerminalObeys(t *testing.T) {
	s := serve(t, "--decide-only")
	conn := bustest.Dial(t, s.url)
	if _, err := conn.ServeGraphs("w2", painter{}); err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{"list": "graph", "list --json": `\u001b[2Jgraph`, "drop g": "red"} {
		got := ringmaster(t, t.Context(), "", append(append([]string{"graph"}, strings.Fields(args)...), "--nats", s.url, "--worker", "w2", "--queue", "q")...)
		if out := got.stdout + got.err; strings.Contains(out, "\x1b") || !strings.Contains(out, want) {
			t.Errorf("%s: %q, want %q", args, out, want)
		}
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}
