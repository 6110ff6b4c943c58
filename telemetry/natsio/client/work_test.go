package client

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

func batchOf(id string, slots int) *telemetry.Work {
	w := &telemetry.Work{Has: telemetry.HasBatch | telemetry.HasSlots, Batch: id}
	for i := range slots {
		w.Slots = append(w.Slots, telemetry.Slot{Opcode: 1, Args: [12]uint32{uint32(i), 7}})
	}
	return w
}

func TestWorkPublisherStoresInOrderWithoutWaiting(t *testing.T) {
	url := newServer(t).URL()
	runtime, conn := dial(t, url), dial(t, url)
	handed := make(chan string, 100)
	consumer, err := runtime.ConsumeWork(t.Context(), "gpu0", natsio.DefaultWorkConfig(),
		func(_, _ string, w *telemetry.Work, _ int64, settled func(telemetry.Outcome, error)) {
			handed <- w.Batch
			settled(telemetry.OutcomeDone, nil)
		})
	must(t, err)
	must(t, conn.EnsureWorkStream(testContext(t)))
	p := NewWorkPublisher(conn, 8)
	stored := make(chan error, 100)
	for i := range 100 {
		must(t, p.Publish(testContext(t), "gpu0", "a", telemetry.Header{Incarnation: 9, Seq: uint64(i + 1)},
			batchOf(fmt.Sprintf("b%d", i), 1), func(_ bool, err error) { stored <- err }))
	}
	for i := range 100 {
		must(t, receive(t, stored))
		if got, want := receive(t, handed), fmt.Sprintf("b%d", i); got != want {
			t.Fatalf("batch %s in place of %s", got, want)
		}
	}
	must(t, consumer.Drain(testContext(t)))
	again, err := PublishWork(testContext(t), conn, "gpu0", "a", telemetry.Header{Incarnation: 9, Seq: 101}, batchOf("b7", 1))
	if err != nil || !again {
		t.Errorf("batch b7 again: duplicate %v, %v", again, err)
	}
}

func TestAWorkerIsToldOfQueuesWithBatches(t *testing.T) {
	url := newServer(t).URL()
	c, other := dial(t, url), dial(t, url)
	told := make(chan string, 100)
	_, err := other.NATS().Subscribe("ringmaster.v1.queued.gpu0.*", func(m *nats.Msg) { told <- m.Subject })
	must(t, err)
	must(t, other.NATS().Flush())
	must(t, c.EnsureWorkStream(testContext(t)))
	p := NewWorkPublisher(c, 1) // each is stored before the next is sent
	stored := make(chan error, 1)
	for i, queue := range []string{"a", "b", "a", "a", "b"} {
		must(t, p.Publish(testContext(t), "gpu0", queue, telemetry.Header{Incarnation: 9, Seq: uint64(i + 1)},
			batchOf(fmt.Sprint("b", i), 1), func(_ bool, err error) { stored <- err }))
		must(t, receive(t, stored))
		p.told[c.Subjects().Queued("gpu0", queue)] = time.Now().Add(time.Hour)
	}
	_, err = PublishWork(testContext(t), c, "gpu0", "c", telemetry.Header{Incarnation: 9, Seq: 6}, batchOf("b5", 1))
	must(t, err)
	for _, queue := range []string{"a", "b", "c"} {
		if got := receive(t, told); got != "ringmaster.v1.queued.gpu0."+queue {
			t.Errorf("told of %s, want queue %s", got, queue)
		}
	}
}

func TestWorkThatCannotBeSentIsRefusedAtOnce(t *testing.T) {
	c := dial(t, newServer(t).URL())
	ctx := testContext(t)
	for _, bad := range []struct {
		worker, queue string
		work          *telemetry.Work
		want          error
	}{
		{"gpu.0", "a", batchOf("b", 1), natsio.ErrBadName},
		{"gpu0", ">", batchOf("b", 1), natsio.ErrBadName},
		{"gpu0", telemetry.BatchQueue, batchOf("b", 1), natsio.ErrBadName},
		{"gpu0", "a", batchOf("b b", 1), natsio.ErrBadName},
		{"gpu0", "a", batchOf("b", 0), natsio.ErrTooLarge},
		{"gpu0", "a", batchOf("b", telemetry.MaxBatchSlots+1), natsio.ErrTooLarge},
	} {
		_, err := PublishWork(ctx, c, bad.worker, bad.queue, telemetry.Header{}, bad.work)
		if !errors.Is(err, bad.want) {
			t.Errorf("%s.%s batch %q: %v, want %v", bad.worker, bad.queue, bad.work.Batch, err, bad.want)
		}
	}
}

func TestWorkWithoutAStreamSaysThatNoRuntimeIsThere(t *testing.T) {
	c := dial(t, newServer(t).URL())
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	_, err := PublishWork(ctx, c, "gpu0", "a", telemetry.Header{}, batchOf("b", 1))
	if !errors.Is(err, natsio.ErrNoRuntime) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want ErrNoRuntime and the end of the context", err)
	}
}

func TestWorkThatNobodyConfirmsSaysThatTheStreamIsSilent(t *testing.T) {
	c := dial(t, newServer(t).URL())
	if _, err := c.NATS().SubscribeSync(c.Subjects().Work("gpu0", "a")); err != nil { // as a stream that cannot write
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	_, err := PublishWork(ctx, c, "gpu0", "a", telemetry.Header{}, batchOf("b", 1))
	if !errors.Is(err, errSilentStream) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want that the stream is silent and the end of the context", err)
	}
}

// What another program can foresee it can store first, and the stream would keep the batch
// itself out.
func TestNobodyElsesMessageKeepsABatchOut(t *testing.T) {
	c := dial(t, newServer(t).URL())
	must(t, c.EnsureWorkStream(testContext(t)))
	for _, id := range []string{"b1", "gpu0.a.b1", "gpu0.a.b1.1"} {
		m := nats.NewMsg(c.Subjects().Work("gpu0", "hostile"))
		m.Header.Set(jetstream.MsgIDHeader, id)
		if _, err := c.JetStream().PublishMsg(testContext(t), m); err != nil {
			t.Fatal(err)
		}
	}
	h := telemetry.Header{Incarnation: telemetry.NewIncarnation(), Seq: 1}
	for again := range 2 {
		known, err := PublishWork(testContext(t), c, "gpu0", "a", h, batchOf("b1", 1))
		if err != nil || known != (again == 1) {
			t.Errorf("attempt %d: known %v, %v", again, known, err)
		}
	}
	h.Incarnation++
	if known, err := PublishWork(testContext(t), c, "gpu0", "a", h, batchOf("b1", 1)); err != nil || known {
		t.Errorf("from another program: known %v, %v", known, err)
	}
}

// A queue that its worker does not empty has half of the stream at most. Its publishers wait, and
// say why; others are not concerned.
func TestAQueueCannotFillTheStream(t *testing.T) {
	c := dial(t, newServer(t).URL())
	must(t, c.EnsureWorkStream(testContext(t)))
	for range natsio.MaxQueueBatches {
		_, err := c.JetStream().PublishAsync(c.Subjects().Work("nobody", "a"), []byte("x"))
		must(t, err)
	}
	receive(t, c.JetStream().PublishAsyncComplete())
	h := telemetry.Header{Incarnation: 9, Seq: 1}
	short, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	_, err := PublishWork(short, c, "nobody", "a", h, batchOf("b1", 1))
	if !errors.Is(err, natsio.ErrQueueFull) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want ErrQueueFull and the end of the context", err)
	}
	_, err = PublishWork(testContext(t), c, "nobody", "b", h, batchOf("b1", 1))
	must(t, err)

	stored := make(chan error, 1)
	p := NewWorkPublisher(c, 1)
	must(t, p.Publish(testContext(t), "nobody", "a", h, batchOf("b1", 1), func(_ bool, err error) { stored <- err }))
	stream, err := c.JetStream().Stream(testContext(t), c.WorkStream())
	must(t, err)
	must(t, stream.Purge(testContext(t), jetstream.WithPurgeSubject(c.Subjects().Work("nobody", "a")), jetstream.WithPurgeKeep(1)))
	must(t, receive(t, stored))
}

func TestAFullStreamIsSaidAtOnce(t *testing.T) {
	c := dial(t, newServer(t).URL())
	_, err := c.JetStream().CreateStream(testContext(t), jetstream.StreamConfig{
		Name: c.WorkStream(), Subjects: []string{"ringmaster.v1.work.>"}, MaxBytes: 1, Discard: jetstream.DiscardNew,
	})
	must(t, err)
	_, err = PublishWork(testContext(t), c, "gpu0", "a", telemetry.Header{Incarnation: 9, Seq: 1}, batchOf("b1", 1))
	if !errors.Is(err, natsio.ErrStreamFull) {
		t.Errorf("error %v, want ErrStreamFull", err)
	}
}

// The answer to a batch was lost, and when the batch comes again the cluster still stores the first
// one, then has it: nothing went wrong. A server alone never gives the first of these answers, so
// they come from the test.
func TestABatchThatComesAgainIsNoFailure(t *testing.T) {
	c := dial(t, newServer(t).URL())
	ids := make(chan string, 10)
	answers := []string{
		`{"error":{"code":409,"err_code":10158,"description":"duplicate message id is in process"}}`,
		`{"stream":"RINGMASTER_WORK","seq":7,"duplicate":true}`,
	}
	asked := 0
	_, err := c.NATS().Subscribe(c.Subjects().Work("gpu0", "a"), func(m *nats.Msg) {
		ids <- m.Header.Get(jetstream.MsgIDHeader)
		_ = m.Respond([]byte(answers[asked%len(answers)]))
		asked++
	})
	must(t, err)
	must(t, c.NATS().Flush())
	h := telemetry.Header{Incarnation: 9, Seq: 1}
	known, err := PublishWork(testContext(t), c, "gpu0", "a", h, batchOf("b1", 1))
	if err != nil || !known {
		t.Errorf("known %v, %v", known, err)
	}
	stored := make(chan error, 1)
	must(t, NewWorkPublisher(c, 1).Publish(testContext(t), "gpu0", "a", h, batchOf("b1", 1), func(_ bool, err error) { stored <- err }))
	must(t, receive(t, stored))
	for range 4 {
		if id := receive(t, ids); id != "gpu0.a.b1.9" {
			t.Errorf("message id %s", id)
		}
	}
}
