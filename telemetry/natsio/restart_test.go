package natsio

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/natstest"
)

// A server that dies and comes back on the same port with the same store is
// what a worker has to survive without help.
func TestWorkGoesOnWhenTheServerIsKilledAndComesBack(t *testing.T) {
	server := natstest.Start(t)
	logger, lines := newLog()
	cfg := fastConfig(server.URL)
	cfg.Logger = logger
	runtime := dial(t, cfg)
	lines.wait(t, "connected to NATS")
	s := &shop{conn: runtime, client: dial(t, fastConfig(server.URL)), batches: make(chan delivery, 100)}
	work := DefaultWorkConfig()
	work.AckWait = time.Second
	s.consume(t, work)
	p := openOutlet(t, runtime, OutletConfig{})

	s.submit(t, "before")
	held := receive(t, s.batches)

	server.Kill()
	must(t, runtime.WaitState(testContext(t), StateDisconnected))
	if st := runtime.Status(); st.State != StateDisconnected || st.URL != "" {
		t.Errorf("status %+v while the server is away", st)
	}
	lines.wait(t, "disconnected")
	sent := make(chan error, 1)
	p.Done("gpu0", "a", &telemetry.Done{Batch: "before"}, func(err error) { sent <- err })
	if err := receive(t, sent); err == nil {
		t.Error("a done record was confirmed without a server")
	}
	// Submitted while the server is away: it waits, and is stored once.
	later := make(chan error, 1)
	go func() {
		_, err := storeWork(t, s.client, "a", batchOf("meanwhile", 1))
		later <- err
	}()

	server.Start()
	must(t, runtime.WaitState(testContext(t), StateConnected))
	if line := lines.wait(t, "reconnected to NATS"); !strings.Contains(line, "away=") {
		t.Errorf("line %q does not say for how long", line)
	}
	must(t, receive(t, later))
	p.Done("gpu0", "a", &telemetry.Done{Batch: "before"}, func(err error) { sent <- err })
	if err := receive(t, sent); err != nil {
		t.Errorf("done after the restart: %v", err)
	}
	held.settled(telemetry.OutcomeDone, nil)
	d := receive(t, s.batches)
	for ; d.work.Batch != "meanwhile"; d = receive(t, s.batches) {
		// A server that died before it stored the delivery delivers it anew.
		if d.work.Batch != "before" {
			t.Fatalf("batch %s came, nobody submitted it", d.work.Batch)
		}
		d.settled(telemetry.OutcomeDuplicate, nil)
	}
	d.settled(telemetry.OutcomeDone, nil)
	s.settleUntilEmpty(t)
}

// settleUntilEmpty recognises batches that come again until the stream holds
// none, and drains the consumer.
func (s *shop) settleUntilEmpty(t *testing.T) {
	t.Helper()
	ctx := testContext(t)
	stream, err := s.client.js.Stream(ctx, s.client.WorkStream())
	must(t, err)
	for stored := uint64(1); stored > 0; {
		select {
		case d := <-s.batches:
			d.settled(telemetry.OutcomeDuplicate, nil)
			continue
		default:
		}
		info, err := stream.Info(ctx)
		if err != nil {
			t.Fatalf("%d batches stored: %v", stored, err)
		}
		stored = info.State.Msgs
	}
	// A copy that was handed over before its batch left the stream waits for its outcome too.
	over := make(chan error, 1)
	go func() { over <- s.consumer.Drain(ctx) }()
	for {
		select {
		case d := <-s.batches:
			d.settled(telemetry.OutcomeDuplicate, nil)
		case err := <-over:
			must(t, err)
			return
		}
	}
}

func TestBatchOfAKilledServerIsDeliveredAgainUntilItIsAcknowledged(t *testing.T) {
	server := natstest.Start(t)
	s := openShop(t, server.URL, func(c *WorkConfig) { c.AckWait = time.Second })
	for i := range 20 {
		s.submit(t, fmt.Sprintf("b%d", i))
	}
	executed := make(map[string]int)
	for len(executed) < 20 {
		d := receive(t, s.batches)
		executed[d.work.Batch]++
		if len(executed) == 10 && executed[d.work.Batch] == 1 {
			server.Restart()
		}
		d.settled(telemetry.OutcomeDone, nil)
	}
	// Acknowledgements written to the dead server are lost; those batches come
	// again, are recognised by whoever executed them, and leave the stream.
	s.settleUntilEmpty(t)
	if n := len(executed); n != 20 {
		t.Errorf("%d batches executed, want 20", n)
	}
}

func TestConsumerIsMadeAgainWhenSomebodyDeletesIt(t *testing.T) {
	s := openShop(t, newServer(t).URL(), nil)
	s.submit(t, "b0")
	receive(t, s.batches).settled(telemetry.OutcomeDone, nil)
	must(t, s.client.js.DeleteConsumer(testContext(t), s.client.WorkStream(), "gpu0=a"))
	s.submit(t, "b1")
	receive(t, s.batches).settled(telemetry.OutcomeDone, nil)
	if st := s.consumer.Stats(); st.Restarts == 0 {
		t.Errorf("stats %+v, want a restart", st)
	}
}

func TestStreamIsMadeAgainWhenSomebodyDeletesIt(t *testing.T) {
	t.Parallel() // it waits until the stream is asked
	s := openShop(t, newServer(t).URL(), nil)
	must(t, s.client.js.DeleteStream(testContext(t), s.client.WorkStream()))
	s.submit(t, "b1") // tries until there is a stream
	receive(t, s.batches).settled(telemetry.OutcomeDone, nil)
}

func TestConsumerStartsBeforeTheServer(t *testing.T) {
	server := natstest.Start(t)
	server.Kill()
	c, err := Connect(fastConfig(server.URL))
	must(t, err)
	t.Cleanup(func() { c.Close(); <-c.Closed() })
	batches := make(chan delivery, 1)
	w, err := c.ConsumeWork(t.Context(), "gpu0", DefaultWorkConfig(),
		func(worker, queue string, work *telemetry.Work, _ int64, settled func(telemetry.Outcome, error)) {
			batches <- delivery{work: work, settled: settled}
		})
	must(t, err)
	server.Start()
	receive(t, readiness(w.Ready()))
	if _, err := storeWork(t, c, "a", batchOf("b1", 1)); err != nil {
		t.Fatal(err)
	}
	receive(t, batches).settled(telemetry.OutcomeDone, nil)
	must(t, w.Drain(testContext(t)))
}

func TestIngestGoesOnAfterARestart(t *testing.T) {
	server := natstest.Start(t)
	runtime, client := dial(t, fastConfig(server.URL)), dial(t, fastConfig(server.URL))
	sink := newSink()
	if _, err := runtime.Serve(sink, DefaultIngestConfig()); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	for _, c := range []*Conn{runtime, client} {
		must(t, c.WaitState(testContext(t), StateDisconnected))
	}
	if err := publishTelemetry(client, "gpu0", "a", queueRecord(1, "")); !errors.Is(err, ErrDisconnected) {
		t.Errorf("publish while the server is away: %v, want ErrDisconnected", err)
	}
	server.Start()
	for _, c := range []*Conn{runtime, client} {
		must(t, c.WaitState(testContext(t), StateConnected))
		flush(t, c)
	}
	must(t, publishTelemetry(client, "gpu0", "a", queueRecord(2, "")))
	if got := receive(t, sink.calls); got.length != 2 {
		t.Errorf("sink got length %d, want 2: what was sent meanwhile is old", got.length)
	}
	if n := runtime.Status().Reconnects; n == 0 {
		t.Error("status does not count the reconnect")
	}
}

func TestDrainWithoutAServerEndsAtOnce(t *testing.T) {
	server := natstest.Start(t)
	s := openShop(t, server.URL, nil)
	s.submit(t, "b1")
	d := receive(t, s.batches)
	server.Kill()
	must(t, s.conn.WaitState(testContext(t), StateDisconnected))
	d.settled(telemetry.OutcomeDone, nil)
	ended := make(chan error, 1)
	go func() { ended <- s.consumer.Drain(context.Background()) }() // nothing else would end it
	if err := receive(t, ended); !errors.Is(err, ErrDisconnected) {
		t.Errorf("drain: %v, want ErrDisconnected", err)
	}
}

func TestFlushNeedsNoDeadlineAndNoServer(t *testing.T) {
	server := natstest.Start(t)
	c := dial(t, fastConfig(server.URL))
	if err := c.Flush(context.Background()); err != nil {
		t.Errorf("flush: %v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for range 500 { // the server's answer and the end of the context may be there at the same time
		if err := c.Flush(ended); !errors.Is(err, context.Canceled) {
			t.Fatalf("flush with an ended context: %v", err)
		}
	}
	server.Kill()
	must(t, c.WaitState(testContext(t), StateDisconnected))
	if err := c.Flush(context.Background()); !errors.Is(err, ErrDisconnected) {
		t.Errorf("flush without a server: %v, want ErrDisconnected", err)
	}
}
