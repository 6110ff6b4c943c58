package client

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// requestsTaken is how many requests of a single queue a worker carries out at the same time.
const requestsTaken = 32

// walks are graphs whose runs last until their context ends or they are let go.
type walks struct {
	begun chan string   // names of graphs whose run has begun
	let   chan struct{} // ends a run
}

func (w *walks) Answer(ctx context.Context, _ string, r *telemetry.GraphRequest) error {
	if r.Ask != telemetry.GraphRun {
		return nil
	}
	w.begun <- r.Name
	select {
	case <-w.let:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// serveWalks is a service of walks and a client of it.
func serveWalks(t *testing.T) (*walks, *natsio.GraphService, *natsio.Conn) {
	t.Helper()
	server := newServer(t)
	worker := dial(t, server.URL())
	w := &walks{begun: make(chan string, requestsTaken), let: make(chan struct{})}
	service, err := worker.ServeGraphs("gpu0", w)
	must(t, err)
	must(t, worker.Flush(testContext(t)))
	return w, service, dial(t, server.URL())
}

func TestGraphRequestsAreAnsweredWhileARunGoesOn(t *testing.T) {
	w, service, c := serveWalks(t)
	ctx := testContext(t)
	ended := make(chan error, 1)
	go func() {
		_, err := RunGraph(ctx, c, "gpu0", "q", &telemetry.GraphRequest{Name: "g"})
		ended <- err
	}()
	<-w.begun
	for _, ask := range []telemetry.GraphOp{telemetry.GraphList, telemetry.GraphDrop, telemetry.GraphLoad} {
		if _, err := AskGraphs(ctx, c, "gpu0", "q", &telemetry.GraphRequest{Ask: ask, Name: "h"}); err != nil {
			t.Errorf("%v: %v", ask, err)
		}
	}
	w.let <- struct{}{}
	must(t, <-ended)
	must(t, service.Stop(ctx))
}

func TestMoreGraphRequestsThanAreTakenAreToldSo(t *testing.T) {
	w, service, c := serveWalks(t)
	ctx := testContext(t)
	ended := make(chan error, requestsTaken)
	for range requestsTaken {
		go func() {
			_, err := RunGraph(ctx, c, "gpu0", "q", &telemetry.GraphRequest{Name: "g"})
			ended <- err
		}()
	}
	for range requestsTaken {
		<-w.begun
	}
	drop := &telemetry.GraphRequest{Ask: telemetry.GraphDrop, Name: "h"}
	if _, err := AskGraphs(ctx, c, "gpu0", "q", drop); !errors.Is(err, natsio.ErrGraphBusy) || strings.Count(err.Error(), "busy") != 1 {
		t.Errorf("one request too many: %v", err)
	}
	if _, err := AskGraphs(ctx, c, "gpu0", "q", &telemetry.GraphRequest{Ask: telemetry.GraphList}); err != nil {
		t.Errorf("a list of a worker that is busy: %v", err)
	}
	if _, err := AskGraphs(ctx, c, "gpu0", "victim", drop); err != nil {
		t.Errorf("a request of another queue: %v", err)
	}
	w.let <- struct{}{}
	must(t, <-ended)
	if _, err := AskGraphs(ctx, c, "gpu0", "q", drop); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
	must(t, service.Stop(ctx))
	for range requestsTaken - 1 {
		if err := <-ended; err == nil || !strings.Contains(err.Error(), natsio.ErrStopping.Error()) {
			t.Errorf("a run of a worker that stopped: %v", err)
		}
	}
	if stats := service.Stats(); stats.Served < 4 || stats.Refused != requestsTaken {
		t.Errorf("%+v", stats)
	}
}

func TestARequesterThatGivesUpCancelsItsRunAndNoOther(t *testing.T) {
	w, service, c := serveWalks(t)
	ctx := testContext(t)
	other := make(chan error, 1)
	go func() {
		_, err := RunGraph(ctx, c, "gpu0", "q", &telemetry.GraphRequest{Name: "other"})
		other <- err
	}()
	<-w.begun
	interrupted, interrupt := context.WithCancel(ctx)
	mine := make(chan error, 1)
	go func() {
		_, err := RunGraph(interrupted, c, "gpu0", "q", &telemetry.GraphRequest{Name: "mine"})
		mine <- err
	}()
	<-w.begun
	interrupt()
	if err := <-mine; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the worker ends the run") {
		t.Errorf("an interrupted run: %v", err)
	}
	cancel := &telemetry.GraphRequest{Ask: telemetry.GraphCancel, Name: "other", Result: 7}
	if _, err := AskGraphs(ctx, c, "gpu0", "q", cancel); !errors.Is(err, natsio.ErrNoGraph) {
		t.Errorf("canceling a run that nobody began: %v", err)
	}
	w.let <- struct{}{} // nobody but the other run takes it
	must(t, <-other)
	must(t, service.Stop(ctx))
}

func TestARunsNumberIsItsQueuesOwn(t *testing.T) {
	w, service, c := serveWalks(t)
	ctx := testContext(t)
	run := func(queue string) chan error {
		ended := make(chan error, 1)
		go func() {
			_, err := AskGraphs(ctx, c, "gpu0", queue, &telemetry.GraphRequest{Ask: telemetry.GraphRun, Name: "g", Result: 5})
			ended <- err
		}()
		<-w.begun
		return ended
	}
	a, b := run("a"), run("b")
	again := &telemetry.GraphRequest{Ask: telemetry.GraphRun, Name: "g", Result: 5}
	if _, err := AskGraphs(ctx, c, "gpu0", "a", again); !errors.Is(err, natsio.ErrGraphRequest) {
		t.Errorf("a number that is in use: %v", err)
	}
	if _, err := AskGraphs(ctx, c, "gpu0", "b", &telemetry.GraphRequest{Ask: telemetry.GraphCancel, Name: "g", Result: 5}); err != nil {
		t.Error(err)
	}
	if err := <-b; err == nil || !strings.Contains(err.Error(), natsio.ErrGraphCanceled.Error()) {
		t.Errorf("the canceled run: %v", err)
	}
	w.let <- struct{}{}
	must(t, <-a)
	must(t, service.Stop(ctx))
}
