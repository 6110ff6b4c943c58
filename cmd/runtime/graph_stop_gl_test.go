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

// A graph job has the device while it runs, so launches wait for it, and so would the end
// of a worker that first lets its launches finish.
func TestAWorkerThatStopsDoesNotWaitForAGraphJob(t *testing.T) {
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
	decided := make(chan struct{}, 1024)
	if _, err := b.conn.SubscribeRecommendations("w1", "q", func(string, string, *telemetry.Header, *telemetry.Recommendation) { decided <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	if err := b.conn.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
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
	if got := ringmaster(t, t.Context(), "", append([]string{"submit", "--slots", "nop", "--no-wait"}, append(to, "q")...)...); got.code != 0 {
		t.Fatal(got.err)
	}
	await("a decision on the batch", decided)
	if code := b.served.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
	if got := <-ended; got.code == 0 {
		t.Error("the job was not ended")
	}
}
