//go:build cgo

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ringmaster/cmd/runtime/terminal"
	"ringmaster/telemetry"
)

// longRun is a run that would go on for seconds, on a worker.
type longRun struct {
	*graphBus
	ended chan outcome
	late  <-chan time.Time
}

// newLongRun returns when a run has begun that has more levels than a worker runs. It ends with ctx.
func newLongRun(t *testing.T, ctx context.Context) *longRun {
	requireGL(t)
	r := &longRun{newGraphBus(t), make(chan outcome, 1), time.After(clientPatience)}
	path := filepath.Join(t.TempDir(), "path")
	err := terminal.ReplaceFile(path, func(w io.Writer) error {
		out := bufio.NewWriter(w)
		for v := range 500_000 {
			fmt.Fprintln(out, v, v+1)
		}
		return out.Flush()
	})
	if err != nil {
		t.Fatal(err)
	}
	r.graph("walks", "load", "path", path)
	go func() {
		r.ended <- ringmaster(t, ctx, "", append([]string{"graph", "run", "bfs", "path", "--source", "0"}, r.to("walks")...)...)
	}()
	walks := make(chan struct{}, 1)
	go func() {
		for record := range r.records {
			if record.Graph.Has.Has(telemetry.HasFrontierNodes) {
				walks <- struct{}{}
				return
			}
		}
	}()
	r.await("level", walks)
	return r
}

func (r *longRun) to(queue string) []string {
	return []string{"--nats", r.served.url, "--worker", "w1", "--queue", queue}
}

// await waits for what happens before the run ends.
func (r *longRun) await(what string, happened <-chan struct{}) {
	r.t.Helper()
	select {
	case <-happened:
	case got := <-r.ended:
		r.t.Fatalf("the run ended before the %s: %s", what, got.err)
	case <-r.late:
		r.t.Fatalf("no %s", what)
	}
}

// during does what has to be done before the run ends.
func (r *longRun) during(what string, do func()) {
	r.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	r.await(what, done)
}

func TestLaunchesRunBetweenTheTurnsOfAGraphJobAndItsWorkerStopsWithoutWaitingForIt(t *testing.T) {
	r := newLongRun(t, t.Context())
	r.during("end of the batch", func() {
		if got := ringmaster(t, t.Context(), "", append([]string{"submit", "--slots", "nop"}, r.to("q")...)...); got.code != 0 {
			t.Error(got.err)
		}
	})
	if code := r.served.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
	if got := <-r.ended; got.code == 0 || !strings.Contains(got.err, "the worker stops") {
		t.Errorf("the job was not ended: exit code %d, %s", got.code, got.err)
	}
}

func TestAWorkerAnswersAboutGraphsWhileOneIsWalkedAndItsClientCanEndThat(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	r := newLongRun(t, ctx)
	small := filepath.Join(t.TempDir(), "small.el") // the turns of the run are what the commands wait for
	if err := os.WriteFile(small, []byte("0 1\n1 2\n2 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"load", "ego", small}, {"load", "as", small}, {"drop", "ego"}, {"list"}} {
		r.during(args[0], func() {
			got := ringmaster(t, t.Context(), "", append(append([]string{"graph"}, args...), r.to("walks")...)...)
			if got.code != 0 || args[0] == "list" && (!strings.Contains(got.stdout, "as ") || strings.Contains(got.stdout, "ego")) {
				t.Errorf("%v: exit code %d, %s%s", args, got.code, got.stdout, got.err)
			}
		})
	}
	interrupt()
	if got := <-r.ended; got.code != 1 || !strings.Contains(got.err, "the worker ends the run") {
		t.Errorf("exit code %d, %s", got.code, got.err)
	}
	if got := r.run("bfs", "as", "--source", "0"); got.Reached != 4 { // which waits for the end of the other
		t.Errorf("%+v", got)
	}
	if code := r.served.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}
