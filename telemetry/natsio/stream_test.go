package natsio

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
)

func TestForeignStreamIsNotTouched(t *testing.T) {
	c := dial(t, fastConfig(newServer(t).URL()))
	ctx := testContext(t)
	_, err := c.js.CreateStream(ctx, jetstream.StreamConfig{Name: "RINGMASTER_WORK", Subjects: []string{"other.>"}})
	must(t, err)
	if err := c.EnsureWorkStream(ctx); !errors.Is(err, ErrStreamConflict) {
		t.Errorf("error %v, want ErrStreamConflict", err)
	}
}

func TestWorkStreamConfiguration(t *testing.T) {
	c := dial(t, fastConfig(newServer(t).URL()))
	ctx := testContext(t)
	for range 2 { // the second finds what the first made
		must(t, c.EnsureWorkStream(ctx))
	}
	stream, err := c.js.Stream(ctx, "RINGMASTER_WORK")
	must(t, err)
	got := stream.CachedInfo().Config
	if got.Retention != jetstream.WorkQueuePolicy || got.Storage != jetstream.FileStorage || got.Duplicates != dedupWindow ||
		got.MaxMsgSize != maxWorkBytes || got.MaxMsgsPerSubject != MaxQueueBatches || !got.DiscardNewPerSubject || got.MaxAge != maxWorkAge || got.Discard != jetstream.DiscardNew || !got.DenyDelete ||
		got.AllowDirect || got.AllowRollup || got.AllowMsgTTL || got.AllowAtomicPublish || got.AllowMsgCounter || got.AllowMsgSchedules {
		t.Errorf("stream %+v", got)
	}
}

// The bounds of a stream are its operator's, once it is there: who submits and who serves leave them.
func TestBoundsOfAStreamAreItsOperators(t *testing.T) {
	log, lines := newLog()
	cfg := fastConfig(newServer(t).URL())
	cfg.Logger = log
	c := dial(t, cfg)
	changed := make(chan *nats.Msg, 10)
	_, err := c.nc.ChanSubscribe("$JS.API.STREAM.UPDATE.>", changed)
	must(t, err)
	work, done := c.workStream(), c.doneStream()
	work.MaxMsgsPerSubject, work.MaxAge = 7, time.Hour
	done.MaxAge = time.Hour
	for _, stream := range []jetstream.StreamConfig{work, done} {
		_, err = c.js.CreateStream(testContext(t), stream)
		must(t, err)
	}
	must(t, c.EnsureWorkStream(testContext(t)))
	must(t, c.ensureWorkStream(testContext(t)))
	storedIn(t, openOutlet(t, c, OutletConfig{KeepDone: KeepAlways}), c, "a", 1, c.DoneStream())
	flush(t, c)
	for range len(lines.lines) {
		if line := <-lines.lines; strings.Contains(line, "a stream") {
			t.Error("said:", line)
		}
	}
	if len(changed) != 0 {
		t.Errorf("asked for: %s", (<-changed).Data)
	}
}

func TestWorkStreamName(t *testing.T) {
	for prefix, want := range map[string]string{
		"ringmaster.v1": "RINGMASTER_WORK", "ringmaster.v2": "RINGMASTER_V2_WORK", "lab.ring": "LAB_RING_WORK",
	} {
		if got := storeName(prefix, "WORK"); got != want {
			t.Errorf("stream of %s is %s, want %s", prefix, got, want)
		}
	}
}

// storeWork stores a batch as a client does: again until the server has it.
func storeWork(t *testing.T, c *Conn, queue string, w *telemetry.Work) (duplicate bool, err error) {
	return storeWorkFor(t, c, "gpu0", queue, w)
}

func storeWorkFor(t *testing.T, c *Conn, taker, queue string, w *telemetry.Work) (duplicate bool, err error) {
	ctx := testContext(t)
	m := nats.NewMsg(c.cfg.Subjects.Work(taker, queue))
	m.Header.Set(jetstream.MsgIDHeader, taker+"."+queue+"."+w.Batch)
	m.Data = telemetry.Append(nil, telemetry.EncodingArray, telemetry.Header{Incarnation: 9, Seq: 1, SentNs: 1234}, w)
	for attempt := 1; ; attempt++ {
		once, cancel := context.WithTimeout(ctx, apiTimeout)
		ack, err := c.js.PublishMsg(once, m, ownRetries)
		cancel()
		if err == nil {
			return ack.Duplicate, nil
		}
		if !c.Pause(ctx, attempt) {
			return false, err
		}
	}
}
