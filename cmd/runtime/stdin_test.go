package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"ringmaster/telemetry"
)

// Whoever types, or a pipe that is idle, does not keep a command from ending.
func TestACommandThatReadsStandardInputEndsWhenItIsTold(t *testing.T) {
	s := serve(t, "--no-gpu")
	for _, args := range [][]string{
		{"publish", "--nats", s.url, "--worker", "w1", "--queue", "q"},
		{"submit", "--nats", s.url, "--queue", "q", "--slots-file", "-"},
		{"exec", "--slots", "nop", "--upload", "0:-:u32"},
		{"graph", "run", "bfs", "--source", "0", "-"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		in, typed := io.Pipe()
		code := make(chan int, 1)
		var said strings.Builder
		go func() {
			code <- execute(ctx, args, stdio{in: in, out: io.Discard, err: &said})
			in.Close()
		}()
		_, err := typed.Write([]byte("\n")) // it reads now
		cancel()
		if got := <-code; got != 1 || err != nil {
			t.Errorf("%v: exit code %d, %s", args, got, said.String())
		}
		typed.Close()
	}
}

func TestALineThatIsTooLongIsNamed(t *testing.T) {
	s := serve(t, "--no-gpu")
	lines := `{"kind":"queue","queue_len":1}` + "\n" + strings.Repeat("x", telemetry.DefaultTelemetryLimits.MaxBytes+1)
	got := ringmaster(t, t.Context(), lines, "publish", "--nats", s.url, "--worker", "w1", "--queue", "q")
	if got.code != 1 || !strings.Contains(got.err, "line 2 is longer than the ") {
		t.Errorf("exit code %d, %s", got.code, got.err)
	}
}
