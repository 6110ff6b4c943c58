package natsio

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
)

// delivery is one call of the work handler.
type delivery struct {
	worker, queue string
	work          *telemetry.Work
	sentNs        int64
	settled       func(telemetry.Outcome, error)
}

// shop is a consumer of worker gpu0's batches and a client that submits them.
type shop struct {
	conn     *Conn
	consumer *WorkConsumer
	client   *Conn
	batches  chan delivery
}

func openShop(t *testing.T, url string, change func(*WorkConfig)) *shop {
	t.Helper()
	cfg := DefaultWorkConfig()
	cfg.RetryMin, cfg.RetryMax = time.Millisecond, 10*time.Millisecond
	if change != nil {
		change(&cfg)
	}
	s := &shop{conn: dial(t, fastConfig(url)), client: dial(t, fastConfig(url)), batches: make(chan delivery, 4096)}
	s.consume(t, cfg)
	return s
}

func (s *shop) consume(t *testing.T, cfg WorkConfig) {
	t.Helper()
	var err error
	s.consumer, err = s.conn.ConsumeWork(context.Background(), "gpu0", cfg,
		func(worker, queue string, w *telemetry.Work, sentNs int64, settled func(telemetry.Outcome, error)) {
			s.batches <- delivery{worker, queue, w, sentNs, settled}
		})
	must(t, err)
	c := s.consumer
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		c.Drain(ended) // batches left without an outcome are what some tests want
		<-c.stopped
	})
	receive(t, readiness(c.Ready()))
}

// readiness turns the closing of a channel into a value.
func readiness(closed <-chan struct{}) <-chan bool {
	ch := make(chan bool, 1)
	go func() {
		<-closed
		ch <- true
	}()
	return ch
}

func batchOf(id string, slots int) *telemetry.Work {
	w := &telemetry.Work{Has: telemetry.HasBatch | telemetry.HasSlots, Batch: id}
	for i := range slots {
		w.Slots = append(w.Slots, telemetry.Slot{Opcode: 1, Args: [12]uint32{uint32(i), 7}})
	}
	return w
}

func (s *shop) submit(t *testing.T, id string) bool {
	t.Helper()
	duplicate, err := storeWork(t, s.client, "a", batchOf(id, 3))
	must(t, err)
	return duplicate
}

// wantStored waits until the stream holds n batches: the server handles
// acknowledgements after it has received them.
func (s *shop) wantStored(t *testing.T, n uint64) {
	t.Helper()
	flush(t, s.conn)
	stream, err := s.client.js.Stream(testContext(t), s.client.WorkStream())
	must(t, err)
	ctx := testContext(t)
	for stored := stream.CachedInfo().State.Msgs; stored != n; {
		info, err := stream.Info(ctx)
		if err != nil {
			t.Fatalf("%d batches stored, want %d (%v)", stored, n, err)
		}
		stored = info.State.Msgs
	}
}

// drained waits until every acknowledgement is with the server.
func (s *shop) drained(t *testing.T) {
	t.Helper()
	must(t, s.consumer.Drain(testContext(t)))
}

func TestBatchStaysInTheStreamUntilItsOutcome(t *testing.T) {
	s := openShop(t, newServer(t).URL(), nil)
	s.submit(t, "b1")
	d := receive(t, s.batches)
	if d.worker != "gpu0" || d.queue != "a" || d.sentNs != 1234 || d.work.Batch != "b1" ||
		len(d.work.Slots) != 3 || d.work.Slots[2].Args[0] != 2 {
		t.Errorf("handler got %+v %+v", d, d.work)
	}
	s.wantStored(t, 1)
	d.settled(telemetry.OutcomeDone, nil)
	d.settled(telemetry.OutcomeRetry, nil) // ignored
	s.drained(t)
	s.wantStored(t, 0)
	if st := s.consumer.Stats(); st.Delivered != 1 || st.Done != 1 || st.Retried != 0 || st.Pending != 0 || st.AckErrors != 0 {
		t.Errorf("stats %+v, want one done", st)
	}
}

func TestAFinishedBatchIsTimedFromTheStream(t *testing.T) {
	took := make(chan time.Duration, 1)
	s := openShop(t, newServer(t).URL(), func(cfg *WorkConfig) { cfg.Finished = func(d time.Duration) { took <- d } })
	s.submit(t, "b1")
	d := receive(t, s.batches)
	for s.consumer.Stored()["a"] != 1 {
		time.Sleep(time.Millisecond)
	}
	if got := s.consumer.Stats(); got.Stored != 1 || got.Redelivered != 0 {
		t.Errorf("%+v: want one batch in the stream, delivered once", got)
	}
	d.settled(telemetry.OutcomeRetry, nil)
	again := receive(t, s.batches)
	if got := s.consumer.Stats(); got.Redelivered != 1 {
		t.Errorf("%d redeliveries, want 1", got.Redelivered)
	}
	again.settled(telemetry.OutcomeDone, nil)
	if d := receive(t, took); d <= 0 || d > time.Minute {
		t.Errorf("finished %v after it was stored", d)
	}
	for len(s.consumer.Stored()) != 0 {
		time.Sleep(time.Millisecond)
	}
}

func TestBatchIdIsStoredOnce(t *testing.T) {
	s := openShop(t, newServer(t).URL(), nil)
	if s.submit(t, "b1") {
		t.Error("the first one is a duplicate")
	}
	if !s.submit(t, "b1") {
		t.Error("the second one is not a duplicate")
	}
	s.submit(t, "b2")
	if d := receive(t, s.batches); d.work.Batch != "b1" {
		t.Errorf("first batch %s", d.work.Batch)
	}
	if d := receive(t, s.batches); d.work.Batch != "b2" {
		t.Errorf("second batch %s, want b2: b1 came twice", d.work.Batch)
	}
}

func TestBatchesDoNotShareMemory(t *testing.T) {
	s := openShop(t, newServer(t).URL(), nil)
	s.submit(t, "b1")
	s.submit(t, "b2")
	first, second := receive(t, s.batches), receive(t, s.batches)
	second.work.Slots[0].Opcode = 99
	if first.work.Slots[0].Opcode != 1 || first.work.Batch != "b1" {
		t.Error("a later batch changed an earlier one")
	}
}

func TestRetryDeliversAgain(t *testing.T) {
	s := openShop(t, newServer(t).URL(), nil)
	s.submit(t, "b1")
	receive(t, s.batches).settled(telemetry.OutcomeRetry, errors.New("shutting down"))
	d := receive(t, s.batches)
	if d.work.Batch != "b1" {
		t.Errorf("batch %s came again, want b1", d.work.Batch)
	}
	d.settled(telemetry.OutcomeDuplicate, nil)
	s.drained(t)
	s.wantStored(t, 0)
	if st := s.consumer.Stats(); st.Retried != 1 || st.Duplicates != 1 {
		t.Errorf("stats %+v, want one retried, one duplicate", st)
	}
}

func TestRefusedBatchIsRemovedAndReported(t *testing.T) {
	s := openShop(t, newServer(t).URL(), nil)
	rejected := make(chan telemetry.Rejected, 10)
	_, err := s.client.SubscribeRejected("gpu0", "a", func(_, _ string, _ *telemetry.Header, r *telemetry.Rejected) { rejected <- *r })
	must(t, err)
	s.submit(t, "b1")
	receive(t, s.batches).settled(telemetry.OutcomeRefused, errors.New("no such queue"))
	if r := receive(t, rejected); r.Reason != telemetry.ReasonRefused || r.Detail != "no such queue" {
		t.Errorf("rejected %+v, want the handler's reason", r)
	}
	s.drained(t)
	s.wantStored(t, 0)
}

func TestBadBatchesNeverReachTheHandler(t *testing.T) {
	t.Parallel() // it waits until the stream is asked
	s := openShop(t, newServer(t).URL(), nil)
	rejected := make(chan telemetry.Rejected, 10)
	keep := func(r *telemetry.Rejected) { rejected <- *r }
	if _, err := s.client.SubscribeRejected("*", "*", func(_, _ string, _ *telemetry.Header, r *telemetry.Rejected) { keep(r) }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.SubscribeRejectedInvalid(func(_ *telemetry.Header, r *telemetry.Rejected) { keep(r) }); err != nil {
		t.Fatal(err)
	}
	flush(t, s.client)
	h := telemetry.Header{Incarnation: 9, Seq: 1}
	good := telemetry.Append(nil, telemetry.EncodingMap, h, batchOf("x", 1))
	other := h
	other.Queue = "b"
	for _, c := range []struct {
		name, subject, reason string
		payload               []byte
	}{
		{"not msgpack", "work.gpu0.a", telemetry.ReasonMalformed, []byte("hello")},
		{"wrong kind", "work.gpu0.a", telemetry.ReasonWrongKind, queueRecord(1, "")},
		{"two batches", "work.gpu0.a", telemetry.ReasonOversized, append(good[:len(good):len(good)], good...)},
		{"another queue", "work.gpu0.a", telemetry.ReasonInconsistent, telemetry.Append(nil, telemetry.EncodingMap, other, batchOf("x", 1))},
		{"no slots", "work.gpu0.a", telemetry.ReasonOutOfRange, telemetry.Append(nil, telemetry.EncodingMap, h, batchOf("x", 0))},
		{"bad subject", "work.gpu0.a.b", telemetry.ReasonBadToken, good},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := s.client.js.Publish(testContext(t), "ringmaster.v1."+c.subject, c.payload); err != nil {
				t.Fatal(err)
			}
			if r := receive(t, rejected); r.Reason != c.reason {
				t.Errorf("rejected %+v, want %s", r, c.reason)
			}
		})
	}
	s.drained(t)
	s.wantStored(t, 0)
	if n := len(s.batches); n != 0 {
		t.Errorf("%d handed over, want none", n)
	}
}

func TestBatchThatOutlivesItsAckWaitIsNotRunTwice(t *testing.T) {
	s := openShop(t, newServer(t).URL(), func(c *WorkConfig) { c.AckWait = time.Second })
	s.submit(t, "b1")
	first := receive(t, s.batches)
	// The server delivers it again, as if no sign of life had arrived.
	s.consumer.mu.Lock()
	for _, b := range s.consumer.pending {
		if err := b.msg.Nak(); err != nil {
			t.Error(err)
		}
	}
	s.consumer.mu.Unlock()
	for i := 0; s.consumer.Stats().Repeated == 0; i++ {
		id := fmt.Sprintf("later%d", i)
		s.submit(t, id)
		d := receive(t, s.batches)
		if d.work.Batch != id {
			t.Fatalf("handler got %s while it was still at work on b1", d.work.Batch)
		}
		d.settled(telemetry.OutcomeDone, nil)
	}
	first.settled(telemetry.OutcomeDone, nil)
	s.drained(t)
	s.wantStored(t, 0)
}

func TestSignsOfLifeKeepABatch(t *testing.T) {
	s := openShop(t, newServer(t).URL(), func(c *WorkConfig) { c.AckWait = time.Second })
	beats := make(chan bool, 100)
	if _, err := s.client.nc.Subscribe("$JS.ACK.>", func(m *nats.Msg) {
		if string(m.Data) == "+WPI" { // work in progress
			beats <- true
		}
	}); err != nil {
		t.Fatal(err)
	}
	s.submit(t, "b1")
	d := receive(t, s.batches)
	for range 4 { // more than an ack wait
		receive(t, beats)
	}
	if st := s.consumer.Stats(); st.Repeated != 0 || len(s.batches) != 0 {
		t.Errorf("the batch was delivered again: %+v", st)
	}
	d.settled(telemetry.OutcomeDone, nil)
}

func TestPoisonousBatchIsRefusedAfterItsDeliveries(t *testing.T) {
	s := openShop(t, newServer(t).URL(), func(c *WorkConfig) { c.MaxDeliveries = 2 })
	rejected := make(chan telemetry.Rejected, 10)
	if _, err := s.client.SubscribeRejected("*", "*", func(_, _ string, _ *telemetry.Header, r *telemetry.Rejected) { rejected <- *r }); err != nil {
		t.Fatal(err)
	}
	s.submit(t, "b1")
	for range 2 {
		receive(t, s.batches).settled(telemetry.OutcomeRetry, nil)
	}
	if r := receive(t, rejected); r.Reason != ReasonExhausted {
		t.Errorf("rejected %+v, want exhausted", r)
	}
}

func TestWaitingForRoomIsNoDelivery(t *testing.T) {
	s := openShop(t, newServer(t).URL(), func(c *WorkConfig) { c.MaxDeliveries = 2 })
	s.submit(t, "b1")
	for range 6 {
		d := receive(t, s.batches)
		if d.work.Batch != "b1" || d.queue != "a" || d.sentNs != 1234 || len(d.work.Slots) != 3 {
			t.Fatalf("handed over %+v %+v", d, d.work)
		}
		d.work.Slots[0].Opcode = 77 // the handler's own
		d.settled(telemetry.OutcomeBusy, errors.New("no room"))
		d.settled(telemetry.OutcomeDone, nil) // ignored
	}
	d := receive(t, s.batches)
	if d.work.Slots[0].Opcode != 1 {
		t.Error("what a handler did to a batch is in the next attempt's")
	}
	d.settled(telemetry.OutcomeDone, nil)
	s.wantStored(t, 0)
	if got := s.consumer.Stats(); got.Busy != 6 || got.Delivered != 1 || got.Done != 1 || got.GivenUp != 0 || got.Pending != 0 {
		t.Errorf("stats %+v", got)
	}
}

func TestABatchThatIsGivenUpHasADoneRecordFirst(t *testing.T) {
	told := make(chan telemetry.Done, 10)
	lost := true
	s := openShop(t, newServer(t).URL(), func(c *WorkConfig) {
		c.MaxDeliveries = 2
		c.GaveUp = func(worker, queue string, d *telemetry.Done, sent func(error)) {
			if worker != "gpu0" || queue != "a" {
				t.Errorf("given up for %s.%s", worker, queue)
			}
			told <- *d
			if lost {
				lost = false
				sent(errors.New("no server"))
				return
			}
			sent(nil)
		}
	})
	s.submit(t, "b1")
	for range 2 {
		receive(t, s.batches).settled(telemetry.OutcomeRetry, nil)
	}
	for deliveries := 2; deliveries <= 3; deliveries++ { // the record is lost once
		want := fmt.Sprintf("given up after %d deliveries", deliveries)
		if d := receive(t, told); d.Batch != "b1" || d.Dropped != 3 || d.WorkSentNs != 1234 || d.Error != want {
			t.Errorf("done %+v, want %s", d, want)
		}
	}
	s.wantStored(t, 0)
	if got := s.consumer.Stats(); got.GivenUp != 1 || got.Refused != 1 || got.Retried != 3 {
		t.Errorf("stats %+v", got)
	}
}
