package natsio

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/natstest"
)

func TestDrainGivesBackWhatWaitsForRoom(t *testing.T) {
	url := newServer(t).URL()
	s := openShop(t, url, func(c *WorkConfig) { c.RetryMin, c.RetryMax = time.Hour, time.Hour })
	s.submit(t, "b1")
	receive(t, s.batches).settled(telemetry.OutcomeBusy, errors.New("no room"))
	s.consumer.releaseHeld()
	s.submit(t, "b2")
	consumer, err := s.conn.js.Consumer(t.Context(), s.conn.WorkStream(), "gpu0=a")
	must(t, err)
	for asked := 0; asked < 50; { // after b2 was delivered: what is given back comes before the answer to a few questions
		info, err := consumer.Info(t.Context())
		must(t, err)
		if n := info.Delivered.Consumer; n > 2 {
			t.Fatalf("%d deliveries of two batches to a process that drains", n)
		}
		if info.Delivered.Stream == 2 {
			asked++
		}
	}
	s.drained(t)
	if got := s.consumer.Stats(); got.Pending != 0 || got.Retried != 1 {
		t.Errorf("stats %+v", got)
	}
	s.consume(t, DefaultWorkConfig())
	receive(t, s.batches).settled(telemetry.OutcomeDone, nil)
	receive(t, s.batches).settled(telemetry.OutcomeDone, nil)
	s.wantStored(t, 0)
}

// The server counts a delivery when it hands a batch out, started or not. A process that ends in order
// costs each batch that it has in hand one, and those that wait in the stream none.
func TestARestartCostsOneDeliveryOfWhatIsInHand(t *testing.T) {
	cfg := DefaultWorkConfig()
	cfg.MaxPending, cfg.RetryMin, cfg.RetryMax = 2, time.Hour, time.Hour
	s := openShop(t, newServer(t).URL(), func(c *WorkConfig) { *c = cfg })
	for _, batch := range []string{"b1", "b2", "b3"} {
		s.submit(t, batch)
	}
	const restarts = 4
	for range restarts {
		for range cfg.MaxPending {
			receive(t, s.batches).settled(telemetry.OutcomeBusy, errors.New("no room"))
		}
		s.drained(t)
		s.consume(t, cfg)
	}
	times := make(map[string]uint64)
	for range 3 {
		d := receive(t, s.batches)
		s.consumer.mu.Lock()
		times[d.work.Batch] = s.consumer.pending[uint64(d.work.Batch[1]-'0')].delivered // by its place in the stream
		s.consumer.mu.Unlock()
		d.settled(telemetry.OutcomeDone, nil)
	}
	if want := map[string]uint64{"b1": restarts + 1, "b2": restarts + 1, "b3": 1}; !maps.Equal(times, want) {
		t.Errorf("deliveries %v, want %v", times, want)
	}
	s.wantStored(t, 0)
}

func TestWhatIsGivenBackComesAgainInItsOrder(t *testing.T) {
	cfg := DefaultWorkConfig()
	cfg.RetryMin, cfg.RetryMax = time.Hour, time.Hour
	s := openShop(t, newServer(t).URL(), func(c *WorkConfig) { *c = cfg })
	const batches = 8
	for i := range batches {
		s.submit(t, fmt.Sprint("b", i))
	}
	for range batches {
		receive(t, s.batches).settled(telemetry.OutcomeBusy, errors.New("no room"))
	}
	s.drained(t)
	s.consume(t, cfg)
	for i := range batches {
		d := receive(t, s.batches)
		if want := fmt.Sprint("b", i); d.work.Batch != want {
			t.Errorf("%s came again in the place of %s", d.work.Batch, want)
		}
		d.settled(telemetry.OutcomeDone, nil)
	}
}

func TestDrainGivesBackWhatNobodyHasSeen(t *testing.T) {
	url := newServer(t).URL()
	s := openShop(t, url, nil)
	s.submit(t, "b1")
	d := receive(t, s.batches)
	drained := make(chan error, 1)
	go func() { drained <- s.consumer.Drain(testContext(t)) }()
	<-s.consumer.stopped
	s.submit(t, "b2")
	select {
	case err := <-drained:
		t.Fatalf("drain returned %v before the outcome", err)
	default:
	}
	d.settled(telemetry.OutcomeDone, nil)
	must(t, receive(t, drained))
	s.wantStored(t, 1)
	if n := len(s.batches); n != 0 {
		t.Errorf("%d handed over while draining, want 0", n)
	}
	next := openShop(t, url, nil)
	if d := receive(t, next.batches); d.work.Batch != "b2" {
		t.Errorf("next consumer got %s, want b2", d.work.Batch)
	}
}

func TestDrainEndsWithItsContext(t *testing.T) {
	s := openShop(t, newServer(t).URL(), nil)
	s.submit(t, "b1")
	receive(t, s.batches)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.consumer.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("drain with a batch at work: %v, want context.Canceled", err)
	}
}

func TestDrainWithoutAServerFailsOnlyIfOneIsOwedAnything(t *testing.T) {
	cfg := fastConfig("nats://127.0.0.1:1")
	c, err := Connect(cfg)
	must(t, err)
	t.Cleanup(func() {
		c.Close()
		<-c.Closed()
	})
	w, err := c.ConsumeWork(testContext(t), "w", DefaultWorkConfig(), func(string, string, *telemetry.Work, int64, func(telemetry.Outcome, error)) {})
	must(t, err)
	if err := w.Drain(testContext(t)); err != nil {
		t.Errorf("nothing ever came: %v", err)
	}
	p := natstest.Start(t)
	s := openShop(t, p.URL, nil)
	s.submit(t, "b1")
	d := receive(t, s.batches)
	p.Kill()
	must(t, s.conn.WaitState(testContext(t), StateDisconnected))
	d.settled(telemetry.OutcomeDone, nil)
	if err := s.consumer.Drain(testContext(t)); !errors.Is(err, ErrDisconnected) {
		t.Errorf("an acknowledgement that cannot have arrived: %v", err)
	}
}

// A batch leaves the goroutine that read it, so the next one must not be read into its memory.
func TestBatchesThatWereReadShareNoMemory(t *testing.T) {
	w := &WorkConsumer{cfg: DefaultWorkConfig()}
	read := func(opcode uint32) *telemetry.Work {
		h := telemetry.Header{Incarnation: 1, Seq: 1}
		sent := telemetry.Work{
			Has: telemetry.HasBatch | telemetry.HasSlots, Batch: "b",
			Slots: []telemetry.Slot{{Opcode: opcode}, {Opcode: opcode}},
		}
		m := &heldMessage{payload: telemetry.Append(nil, telemetry.EncodingArray, h, &sent)}
		work, _, err := w.decode(&batch{queue: "a"}, m)
		must(t, err)
		return work
	}
	first := read(1)
	if second := read(2); first.Slots[1].Opcode != 1 || second.Slots[1].Opcode != 2 {
		t.Errorf("read %v, then %v", first.Slots, second.Slots)
	}
}
