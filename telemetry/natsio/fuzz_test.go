package natsio

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
)

// unconnected is a connection that never finds its server: what it would
// publish is dropped, and counted.
func unconnected(t testing.TB) *Conn {
	t.Helper()
	cfg := fastConfig("nats://127.0.0.1:1")
	cfg.ReconnectMin, cfg.ReconnectMax = time.Hour, time.Hour
	c, err := Connect(cfg)
	must(t, err)
	t.Cleanup(func() { c.Close(); <-c.Closed() })
	return c
}

// wireCorpus is the committed corpus of package telemetry, and payloads that
// are too long for a file.
func wireCorpus(t testing.TB) [][]byte {
	files, err := filepath.Glob(filepath.Join("..", "testdata", "fuzz", "Fuzz*", "*"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files of corpus, %v", len(files), err)
	}
	corpus := [][]byte{
		slices.Repeat([]byte{0x91}, 1<<20), // nested a million deep
		slices.Repeat([]byte{0x81}, 1<<20),
		slices.Repeat([]byte{0x90}, 1<<10),           // as many refusals as a payload can have
		slices.Repeat(badRecord(), 200),              // with long texts
		slices.Repeat(queueRecord(1, ""), 400),       // good ones
		slices.Repeat(queueRecord(1, "b"), 400),      // of another queue
		slices.Repeat(priorityRecord(), 1<<16),       // above every bound
		slices.Repeat([]byte{0x96, 1, 0, 1, 1}, 500), // each swallows the next
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		must(t, err)
		for line := range strings.Lines(string(content)) {
			value, bytes := strings.CutPrefix(strings.TrimSpace(line), "[]byte(")
			if !bytes {
				continue
			}
			payload, err := strconv.Unquote(strings.TrimSuffix(value, ")"))
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			corpus = append(corpus, []byte(payload))
		}
	}
	return corpus
}

// shortOnes leaves out what would slow the fuzzer down.
func shortOnes(corpus [][]byte) [][]byte {
	return slices.DeleteFunc(corpus, func(payload []byte) bool { return len(payload) > 4<<10 })
}

func TestIntakesAllocateAtMostFourTimesTheirPayload(t *testing.T) {
	conn := unconnected(t)
	for _, payload := range wireCorpus(t) {
		intake := newIntake(&Ingest{conn: conn, sink: nullSink{}, cfg: DefaultIngestConfig()}, unlimited)
		work := &WorkConsumer{conn: conn, cfg: DefaultWorkConfig(), pending: make(map[uint64]*batch), room: newRoom(DefaultWorkConfig().MaxBytes),
			handler: func(string, string, *telemetry.Work, int64, func(telemetry.Outcome, error)) {}}
		for name, take := range map[string]func(){
			"telemetry": func() { intake.take(&nats.Msg{Subject: "ringmaster.v1.telemetry.gpu0.a", Data: payload}) },
			"work": func() {
				work.deliver(newReading(1), &heldMessage{subject: "ringmaster.v1.work.gpu0.a", payload: payload, metadata: deliveredAs(1, 1)})
			},
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			take()
			runtime.ReadMemStats(&after)
			if n, most := after.TotalAlloc-before.TotalAlloc, 4*uint64(len(payload))+1<<20; n > most {
				t.Errorf("%s of %d bytes, %x..: %d bytes allocated, at most %d", name, len(payload), payload[:min(16, len(payload))], n, most)
			}
		}
	}
}

// strictSink fails the test if it is given what a sink must never see.
type strictSink struct {
	t       testing.TB
	conn    *Conn
	records int
	seen    []string // what was taken, in order
}

func (s *strictSink) Ingest(worker, queue string, r *telemetry.Record, _ time.Time, reply string) error {
	if !telemetry.ValidToken(queue) || queue == telemetry.BatchQueue {
		s.t.Fatalf("queue %q", queue)
	}
	if !telemetry.SubjectTelemetry.Carries(r.Kind) {
		s.t.Fatalf("kind %v as telemetry", r.Kind)
	}
	if reply != "" && !s.conn.answerable(reply) {
		s.t.Fatalf("reply %q", reply)
	}
	s.seen = append(s.seen, fmt.Sprint(worker, queue, r.Kind, r.Incarnation, r.Seq, r.SentNs, r.Queue, r.Graph.Has, reply))
	return s.take(worker, r)
}

func (s *strictSink) Announce(worker string, r *telemetry.Record) error {
	if r.Kind != telemetry.KindWorker {
		s.t.Fatalf("kind %v as an announcement", r.Kind)
	}
	return s.take(worker, r)
}

func (s *strictSink) take(worker string, r *telemetry.Record) error {
	s.records++
	if !telemetry.ValidToken(worker) {
		s.t.Fatalf("worker %q", worker)
	}
	wantSame(s.t, r)
	return nil
}

func (s *strictSink) Latest(string, string) (telemetry.Recommendation, bool) {
	return telemetry.Recommendation{}, false
}

// wantSame encodes a record again in both encodings and wants the same back.
func wantSame(t testing.TB, r *telemetry.Record) {
	for _, encoding := range []telemetry.Encoding{telemetry.EncodingMap, telemetry.EncodingArray} {
		payload := telemetry.Append(nil, encoding, r.Header, r.Body())
		var d telemetry.Decoder
		var again telemetry.Record
		d.Reset(payload)
		if err := d.Next(&again); err != nil {
			t.Fatalf("%v does not survive encoding %d: %v", r.Kind, encoding, err)
		}
		if twice := telemetry.Append(nil, encoding, again.Header, again.Body()); again.Header != r.Header || string(twice) != string(payload) {
			t.Fatalf("encoding %d of %+v is another record:\n%x\n%x", encoding, r, payload, twice)
		}
	}
}

// FuzzIntake gives a message to the intake as its subscription would. Whatever
// it holds, the sink sees only what a sink may see, and everything else is
// counted as refused.
func FuzzIntake(f *testing.F) {
	for _, payload := range shortOnes(wireCorpus(f)) {
		f.Add("ringmaster.v1.telemetry.gpu0.a", "", payload)
		f.Add("ringmaster.v1.telemetry.gpu0._batch", "_INBOX.a.b", payload)
		f.Add("ringmaster.v1.worker.gpu0", "$JS.API.STREAM.DELETE.x", payload)
	}
	for _, subject := range []string{"", ".", "ringmaster.v1", "ringmaster.v1.telemetry", "ringmaster.v1.telemetry..", "ringmaster.v1.telemetry.a.b.c",
		"ringmaster.v1.telemetry.*.>", "ringmaster.v1.telemetry.a\xff.b", "ringmaster.v1.rejected.invalid", "ringmaster.v1.worker._batch"} {
		f.Add(subject, "_INBOX.>", queueRecord(1, "a"))
	}
	conn := unconnected(f)
	f.Fuzz(func(t *testing.T, subject, reply string, payload []byte) {
		sink := &strictSink{t: t, conn: conn}
		k := newIntake(&Ingest{conn: conn, sink: sink, cfg: DefaultIngestConfig()}, unlimited)
		k.take(&nats.Msg{Subject: subject, Reply: reply, Data: payload})
		refused := int(k.in.refused.Load())
		if int(k.in.records.Load()) != sink.records || sink.records+refused == 0 {
			t.Fatalf("%d records taken, %d seen by the sink, %d refused", k.in.records.Load(), sink.records, refused)
		}
	})
}

// heldMessage is a message of the stream of batches without a server behind
// it. It keeps what it was answered with.
type heldMessage struct {
	jetstream.Msg // nil: what the intake has no business calling panics
	subject       string
	payload       []byte
	header        nats.Header
	metadata      *jetstream.MsgMetadata
	answers       []string
}

func (m *heldMessage) Subject() string                           { return m.subject }
func (m *heldMessage) Data() []byte                              { return m.payload }
func (m *heldMessage) Headers() nats.Header                      { return m.header }
func (m *heldMessage) Metadata() (*jetstream.MsgMetadata, error) { return m.metadata, nil }
func (m *heldMessage) Ack() error                                { return m.answer("ack") }
func (m *heldMessage) Nak() error                                { return m.answer("nak") }
func (m *heldMessage) NakWithDelay(time.Duration) error          { return m.answer("nak") }
func (m *heldMessage) TermWithReason(reason string) error        { return m.answer("term " + reason) }

func (m *heldMessage) answer(with string) error {
	m.answers = append(m.answers, with)
	return nil
}

func deliveredAs(sequence, delivered uint64) *jetstream.MsgMetadata {
	return &jetstream.MsgMetadata{Sequence: jetstream.SequencePair{Stream: sequence}, NumDelivered: delivered}
}

// FuzzWorkIntake gives a message of the stream to the consumer of batches.
// Either the handler gets a valid batch, or the message is terminated with a
// reason, and it is answered exactly once. Headers change nothing.
func FuzzWorkIntake(f *testing.F) {
	work := batchOf("b1", 3)
	for _, encoding := range []telemetry.Encoding{telemetry.EncodingMap, telemetry.EncodingArray} {
		h := telemetry.Header{Incarnation: 1, Seq: 1, SentNs: 1}
		payload := telemetry.Append(nil, encoding, h, work)
		f.Add("ringmaster.v1.work.gpu0.a", "Nats-Msg-Id", "b1", payload)
		f.Add("ringmaster.v1.work.gpu0.a", "Nats-Rollup", "all", append(payload, payload...))
		f.Add("ringmaster.v1.work.gpu0._batch", "Nats-TTL", "1ns", payload)
		f.Add("ringmaster.v1.work.gpu0", "Nats-Expected-Last-Sequence", "0", payload)
		h.Queue = "b"
		f.Add("ringmaster.v1.work.gpu0.a", "", "", telemetry.Append(nil, encoding, h, work))
	}
	for _, payload := range shortOnes(wireCorpus(f)) {
		f.Add("ringmaster.v1.work.gpu0.a", "traceparent", "00-\x00", payload)
	}
	conn := unconnected(f)
	f.Fuzz(func(t *testing.T, subject, key, value string, payload []byte) {
		var got *telemetry.Work
		var settled func(telemetry.Outcome, error)
		cfg := DefaultWorkConfig()
		w := &WorkConsumer{conn: conn, worker: "gpu0", cfg: cfg, pending: make(map[uint64]*batch), room: newRoom(cfg.MaxBytes)}
		w.handler = func(worker, queue string, work *telemetry.Work, _ int64, done func(telemetry.Outcome, error)) {
			if !telemetry.ValidToken(worker) || !telemetry.ValidToken(queue) || queue == telemetry.BatchQueue {
				t.Fatalf("worker %q, queue %q", worker, queue)
			}
			got, settled = work, done
		}
		m := &heldMessage{subject: subject, payload: payload, header: nats.Header{key: {value}}, metadata: deliveredAs(1, 1)}
		r := newReading(readProcessors)
		w.deliver(r, m)
		<-r.turn
		if got == nil {
			if len(m.answers) != 1 || !strings.HasPrefix(m.answers[0], "term ") || len(m.answers[0]) < 6 || len(w.pending) != 0 {
				t.Fatalf("answered %q, %d pending, without the handler", m.answers, len(w.pending))
			}
			return
		}
		if n := got.Count(); n < 1 || n > telemetry.MaxBatchSlots || !telemetry.ValidToken(got.Batch) {
			t.Fatalf("batch %q of %d slots", got.Batch, n)
		}
		wantSame(t, &telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindWork, Incarnation: 1, Seq: 1}, Work: *got})
		settled(telemetry.OutcomeDone, nil)
		settled(telemetry.OutcomeRetry, nil)
		if !reflect.DeepEqual(m.answers, []string{"ack"}) || len(w.pending) != 0 {
			t.Fatalf("answered %q, %d pending", m.answers, len(w.pending))
		}
	})
}
