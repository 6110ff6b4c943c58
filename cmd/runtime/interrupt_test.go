package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"ringmaster/cmd/runtime/terminal"
	"ringmaster/telemetry"
)

// Whoever types, or a pipe that is idle, does not keep a command from ending.
func TestACommandThatReadsStandardInputEndsWhenItIsTold(t *testing.T) {
	s := serve(t, "--decide-only")
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
			code <- execute(ctx, args, terminal.Stdio{In: in, Out: io.Discard, Err: &said})
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
	s := serve(t, "--decide-only")
	lines := `{"kind":"queue","queue_len":1}` + "\n" + strings.Repeat("x", telemetry.DefaultTelemetryLimits.MaxBytes+1)
	got := ringmaster(t, t.Context(), lines, "publish", "--nats", s.url, "--worker", "w1", "--queue", "q")
	if got.code != 1 || !strings.Contains(got.err, "line 2 is longer than the ") {
		t.Errorf("exit code %d, %s", got.code, got.err)
	}
}

// deafCommand in the environment makes the test a command that does not heed its context.
const deafCommand = "RINGMASTER_TEST_DEAF"

func TestASecondSignalEndsACommandThatDoesNotHeedTheFirst(t *testing.T) {
	if os.Getenv(deafCommand) != "" {
		ctx, stop := terminal.UntilSignal(context.Background())
		defer stop()
		fmt.Println("at work")
		<-ctx.Done()
		fmt.Println("told to end")
		<-t.Context().Done()
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), deafCommand+"=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	await := func(what string) {
		for lines.Scan() {
			if strings.Contains(lines.Text(), what) {
				return
			}
		}
		t.Fatalf("the child did not say %q", what)
	}
	await("at work")
	child.Process.Signal(syscall.SIGTERM)
	await("told to end")
	again := time.NewTicker(time.Millisecond) // the first may still be handled
	defer again.Stop()
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	patience := time.After(clientPatience)
	for {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
				t.Errorf("it ended with %v", err)
			}
			return
		case <-again.C:
			child.Process.Signal(syscall.SIGTERM)
		case <-patience:
			child.Process.Kill()
			t.Fatal("it goes on")
		}
	}
}
