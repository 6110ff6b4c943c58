package client

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/micro"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// serveCancel serves worker gpu0 with a handler that knows batches by their first
// letter, and returns the batches that it was asked for.
func serveCancel(t *testing.T) (asked chan string, s *natsio.CancelService, client *natsio.Conn) {
	t.Helper()
	server := newServer(t)
	c := dial(t, server.URL())
	asked = make(chan string, 8000)
	s, err := c.ServeCancel("gpu0", func(worker, queue, batch string, answer func(telemetry.CancelFound, int, error)) {
		asked <- worker + "." + queue + "." + batch
		switch batch[0] {
		case 'w':
			go answer(telemetry.CancelWithdrawn, 4096, nil)
		case 'f':
			answer(telemetry.CancelFinished, 0, nil)
		case 'x':
			answer(telemetry.CancelUnseen, 0, errors.New("no room"))
		default:
			answer(telemetry.CancelUnseen, 0, nil)
		}
	})
	must(t, err)
	must(t, c.Flush(testContext(t)))
	return asked, s, dial(t, server.URL())
}

func TestCancelTellsWhatTheWorkerFound(t *testing.T) {
	asked, s, c := serveCancel(t)
	ctx := testContext(t)
	for batch, want := range map[string]struct {
		found telemetry.CancelFound
		slots int
	}{"w1": {telemetry.CancelWithdrawn, 4096}, "f1": {telemetry.CancelFinished, 0}, "u1": {telemetry.CancelUnseen, 0}} {
		found, slots, err := Cancel(ctx, c, "gpu0", "a", batch)
		if err != nil || found != want.found || slots != want.slots {
			t.Errorf("%s: %v, %d, %v", batch, found, slots, err)
		}
		if got := <-asked; got != "gpu0.a."+batch {
			t.Errorf("asked for %s", got)
		}
	}
	if _, _, err := Cancel(ctx, c, "gpu0", "a", "x1"); err == nil || !strings.Contains(err.Error(), "code 503: no room") {
		t.Errorf("got %v", err)
	}
	if _, _, err := Cancel(ctx, c, "gpu1", "a", "w1"); !errors.Is(err, natsio.ErrNoRuntime) {
		t.Errorf("no such worker: %v", err)
	}
	for _, bad := range [][3]string{{"gpu.0", "a", "b"}, {"gpu0", "*", "b"}, {"gpu0", "a", ""}, {"gpu0", "a", "b c"}} {
		if _, _, err := Cancel(ctx, c, bad[0], bad[1], bad[2]); !errors.Is(err, natsio.ErrBadName) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if stats := s.Stats(); stats.Served != 3 || stats.Refused != 1 {
		t.Errorf("stats %+v", stats)
	}
	must(t, s.Stop(ctx))
	if _, _, err := Cancel(ctx, c, "gpu0", "a", "w1"); !errors.Is(err, natsio.ErrNoRuntime) {
		t.Errorf("after the stop: %v", err)
	}
}

func TestHostileCancelRequestsAreAnsweredAndAskNobody(t *testing.T) {
	asked, _, c := serveCancel(t)
	h := telemetry.Header{Incarnation: 1, Seq: 1}
	good := telemetry.Append(nil, telemetry.EncodingArray, h, &telemetry.Cancel{Batch: "b"})
	for name, bad := range map[string]struct {
		subject string
		payload []byte
		code    string
	}{
		"nothing":        {"a", nil, "400"},
		"no msgpack":     {"a", []byte("hello"), "400"},
		"another kind":   {"a", telemetry.Append(nil, telemetry.EncodingMap, h, length(1)), "400"},
		"two records":    {"a", slices.Concat(good, good), "400"},
		"no batch":       {"a", good[:1], "400"},
		"a bad token":    {"a", telemetry.Append(nil, telemetry.EncodingArray, h, &telemetry.Cancel{Batch: "a.b"}), "400"},
		"too many slots": {"a", telemetry.Append(nil, telemetry.EncodingArray, h, &telemetry.Cancel{Batch: "b", Slots: telemetry.MaxBatchSlots + 1}), "400"},
		"too large":      {"a", make([]byte, natsio.CancelLimits.MaxBytes+1), "413"},
		"a bad queue":    {"a$b", good, "400"},
	} {
		answer, err := c.NATS().RequestWithContext(testContext(t), "ringmaster.v1.cancel.gpu0."+bad.subject, bad.payload)
		must(t, err)
		if code := answer.Header.Get(micro.ErrorCodeHeader); code != bad.code || answer.Header.Get(micro.ErrorHeader) == "" {
			t.Errorf("%s: code %q, %q, want %s", name, code, answer.Header.Get(micro.ErrorHeader), bad.code)
		}
	}
	must(t, c.NATS().PublishRequest("ringmaster.v1.cancel.gpu0.a", "ringmaster.v1.work.gpu0.a", good)) // no inbox
	if _, _, err := Cancel(testContext(t), c, "gpu0", "a", "last"); err != nil {
		t.Fatal(err)
	}
	if got := <-asked; got != "gpu0.a.last" || len(asked) != 0 {
		t.Errorf("asked for %s and %d more", got, len(asked))
	}
}
