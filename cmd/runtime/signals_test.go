package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// deafCommand in the environment makes the test a command that does not heed its context.
const deafCommand = "RINGMASTER_TEST_DEAF"

func TestASecondSignalEndsACommandThatDoesNotHeedTheFirst(t *testing.T) {
	if os.Getenv(deafCommand) != "" {
		ctx, stop := untilSignal(context.Background())
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
