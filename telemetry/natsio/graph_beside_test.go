package natsio

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ringmaster/telemetry"
)

// walks are graphs whose runs last until their context ends or they are let go.
type walks struct {
	begun chan string   // names of graphs whose run has begun
	let   chan struct{} // ends a run
}

func (w *walks) Answer(ctx context.Context, _ string, r *telemetry.Resident) error {
	if r.Ask != telemetry.ResidentRun {
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
func serveWalks(t *testing.T) (*walks, *GraphService, *Conn) {
	t.Helper()
	server := newServer(t)
	worker := dial(t, fastConfig(server.URL()))
	w := &walks{begun: make(chan string, maxGraphRequests), let: make(chan struct{})}
	service, err := worker.ServeGraphs("gpu0", w)
	must(t, err)
	flush(t, worker)
	return w, service, dial(t, fastConfig(server.URL()))
}

func TestGraphRequestsAreAnsweredWhileARunGoesOn(t *testing.T) {
	w, service, c := serveWalks(t)
	ctx := testContext(t)
	ended := make(chan error, 1)
	go func() {
		_, err := c.RunGraph(ctx, "gpu0", "q", &telemetry.Resident{Name: "g"})
		ended <- err
	}()
	<-w.begun
	for _, ask := range []telemetry.ResidentAsk{telemetry.ResidentList, telemetry.ResidentDrop, telemetry.ResidentLoad} {
		if _, err := c.AskGraphs(ctx, "gpu0", "q", &telemetry.Resident{Ask: ask, Name: "h"}); err != nil {
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
	ended := make(chan error, maxGraphRequests)
	for range maxGraphRequests {
		go func() {
			_, err := c.RunGraph(ctx, "gpu0", "q", &telemetry.Resident{Name: "g"})
			ended <- err
		}()
	}
	for range maxGraphRequests {
		<-w.begun
	}
	drop := &telemetry.Resident{Ask: telemetry.ResidentDrop, Name: "h"}
	if _, err := c.AskGraphs(ctx, "gpu0", "q", drop); !errors.Is(err, ErrGraphBusy) || strings.Count(err.Error(), "busy") != 1 {
		t.Errorf("one request too many: %v", err)
	}
	if _, err := c.AskGraphs(ctx, "gpu0", "q", &telemetry.Resident{Ask: telemetry.ResidentList}); err != nil {
		t.Errorf("a list of a worker that is busy: %v", err)
	}
	w.let <- struct{}{}
	must(t, <-ended)
	if _, err := c.AskGraphs(ctx, "gpu0", "q", drop); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
	must(t, service.Stop(ctx))
	for range maxGraphRequests - 1 {
		if err := <-ended; err == nil || !strings.Contains(err.Error(), ErrStopping.Error()) {
			t.Errorf("a run of a worker that stopped: %v", err)
		}
	}
	if stats := service.Stats(); stats.Served < 3 || stats.Refused != maxGraphRequests {
		t.Errorf("%+v", stats)
	}
}

func TestARequesterThatGivesUpCancelsItsRunAndNoOther(t *testing.T) {
	w, service, c := serveWalks(t)
	ctx := testContext(t)
	other := make(chan error, 1)
	go func() {
		_, err := c.RunGraph(ctx, "gpu0", "q", &telemetry.Resident{Name: "other"})
		other <- err
	}()
	<-w.begun
	interrupted, interrupt := context.WithCancel(ctx)
	mine := make(chan error, 1)
	go func() {
		_, err := c.RunGraph(interrupted, "gpu0", "q", &telemetry.Resident{Name: "mine"})
		mine <- err
	}()
	<-w.begun
	interrupt()
	if err := <-mine; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the worker ends the run") {
		t.Errorf("an interrupted run: %v", err)
	}
	cancel := &telemetry.Resident{Ask: telemetry.ResidentCancel, Name: "other", Result: 7}
	if _, err := c.AskGraphs(ctx, "gpu0", "q", cancel); !errors.Is(err, ErrNoGraph) {
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
			_, err := c.AskGraphs(ctx, "gpu0", queue, &telemetry.Resident{Ask: telemetry.ResidentRun, Name: "g", Result: 5})
			ended <- err
		}()
		<-w.begun
		return ended
	}
	a, b := run("a"), run("b")
	again := &telemetry.Resident{Ask: telemetry.ResidentRun, Name: "g", Result: 5}
	if _, err := c.AskGraphs(ctx, "gpu0", "a", again); !errors.Is(err, ErrGraphRequest) {
		t.Errorf("a number that is in use: %v", err)
	}
	if _, err := c.AskGraphs(ctx, "gpu0", "b", &telemetry.Resident{Ask: telemetry.ResidentCancel, Name: "g", Result: 5}); err != nil {
		t.Error(err)
	}
	if err := <-b; err == nil || !strings.Contains(err.Error(), ErrGraphCanceled.Error()) {
		t.Errorf("the canceled run: %v", err)
	}
	w.let <- struct{}{}
	must(t, <-a)
	must(t, service.Stop(ctx))
}
