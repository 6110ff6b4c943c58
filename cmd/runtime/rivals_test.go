package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	"ringmaster/cmd/runtime/terminal"
	"ringmaster/telemetry/natsio/natstest"
)

// Without a stream of decisions nothing tells two processes apart that decide for the same workers, so the second is
// refused; one for another worker is not, and the stopped one leaves its place.
func TestASecondDeciderWithoutAStreamIsRefused(t *testing.T) {
	server := natstest.Start(t)
	server.Kill()
	server.Args = server.Args[:4] // without JetStream
	server.Start()
	first := serveOn(t, server.URL, "--decide-only")
	got := ringmaster(t, t.Context(), "", "run", "--decide-only", "--nats", server.URL, "--worker", "w2")
	for _, want := range []string{"another process decides for the same workers", "--worker w1", "2.12", "JetStream"} {
		if got.code != 1 || !strings.Contains(got.err, want) {
			t.Errorf("exit code %d, no %q in %s", got.code, want, got.err)
		}
	}
	if code := first.stop(); code != 0 {
		t.Errorf("the first ended with exit code %d", code)
	}
	if code := serveOn(t, server.URL, "--decide-only").stop(); code != 0 {
		t.Errorf("the next ended with exit code %d", code)
	}
}

// Before there is a bus nobody is served, and a process that is told to end ends.
func TestAStartWithoutABusCanBeStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan outcome, 1)
	go func() {
		code <- ringmaster(t, ctx, "", "run", "--decide-only", "--nats", "nats://127.0.0.1:1", "--worker", "w1")
	}()
	cancel()
	if got := <-code; got.code != 0 {
		t.Errorf("exit code %d: %s", got.code, got.err)
	}
}

// A process that starts before its server says what it waits for, and serves once the server is there.
func TestAStartWaitsForTheBus(t *testing.T) {
	server := natstest.Start(t)
	server.Kill()
	ctx, cancel := context.WithCancel(t.Context())
	messages, printed := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- execute(ctx, []string{"run", "--decide-only", "--nats", server.URL, "--worker", "w1"}, terminal.Stdio{In: strings.NewReader(""), Out: io.Discard, Err: printed})
		printed.Close()
	}()
	lines := bufio.NewScanner(messages)
	await := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("it never said %q", text)
	}
	await("nobody is served before NATS answers")
	server.Start()
	await("serving")
	go io.Copy(io.Discard, messages)
	publisherOn(t, server.URL).announce() // returns when it is answered
	cancel()
	if got := <-code; got != 0 {
		t.Errorf("it ended with exit code %d", got)
	}
}
