package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// settling is a worker that ends each batch at once: it refuses those called "bad".
func settling(t *testing.T, conn *natsio.Conn) {
	t.Helper()
	o := openOutlet(t, conn)
	consumer, err := conn.ConsumeWork(t.Context(), "gpu0", natsio.DefaultWorkConfig(),
		func(worker, queue string, w *telemetry.Work, _ int64, settled func(telemetry.Outcome, error)) {
			if strings.HasPrefix(w.Batch, "bad") {
				settled(telemetry.OutcomeRefused, &telemetry.RecordError{Kind: telemetry.KindWork, Reason: telemetry.ReasonInconsistent,
					Err: errors.New(`batch "` + w.Batch + `" has no sense`)})
				return
			}
			done := telemetry.Done{Batch: w.Batch, Executed: uint32(len(w.Slots)), Results: []uint32{uint32(len(w.Batch))}}
			for range 2 { // a record may come twice
				o.Done(worker, queue, &done, func(error) {})
			}
			settled(telemetry.OutcomeDone, nil)
		})
	must(t, err)
	t.Cleanup(func() { must(t, consumer.Drain(testContext(t))) })
}

func TestOutcomes(t *testing.T) {
	url := newServer(t).URL()
	settling(t, dial(t, url))
	conn := dial(t, url)
	must(t, conn.EnsureWorkStream(testContext(t)))
	o, err := FollowOutcomes(testContext(t), conn, "gpu0", "a", func(batch string) bool { return batch != "foreign" })
	must(t, err)
	defer o.Close()
	submit := func(batches ...string) {
		t.Helper()
		for _, batch := range batches {
			_, err := PublishWork(testContext(t), conn, "gpu0", "a", telemetry.Header{Incarnation: 9, Seq: 1}, batchOf(batch, 3))
			must(t, err)
		}
	}
	var ended, others []string
	done := func(d *telemetry.Done) error {
		if ended = append(ended, d.Batch); d.Executed != 3 || !slices.Equal(d.Results, []uint32{uint32(len(d.Batch))}) {
			t.Errorf("done record %+v", d)
		}
		return nil
	}
	other := func(r *telemetry.Rejected) { others = append(others, r.Detail) }

	submit("foreign", "one", "second")
	must(t, o.Wait(testContext(t), []string{"second", "one"}, done, other))
	if slices.Sort(ended); !slices.Equal(ended, []string{"one", "second"}) {
		t.Errorf("done is told of %q", ended)
	}
	submit("bad-other", "bad-own")
	err = o.Wait(testContext(t), []string{"bad-own"}, done, other)
	if !errors.Is(err, natsio.ErrRefused) || !strings.Contains(err.Error(), "bad-own was refused (inconsistent)") {
		t.Errorf("a refused batch: %v", err)
	}
	if len(others) != 1 || !strings.Contains(others[0], "bad-other") {
		t.Errorf("told of the refusals %q, want that of bad-other", others)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.Wait(ctx, []string{"foreign"}, done, other); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "foreign") {
		t.Errorf("a batch that is not followed: %v", err)
	}
	if _, err := FollowOutcomes(ctx, conn, "gpu0", "*", nil); !errors.Is(err, natsio.ErrBadName) {
		t.Errorf("all queues: %v", err)
	}
}
