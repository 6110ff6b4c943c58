//go:build cgo

package main

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"ringmaster/telemetry"
)

// The job would run for seconds: it has more levels than a worker runs.
func TestLaunchesRunBetweenTheTurnsOfAGraphJobAndItsWorkerStopsWithoutWaitingForIt(t *testing.T) {
	requireGL(t)
	b := newGraphBus(t)
	path := filepath.Join(t.TempDir(), "path")
	err := replaceFile(path, func(w io.Writer) error {
		out := bufio.NewWriter(w)
		for v := range 500_000 {
			fmt.Fprintln(out, v, v+1)
		}
		return out.Flush()
	})
	if err != nil {
		t.Fatal(err)
	}
	b.graph("walks", "load", "path", path)
	to := []string{"--nats", b.served.url, "--worker", "w1", "--queue"}
	ended := make(chan outcome, 1)
	go func() {
		ended <- ringmaster(t, t.Context(), "", append([]string{"graph", "run", "bfs", "path", "--source", "0"}, append(to, "walks")...)...)
	}()
	late := time.After(clientPatience)
	await := func(what string, happened <-chan struct{}) {
		t.Helper()
		select {
		case <-happened:
		case got := <-ended:
			t.Fatalf("the job ended before %s: %s", what, got.err)
		case <-late:
			t.Fatalf("no %s", what)
		}
	}
	walks := make(chan struct{}, 1)
	go func() {
		for r := range b.records {
			if r.Graph.Has.Has(telemetry.HasFrontierNodes) {
				walks <- struct{}{}
				return
			}
		}
	}()
	await("a level", walks)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if got := ringmaster(t, t.Context(), "", append([]string{"submit", "--slots", "nop"}, append(to, "q")...)...); got.code != 0 {
			t.Error(got.err)
		}
	}()
	await("end of the batch", done)
	if code := b.served.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
	if got := <-ended; got.code == 0 {
		t.Error("the job was not ended")
	}
}
