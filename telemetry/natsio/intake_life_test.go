package natsio

import (
	"context"
	"errors"
	"testing"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/natstest"
)

func TestStopLetsTheSinkFinish(t *testing.T) {
	d := openDoor(t)
	for i := range uint32(500) {
		d.publish(t, "a", queueRecord(i, ""))
	}
	flush(t, d.client)
	must(t, d.ingest.Stop(testContext(t)))
	if n := len(d.sink.calls); n != 500 {
		t.Errorf("sink had %d records when Stop returned, want 500", n)
	}
}

func TestServeWorksBeforeTheFirstConnection(t *testing.T) {
	p := natstest.Start(t)
	p.Kill()
	c, err := Connect(fastConfig(p.URL))
	must(t, err)
	defer func() { c.Close(); <-c.Closed() }()
	if s := c.Status(); s.State != StateDisconnected {
		t.Errorf("state %v without a server", s.State)
	}
	if err := publishTelemetry(c, "gpu0", "a", queueRecord(1, "")); !errors.Is(err, ErrDisconnected) {
		t.Errorf("publish without a server: %v, want ErrDisconnected", err)
	}
	sink := newSink()
	if _, err := c.Serve(sink, DefaultIngestConfig()); err != nil {
		t.Fatal(err)
	}
	p.Start()
	must(t, c.WaitState(testContext(t), StateConnected))
	flush(t, c)
	must(t, publishTelemetry(dial(t, fastConfig(p.URL)), "gpu0", "a", queueRecord(3, "")))
	if got := receive(t, sink.calls); got.length != 3 {
		t.Errorf("sink got %+v, want length 3", got)
	}
}

func TestWaitStateEndsWithItsContext(t *testing.T) {
	c := dial(t, fastConfig(newServer(t).URL()))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.WaitState(ctx, StateDisconnected); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestStoppingWithoutAServerDoesNotWait(t *testing.T) {
	c := unconnected(t)
	in, err := c.Serve(newSink(), DefaultIngestConfig())
	must(t, err)
	sub, err := c.SubscribeDone("*", "*", func(_, _ string, _ *telemetry.Header, _ *telemetry.Done) {})
	must(t, err)
	out := c.NewOutlet(OutletConfig{})
	// Without a deadline a wait for the server's answer would never end.
	for name, stop := range map[string]func(context.Context) error{"ingest": in.Stop, "subscription": sub.Stop, "outlet": out.Close} {
		if err := stop(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
