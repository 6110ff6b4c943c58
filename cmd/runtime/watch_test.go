package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"ringmaster/cmd/runtime/terminal"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/client"
)

func TestWatchFrame(t *testing.T) {
	now := time.Unix(1000, 0)
	advice := func(queue string, age time.Duration, valid bool) client.Advice {
		return client.Advice{Worker: "w1", Queue: queue, Header: telemetry.Header{Incarnation: 1}, At: now.Add(-age), Valid: valid,
			Recommendation: telemetry.Recommendation{Topology: "dense_frontier", ValidForMs: 3000}}
	}
	view := watchView{cmd: &watchCmd{}, out: terminal.NewScreen(io.Discard), table: true}
	for i := range 7 {
		view.Write([]byte("level=WARN msg=disconnected \x1b[2J" + string(rune('0'+i)) + "\n"))
	}
	frame := view.frame([]client.Advice{advice("live", time.Second, true), advice("dead", 12*time.Second, false)}, now)
	lines := strings.Split(strings.TrimSpace(frame), "\n")
	if len(lines) != 3+maxNotes {
		t.Fatalf("frame:\n%s", frame)
	}
	for i, want := range []string{"AGE", "EXPIRED, 12s", "1s of 3s", "disconnected"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %q, want %q in it", i, lines[i], want)
		}
	}
	if !strings.HasSuffix(lines[len(lines)-1], "6") || strings.Contains(frame, "\x1b") {
		t.Errorf("the newest lines of the log do not stand last, and clean:\n%s", frame)
	}
}

// The escape character of eight bits is no control character to JSON.
func TestWatchCleansTheTextOfJSON(t *testing.T) {
	var out strings.Builder
	view := watchView{cmd: &watchCmd{JSON: true}, out: terminal.NewScreen(&out)}
	view.update(&client.Advice{Worker: "w1", Queue: "q", Valid: true, Recommendation: telemetry.Recommendation{Error: "a\u009b2Jb\x1b[2J"}})
	if got := out.String(); strings.ContainsAny(got, "\u009b\x1b") || !strings.Contains(got, `"error":"a`) {
		t.Errorf("%q", got)
	}
}
