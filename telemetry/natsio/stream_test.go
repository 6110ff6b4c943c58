package natsio

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/embedded"
)

func TestWorkPublisherStoresInOrderWithoutWaiting(t *testing.T) {
	s := openShop(t, newServer(t).URL(), nil)
	p := s.client.NewWorkPublisher(8)
	stored := make(chan error, 100)
	for i := range 100 {
		err := p.Publish(testContext(t), "gpu0", "a", telemetry.Header{Incarnation: 9, Seq: uint64(i + 1)},
			batchOf(fmt.Sprintf("b%d", i), 1), telemetry.FormMap, func(_ bool, err error) { stored <- err })
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		if err := receive(t, stored); err != nil {
			t.Fatal(err)
		}
		d := receive(t, s.batches)
		if want := fmt.Sprintf("b%d", i); d.work.Batch != want {
			t.Fatalf("batch %s in place of %s", d.work.Batch, want)
		}
		d.settled(telemetry.OutcomeDone, nil)
	}
}

func TestWorkThatCannotBeSentIsRefusedAtOnce(t *testing.T) {
	c := dial(t, fastConfig(newServer(t).URL()))
	ctx := testContext(t)
	for _, bad := range []struct {
		worker, queue string
		work          *telemetry.Work
		want          error
	}{
		{"gpu.0", "a", batchOf("b", 1), ErrBadName},
		{"gpu0", ">", batchOf("b", 1), ErrBadName},
		{"gpu0", telemetry.BatchQueue, batchOf("b", 1), ErrBadName},
		{"gpu0", "a", batchOf("b b", 1), ErrBadName},
		{"gpu0", "a", batchOf("b", 0), ErrTooLarge},
		{"gpu0", "a", batchOf("b", telemetry.MaxBatchSlots+1), ErrTooLarge},
	} {
		_, err := c.PublishWork(ctx, bad.worker, bad.queue, telemetry.Header{}, bad.work, telemetry.FormMap)
		if !errors.Is(err, bad.want) {
			t.Errorf("%s.%s batch %q: %v, want %v", bad.worker, bad.queue, bad.work.Batch, err, bad.want)
		}
	}
}

func TestWorkWithoutAStreamSaysThatNoRuntimeIsThere(t *testing.T) {
	c := dial(t, fastConfig(newServer(t).URL()))
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	_, err := c.PublishWork(ctx, "gpu0", "a", telemetry.Header{}, batchOf("b", 1), telemetry.FormMap)
	if !errors.Is(err, ErrNoRuntime) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want ErrNoRuntime and the end of the context", err)
	}
}

func TestWorkThatNobodyConfirmsSaysThatTheStreamIsSilent(t *testing.T) {
	c := dial(t, fastConfig(newServer(t).URL()))
	if _, err := c.nc.SubscribeSync(c.cfg.Subjects.Work("gpu0", "a")); err != nil { // as a stream that cannot write
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	_, err := c.PublishWork(ctx, "gpu0", "a", telemetry.Header{}, batchOf("b", 1), telemetry.FormMap)
	if !errors.Is(err, errSilentStream) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want that the stream is silent and the end of the context", err)
	}
}

func TestForeignStreamIsNotTouched(t *testing.T) {
	c := dial(t, fastConfig(newServer(t).URL()))
	ctx := testContext(t)
	_, err := c.js.CreateStream(ctx, jetstream.StreamConfig{Name: "RINGMASTER_WORK", Subjects: []string{"other.>"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.EnsureWorkStream(ctx); !errors.Is(err, ErrStreamConflict) {
		t.Errorf("error %v, want ErrStreamConflict", err)
	}
}

func TestWorkStreamConfiguration(t *testing.T) {
	cfg := embedded.DefaultConfig()
	cfg.MaxPayload = 4 * maxWorkBytes
	server, err := embedded.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	c := dial(t, fastConfig(server.URL()))
	ctx := testContext(t)
	for range 2 { // the second finds what the first made
		if err := c.EnsureWorkStream(ctx); err != nil {
			t.Fatal(err)
		}
	}
	stream, err := c.js.Stream(ctx, "RINGMASTER_WORK")
	if err != nil {
		t.Fatal(err)
	}
	got := stream.CachedInfo().Config
	if got.Retention != jetstream.WorkQueuePolicy || got.Storage != jetstream.FileStorage || got.Duplicates != dedupWindow ||
		got.MaxMsgSize != maxWorkBytes || got.Discard != jetstream.DiscardNew || !got.DenyDelete ||
		got.AllowDirect || got.AllowRollup || got.AllowMsgTTL || got.AllowAtomicPublish || got.AllowMsgCounter || got.AllowMsgSchedules {
		t.Errorf("stream %+v", got)
	}
	if _, err := c.js.Publish(ctx, "ringmaster.v1.work.gpu0.a", make([]byte, maxWorkBytes+1)); err == nil {
		t.Error("a message above the stream's bound was stored")
	}
}

func TestWorkStreamName(t *testing.T) {
	for prefix, want := range map[string]string{
		"ringmaster.v1": "RINGMASTER_WORK", "ringmaster.v2": "RINGMASTER_V2_WORK", "lab.ring": "LAB_RING_WORK",
	} {
		if got := workStreamName(prefix); got != want {
			t.Errorf("stream of %s is %s, want %s", prefix, got, want)
		}
	}
}
