package natsio

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
)

// taken is one call of the sink.
type taken struct {
	worker, queue string
	kind          telemetry.Kind
	length        uint32
	reply         string
}

type testSink struct {
	calls  chan taken
	latest map[string]telemetry.Recommendation // by queue
	refuse func(queue string) error
}

func newSink() *testSink { return &testSink{calls: make(chan taken, 4096)} }

func (s *testSink) Ingest(worker, queue string, r *telemetry.Record, _ time.Time, reply string) error {
	if s.refuse != nil {
		if err := s.refuse(queue); err != nil {
			return err
		}
	}
	s.calls <- taken{worker, queue, r.Kind, r.Queue.QueueLen, reply}
	return nil
}

func (s *testSink) Announce(worker string, r *telemetry.Record) error {
	s.calls <- taken{worker: worker, kind: r.Kind}
	return nil
}

func (s *testSink) Latest(worker, queue string) (telemetry.Recommendation, bool) {
	r, ok := s.latest[queue]
	return r, ok
}

// door is a served sink, a client of it, and what was refused.
type door struct {
	sink     *testSink
	ingest   *Ingest
	runtime  *Conn
	client   *Conn
	rejected chan telemetry.Rejected
	invalid  chan telemetry.Rejected
}

func openDoor(t *testing.T) *door {
	t.Helper()
	return openDoorWith(t, DefaultIngestConfig())
}

func openDoorWith(t *testing.T, limits IngestConfig) *door {
	t.Helper()
	url := newServer(t).URL()
	d := &door{
		sink: newSink(), runtime: dial(t, fastConfig(url)), client: dial(t, fastConfig(url)),
		rejected: make(chan telemetry.Rejected, 4096), invalid: make(chan telemetry.Rejected, 4096),
	}
	var err error
	if d.ingest, err = d.runtime.Serve(d.sink, limits); err != nil {
		t.Fatal(err)
	}
	_, err = d.client.SubscribeRejected("*", "*", func(_, _ string, _ *telemetry.Header, r *telemetry.Rejected) { d.rejected <- *r })
	must(t, err)
	_, err = d.client.SubscribeRejectedInvalid(func(_ *telemetry.Header, r *telemetry.Rejected) { d.invalid <- *r })
	must(t, err)
	flush(t, d.runtime)
	flush(t, d.client)
	return d
}

func (d *door) publish(t *testing.T, queue string, payload []byte) {
	t.Helper()
	must(t, publishTelemetry(d.client, "gpu0", queue, payload))
}

func TestBadRecordIsRefusedAndItsNeighboursAreTaken(t *testing.T) {
	d := openDoor(t)
	d.publish(t, "a", slices.Concat(queueRecord(1, ""), badRecord(), queueRecord(2, "")))
	for _, want := range []uint32{1, 2} {
		if got := receive(t, d.sink.calls); got.length != want || got.worker != "gpu0" || got.queue != "a" {
			t.Errorf("sink got %+v, want length %d of gpu0.a", got, want)
		}
	}
	r := receive(t, d.rejected)
	if r.Reason != telemetry.ReasonOutOfRange || r.Subject != "ringmaster.v1.telemetry.gpu0.a" ||
		!strings.Contains(r.Detail, "record 1") || r.Bytes == 0 {
		t.Errorf("rejected %+v, want out_of_range of record 1 on the subject", r)
	}
	if s := d.ingest.Stats(); s.Messages != 1 || s.Records != 2 || s.Refused != 1 {
		t.Errorf("stats %+v, want 1 message, 2 records, 1 refused", s)
	}
	if n := d.runtime.Refusals().ByReason[telemetry.ReasonOutOfRange]; n != 1 {
		t.Errorf("%d counted as out of range, want 1", n)
	}
}

func TestBatchSubjectTakesTheQueueFromEachRecord(t *testing.T) {
	d := openDoor(t)
	d.publish(t, telemetry.BatchQueue, slices.Concat(queueRecord(1, "a"), queueRecord(2, ""), queueRecord(3, "b")))
	if got := receive(t, d.sink.calls); got.queue != "a" || got.length != 1 {
		t.Errorf("first record went to %+v, want queue a", got)
	}
	if got := receive(t, d.sink.calls); got.queue != "b" || got.length != 3 {
		t.Errorf("third record went to %+v, want queue b", got)
	}
	if r := receive(t, d.invalid); r.Reason != telemetry.ReasonMissingField {
		t.Errorf("record without a queue: %+v, want missing_field", r)
	}
}

func TestRefusals(t *testing.T) {
	d := openDoor(t)
	d.sink.refuse = func(queue string) error {
		if queue == "full" {
			return errors.New("too many queues")
		}
		return nil
	}
	recommendation := telemetry.Append(nil, telemetry.EncodingMap, telemetry.Header{Incarnation: 1, Seq: 1}, &telemetry.Recommendation{Decision: 1})
	for _, c := range []struct {
		name, subject, reason string
		payload               []byte
		invalid               bool // reported on rejected.invalid
	}{
		{"kind that the subject does not carry", "telemetry.gpu0.a", telemetry.ReasonWrongKind, recommendation, false},
		{"announcement as telemetry", "telemetry.gpu0.a", telemetry.ReasonWrongKind, workerRecord(), false},
		{"telemetry as announcement", "worker.gpu0", telemetry.ReasonWrongKind, queueRecord(1, ""), true},
		{"another queue than the subject", "telemetry.gpu0.a", telemetry.ReasonInconsistent, queueRecord(1, "b"), false},
		{"reserved queue name", "telemetry.gpu0.a", telemetry.ReasonBadToken, queueRecord(1, telemetry.BatchQueue), false},
		{"oversized", "telemetry.gpu0.a", telemetry.ReasonOversized, bytes.Repeat(queueRecord(1, ""), 2000), false},
		{"not msgpack", "telemetry.gpu0.a", telemetry.ReasonMalformed, []byte("hello"), false},
		{"cut short", "telemetry.gpu0.a", telemetry.ReasonMalformed, queueRecord(1, "")[:10], false},
		{"empty", "telemetry.gpu0.a", telemetry.ReasonMalformed, nil, false},
		{"bad worker name", "telemetry.gpu$.a", telemetry.ReasonBadToken, queueRecord(1, ""), true},
		{"worker name that is not UTF-8", "telemetry.gpu\xff.a", telemetry.ReasonBadToken, queueRecord(1, ""), true},
		{"queue name that is not UTF-8", "telemetry.gpu0.\xff", telemetry.ReasonBadToken, queueRecord(1, ""), true},
		{"announcement of a worker that is not UTF-8", "worker.\xff", telemetry.ReasonBadToken, workerRecord(), true},
		{"declined by the sink", "telemetry.gpu0.full", telemetry.ReasonRefused, queueRecord(1, ""), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			must(t, d.client.nc.Publish("ringmaster.v1."+c.subject, c.payload))
			from := d.rejected
			if c.invalid {
				from = d.invalid
			}
			r := receive(t, from)
			if r.Reason != c.reason || int(r.Bytes) != len(c.payload) {
				t.Errorf("rejected %+v, want reason %s and %d bytes", r, c.reason, len(c.payload))
			}
		})
	}
	d.publish(t, "a", queueRecord(9, ""))
	if got := receive(t, d.sink.calls); got.length != 9 {
		t.Errorf("sink got %+v after the refusals, want only the good record", got)
	}
}

func TestAnnouncementReachesTheSink(t *testing.T) {
	d := openDoor(t)
	must(t, d.client.publish(d.client.Subjects().Worker("gpu7"), workerRecord()))
	if got := receive(t, d.sink.calls); got.worker != "gpu7" || got.kind != telemetry.KindWorker {
		t.Errorf("sink got %+v, want the announcement of gpu7", got)
	}
}

func TestOrderOfASubjectIsKept(t *testing.T) {
	d := openDoor(t)
	for i := range uint32(2000) {
		d.publish(t, "a", queueRecord(i, ""))
	}
	for i := range uint32(2000) {
		if got := receive(t, d.sink.calls); got.length != i {
			t.Fatalf("record %d arrived in place %d", got.length, i)
		}
	}
}

func TestReplyGoesWithTheLastRecordThatDecides(t *testing.T) {
	d := openDoor(t)
	publisher := d.runtime.NewOutlet(OutletConfig{})
	defer publisher.Close(testContext(t))
	type answer struct {
		r   telemetry.Recommendation
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		_, r, err := askFor(testContext(t), d.client, "gpu0", "a",
			slices.Concat(queueRecord(1, ""), queueRecord(2, ""), priorityRecord()))
		answers <- answer{r, err}
	}()
	first, second, third := receive(t, d.sink.calls), receive(t, d.sink.calls), receive(t, d.sink.calls)
	if first.reply != "" || second.reply == "" || third.reply != "" {
		t.Fatalf("replies %q, %q, %q, want only the second", first.reply, second.reply, third.reply)
	}
	publisher.Recommend("gpu0", "a", &telemetry.Recommendation{Decision: 5}, []string{second.reply})
	if a := receive(t, answers); a.err != nil || a.r.Decision != 5 {
		t.Errorf("answer %+v, want decision 5", a)
	}
}

func TestReplySubjectThatIsNoInboxIsNotUsed(t *testing.T) {
	d := openDoor(t)
	err := d.client.nc.PublishRequest("ringmaster.v1.telemetry.gpu0.a", "ringmaster.v1.work.gpu1.b", queueRecord(1, ""))
	must(t, err)
	if got := receive(t, d.sink.calls); got.reply != "" {
		t.Errorf("sink was told to answer on %q", got.reply)
	}
	if r := receive(t, d.rejected); r.Reason != ReasonBadReply {
		t.Errorf("reason %q, want bad_reply", r.Reason)
	}
}

func TestSnapshot(t *testing.T) {
	d := openDoor(t)
	d.sink.latest = map[string]telemetry.Recommendation{"a": {Decision: 42, Topology: "dense", LaunchMode: "wave"}}
	ctx := testContext(t)
	h, r, err := snapshotOf(ctx, d.client, "gpu0", "a")
	if err != nil || r.Decision != 42 || r.Topology != "dense" || h.Incarnation != d.runtime.Incarnation() {
		t.Errorf("snapshot %+v %+v, %v, want decision 42", h, r, err)
	}
	if _, _, err := snapshotOf(ctx, d.client, "gpu0", "b"); !errors.Is(err, ErrNoRecommendation) {
		t.Errorf("snapshot of an unknown queue: %v, want ErrNoRecommendation", err)
	}
	must(t, d.ingest.Stop(ctx))
	flush(t, d.runtime)
	if _, _, err := snapshotOf(ctx, d.client, "gpu0", "a"); !errors.Is(err, ErrNoRuntime) {
		t.Errorf("snapshot without a runtime: %v, want ErrNoRuntime", err)
	}
}

type nullSink struct{}

func (nullSink) Ingest(string, string, *telemetry.Record, time.Time, string) error { return nil }
func (nullSink) Announce(string, *telemetry.Record) error                          { return nil }
func (nullSink) Latest(string, string) (telemetry.Recommendation, bool) {
	return telemetry.Recommendation{}, false
}

func TestIntakeDoesNotAllocate(t *testing.T) {
	c := dial(t, fastConfig(newServer(t).URL()))
	k := newIntake(&Ingest{conn: c, sink: nullSink{}, cfg: DefaultIngestConfig()}, DefaultIngestConfig().Telemetry)
	m := &nats.Msg{Subject: "ringmaster.v1.telemetry.gpu0._batch", Data: slices.Concat(queueRecord(1, "a"), queueRecord(2, "b"))}
	k.take(m)
	if n := testing.AllocsPerRun(100, func() { k.take(m) }); n != 0 {
		t.Errorf("%v allocations a message, want none", n)
	}
	if k.in.refused.Load() != 0 {
		t.Error("the message was refused")
	}
}
