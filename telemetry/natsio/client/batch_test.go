package client

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
)

// The past of a queue is whole from the streams' making on, until something is removed from them.
func TestHowFarBackTheStreamsTell(t *testing.T) {
	c, ctx := dial(t, newServer(t).URL()), testContext(t)
	look := func() Past {
		t.Helper()
		p, err := LookBack(ctx, c, "gpu0", "q")
		must(t, err)
		return p
	}
	if p := look(); p != (Past{}) {
		t.Errorf("without streams: %+v", p)
	}
	must(t, c.EnsureWorkStream(ctx))
	if p := look(); p != (Past{}) {
		t.Errorf("before a batch: %+v", p)
	}
	_, err := PublishWork(ctx, c, "gpu0", "q", telemetry.Header{Incarnation: 1, Seq: 1, SentNs: 1}, oneSlot("b"))
	must(t, err)
	if p := look(); p.Submitted != 1 || p.Kept {
		t.Errorf("without done records: %+v", p)
	}
	stream, err := c.JetStream().CreateStream(ctx, jetstream.StreamConfig{
		Name: c.DoneStream(), Subjects: []string{"ringmaster.v1.done.>"}, Storage: jetstream.MemoryStorage, MaxAge: time.Hour, MaxMsgsPerSubject: 2,
	})
	must(t, err)
	ended := func(queue string) time.Time {
		t.Helper()
		payload := telemetry.Append(nil, telemetry.EncodingMap, telemetry.Header{Incarnation: 1, Seq: 1, SentNs: 1}, &telemetry.Done{Batch: "other"})
		ack, err := c.JetStream().Publish(ctx, "ringmaster.v1.done.gpu0."+queue, payload)
		must(t, err)
		m, err := stream.GetMsg(ctx, ack.Sequence)
		must(t, err)
		return m.Time
	}
	expect := func(what string, since time.Time, made bool) {
		t.Helper()
		p := look()
		if !p.Since.Equal(since) || p.Made != made || !p.Kept || p.MaxAge != time.Hour || p.PerQueue != 2 {
			t.Errorf("%s: %+v, want it since %v", what, p, since)
		}
	}
	made := stream.CachedInfo().Created
	expect("without a record", made, true)
	ended("other")
	ended("q")
	expect("with one of two that are kept of a queue", made, true)
	second := ended("q")
	last := ended("q")
	expect("with one removed of the queue", second, false)
	must(t, stream.Purge(ctx))
	expect("with all removed", last, false)
	expect("with a newer one of another queue", ended("other"), false)
}

// A batch that nobody took for as long as the stream keeps it is removed without a done record.
func TestThePastIsNoLongerThanBatchesWait(t *testing.T) {
	made := time.Unix(1000, 0)
	stream := func(age time.Duration) *jetstream.StreamInfo {
		return &jetstream.StreamInfo{Created: made, Config: jetstream.StreamConfig{MaxAge: age}}
	}
	for after, want := range map[time.Duration]Past{
		time.Minute:   {Kept: true, Since: made, Made: true},
		2 * time.Hour: {Kept: true, Since: made.Add(time.Hour)},
	} {
		var p Past
		if p.reach(made.Add(after), stream(time.Hour), stream(0), 0, time.Time{}); p != want {
			t.Errorf("after %v: %+v", after, p)
		}
	}
}
