package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

// byHand is a client that speaks the NATS protocol itself, so that nothing
// keeps it from sending what a well-behaved client refuses to.
type byHand struct {
	t     *testing.T
	conn  net.Conn
	lines *bufio.Reader
}

func connectByHand(t *testing.T, url string) *byHand {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	h := &byHand{t: t, conn: conn, lines: bufio.NewReader(conn)}
	h.send(`CONNECT {"verbose":false,"pedantic":false}`)
	h.flush()
	return h
}

func (h *byHand) send(line string) {
	h.t.Helper()
	if _, err := fmt.Fprintf(h.conn, "%s\r\n", line); err != nil {
		h.t.Fatal(err)
	}
}

func (h *byHand) publish(subject, reply string, payload []byte) {
	h.t.Helper()
	h.send(fmt.Sprintf("PUB %s %s %d\r\n%s", subject, reply, len(payload), payload))
}

// flush returns when the server has handled what was sent, with the subjects
// of the messages that have come in.
func (h *byHand) flush() (received []string) {
	h.t.Helper()
	h.conn.SetReadDeadline(time.Now().Add(clientPatience))
	h.send("PING")
	for {
		line, err := h.lines.ReadString('\n')
		if err != nil {
			h.t.Fatal(err)
		}
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case fields[0] == "PONG":
			return received
		case fields[0] == "MSG":
			received = append(received, fields[1])
		case fields[0] == "-ERR":
			h.t.Fatalf("the server answers %s", line)
		}
	}
}

// edge is a runtime with a good publisher and a hostile one at its door.
type edge struct {
	t        *testing.T
	good     *natsio.Conn
	hostile  *byHand
	rejected chan telemetry.Rejected
	answers  chan telemetry.Recommendation
	seq      uint64
}

const goodIncarnation = 77

func openEdge(t *testing.T, args ...string) *edge {
	t.Helper()
	s := serve(t, append([]string{"--no-gpu"}, args...)...)
	cfg := natsio.DefaultConfig()
	cfg.URL = s.url
	good, err := natsio.Connect(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		good.Close()
		if code := s.stop(); code != 0 {
			t.Errorf("run ended with exit code %d", code)
		}
	})
	e := &edge{
		t: t, good: good, hostile: connectByHand(t, s.url),
		rejected: make(chan telemetry.Rejected, 1000), answers: make(chan telemetry.Recommendation, 1000),
	}
	e.listen()
	e.announce()
	return e
}

func (e *edge) listen() {
	e.t.Helper()
	_, queueErr := e.good.SubscribeRejected("*", "*", func(_, _ string, _ *telemetry.Header, r *telemetry.Rejected) { e.rejected <- *r })
	_, invalidErr := e.good.SubscribeRejectedInvalid(func(_ *telemetry.Header, r *telemetry.Rejected) { e.rejected <- *r })
	_, adviceErr := e.good.SubscribeRecommendations("w2", "good", func(_, _ string, _ *telemetry.Header, r *telemetry.Recommendation) {
		if !r.Heartbeat {
			copied := *r
			copied.Reasons = nil // reused by the subscription
			e.answers <- copied
		}
	})
	if queueErr != nil || invalidErr != nil || adviceErr != nil {
		e.t.Fatal(queueErr, invalidErr, adviceErr)
	}
	// What others publish from here on finds the subscriptions there.
	if err := e.good.Flush(e.context()); err != nil {
		e.t.Fatal(err)
	}
}

func (e *edge) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), clientPatience)
	e.t.Cleanup(cancel)
	return ctx
}

// announce makes worker w2 known, without which its queues have no plan, and waits until
// it is: announcements and telemetry come by two subscriptions, which do not wait for each other.
func (e *edge) announce() {
	e.t.Helper()
	known := e.status().Workers
	h := telemetry.Header{Incarnation: goodIncarnation, Seq: 1}
	e.hostile.publish("ringmaster.v1.worker.w2", "", telemetry.Append(nil, telemetry.EncodingArray, h, &telemetry.Worker{
		Has: telemetry.HasWorkerMaxWorkgroupSizeX | telemetry.HasWorkerMaxWorkgroupsPerDimension |
			telemetry.HasWorkerMaxInvocationsPerWorkgroup | telemetry.HasSubgroupSize,
		MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024, SubgroupSize: 32,
	}))
	e.hostile.flush()
	for deadline := e.context(); e.status().Workers == known; {
		if deadline.Err() != nil {
			e.t.Fatal("worker w2 is not known")
		}
	}
}

// edgeStatus is what the tests read of the runtime's status.
type edgeStatus struct {
	Workers  int               `json:"workers"`
	Refused  uint64            `json:"records_refused"`
	ByReason map[string]uint64 `json:"refused_by_reason"`
}

func (e *edge) status() (s edgeStatus) {
	e.t.Helper()
	answer, err := e.good.NATS().Request("ringmaster.v1.status", nil, clientPatience)
	if err == nil {
		err = json.Unmarshal(answer.Data, &s)
	}
	if err != nil {
		e.t.Fatal(err)
	}
	return s
}

// lengthRecord encodes the length of a queue.
func lengthRecord(incarnation, seq uint64, queue string, length uint32) []byte {
	h := telemetry.Header{Incarnation: incarnation, Seq: seq, Queue: queue}
	return telemetry.Append(nil, telemetry.EncodingMap, h, &telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: length})
}

// publish sends the next length of the good queue and waits for the decision
// that takes it into account.
func (e *edge) publish() telemetry.Recommendation {
	e.t.Helper()
	e.seq++
	if err := e.good.PublishRequest(e.good.Subjects().Telemetry("w2", "good"), "", lengthRecord(goodIncarnation, e.seq, "", uint32(100*e.seq))); err != nil {
		e.t.Fatal(err)
	}
	return e.answered(goodIncarnation, e.seq)
}

func (e *edge) answered(incarnation, seq uint64) telemetry.Recommendation {
	e.t.Helper()
	for {
		r := next(e.t, e.answers, "a recommendation")
		if r.AnsweredIncarnation == incarnation && r.AnsweredSeq == seq {
			return r
		}
	}
}

// refused waits for the refusal of what was published on a subject.
func (e *edge) refused(subject string) telemetry.Rejected {
	e.t.Helper()
	for {
		if r := next(e.t, e.rejected, "a refusal"); r.Subject == subject {
			return r
		}
	}
}

func next[T any](t *testing.T, from <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(clientPatience):
		t.Fatalf("%s did not come", what)
	}
	return v
}

func TestHostilePublisherIsRefusedWithReasonsAndTheGoodOneIsAnswered(t *testing.T) {
	e := openEdge(t)
	e.publish()
	h := telemetry.Header{Incarnation: 6, Seq: 1}
	good := lengthRecord(6, 1, "", 5)
	dense := telemetry.Append(nil, telemetry.EncodingMap, h, &telemetry.Graph{Has: telemetry.HasFrontierDensityBps, FrontierDensityBps: 10_001})
	advice := telemetry.Append(nil, telemetry.EncodingMap, h, &telemetry.Recommendation{Decision: 1})
	device := telemetry.Append(nil, telemetry.EncodingMap, h, &telemetry.Worker{})
	e.hostile.send("SUB victim.> 1")
	// Two workers, because one has 20 refusals reported at once.
	for _, c := range []struct {
		name, subject, reply, reason string
		payload                      []byte
	}{
		{"no msgpack", "telemetry.w2.bad", "", telemetry.ReasonMalformed, []byte("hello")},
		{"nothing", "telemetry.w2.bad", "", telemetry.ReasonMalformed, nil},
		{"cut short", "telemetry.w2.bad", "", telemetry.ReasonMalformed, good[:len(good)-1]},
		{"header bomb", "telemetry.w2.bad", "", telemetry.ReasonMalformed, []byte("\xdf\xff\xff\xff\xff")},
		{"nested deep", "telemetry.w2.bad", "", telemetry.ReasonOversized, append(bytes.Repeat([]byte{0x91}, 60_000), 1)},
		{"oversized", "telemetry.w2.bad", "", telemetry.ReasonOversized, make([]byte, 65_537)},
		{"extension", "telemetry.w2.bad", "", telemetry.ReasonExtension, []byte("\x91\xd4\x01\x00")},
		{"out of range", "telemetry.w2.bad", "", telemetry.ReasonOutOfRange, dense},
		{"not a number", "telemetry.w2.bad", "", telemetry.ReasonOutOfRange, []byte("\x97\x03\x00\x06\x01\xc0\xc0\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00")},
		{"unknown kind", "telemetry.w2.bad", "", telemetry.ReasonUnknownKind, []byte("\x94\x63\x00\x06\x01")},
		{"advice as telemetry", "telemetry.w2.bad", "", telemetry.ReasonWrongKind, advice},
		{"device as telemetry", "telemetry.w2.bad", "", telemetry.ReasonWrongKind, device},
		{"telemetry as device", "worker.w2", "", telemetry.ReasonWrongKind, good},
		{"other queue than its subject", "telemetry.w2.bad", "", telemetry.ReasonInconsistent, lengthRecord(6, 1, "good", 5)},
		{"no queue in a batch", "telemetry.w2._batch", "", telemetry.ReasonMissingField, good},
		{"reserved name", "telemetry.w2.bad", "", telemetry.ReasonBadToken, lengthRecord(6, 1, telemetry.BatchQueue, 5)},
		{"bad worker name", "telemetry.w$2.bad", "", telemetry.ReasonBadToken, good},
		{"worker name of 65 bytes", "telemetry." + strings.Repeat("w", 65) + ".bad", "", telemetry.ReasonBadToken, good},
		{"name that is not UTF-8", "telemetry.w2.b\xff\xfe", "", telemetry.ReasonBadToken, good},
		{"replay of the good queue", "telemetry.w2.good", "", telemetry.ReasonRefused, lengthRecord(goodIncarnation, 1, "", 5)},
		{"replay in a batch", "telemetry.w2._batch", "", telemetry.ReasonRefused, lengthRecord(goodIncarnation, 1, "good", 5)},
		{"reply is advice", "telemetry.w3.bad", "ringmaster.v1.recommend.w2.good", natsio.ReasonBadReply, lengthRecord(6, 1, "", 5)},
		{"reply is the JetStream API", "telemetry.w3.bad", "$JS.API.STREAM.LIST", natsio.ReasonBadReply, lengthRecord(6, 2, "", 5)},
		{"reply is any subject", "telemetry.w3.bad", "victim.a", natsio.ReasonBadReply, lengthRecord(6, 3, "", 5)},
		{"reply is a wildcard", "telemetry.w3.bad", "_INBOX.>", natsio.ReasonBadReply, lengthRecord(6, 4, "", 5)},
		{"reply is a prefix", "telemetry.w3.bad", "_INBOX.", natsio.ReasonBadReply, lengthRecord(6, 5, "", 5)},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := *e
			e.t, e.hostile.t = t, t
			subject := "ringmaster.v1." + c.subject
			e.hostile.publish(subject, c.reply, c.payload)
			if got := e.refused(strings.ToValidUTF8(subject, "")); got.Reason != c.reason || int(got.Bytes) != len(c.payload) {
				t.Errorf("refused with %+v, want %s", got, c.reason)
			}
		})
		if r := e.publish(); r.Error != "" || r.QueueLen != uint32(100*e.seq) {
			t.Fatalf("after %s the good publisher is answered with %+v", c.name, r)
		}
	}
	e.hostile.t = t
	if received := e.hostile.flush(); len(received) != 0 {
		t.Errorf("the runtime published on %q", received)
	}
}

func TestSubjectTooLongForARefusalIsReportedCut(t *testing.T) {
	e := openEdge(t)
	subject := "ringmaster.v1.telemetry.w2." + strings.Repeat("q", 3000)
	e.hostile.publish(subject, "", lengthRecord(6, 1, "", 5))
	if r := e.refused(subject[:telemetry.MaxText]); r.Reason != telemetry.ReasonBadToken {
		t.Errorf("refused with %+v", r)
	}
	e.publish()
}

func TestNobodyReplaysOrRewindsTheSequenceOfAnother(t *testing.T) {
	e := openEdge(t)
	var answer telemetry.Recommendation
	for range 3 {
		answer = e.publish()
	}
	attack := func(payload []byte, why string) {
		t.Helper()
		e.hostile.publish("ringmaster.v1.telemetry.w2.good", "", payload)
		if r := e.refused("ringmaster.v1.telemetry.w2.good"); r.Reason != telemetry.ReasonRefused || !strings.Contains(r.Detail, why) {
			t.Errorf("refused with %+v, want %q", r, why)
		}
	}
	latest := func(want uint32) {
		t.Helper()
		for { // the server tells of a decision when it has it, which may be before its runtime knows that
			_, r, err := client.Snapshot(e.context(), e.good, "w2", "good")
			if err == nil && r.Decision < answer.Decision {
				continue
			}
			if err != nil || r.QueueLen != want {
				t.Errorf("the queue is known with %d items, want %d (%v)", r.QueueLen, want, err)
			}
			return
		}
	}
	attack(lengthRecord(goodIncarnation, 2, "", 200), "stale") // overheard, sent again
	attack(lengthRecord(goodIncarnation, 3, "", 9), "stale")
	latest(300)

	// The publisher starts again and takes its queue over. While it reports, what its
	// last run sent is refused, and so is whatever claims to continue it.
	const second = goodIncarnation + 1
	counted := func(seq, requeues uint64) []byte {
		h := telemetry.Header{Incarnation: second, Seq: seq}
		return telemetry.Append(nil, telemetry.EncodingMap, h, &telemetry.Queue{
			Has: telemetry.HasQueueLen | telemetry.HasRequeueCount | telemetry.HasQueueTakeOver, QueueLen: 400, RequeueCount: requeues, TakeOver: true})
	}
	for seq := range uint64(2) {
		if err := e.good.PublishRequest(e.good.Subjects().Telemetry("w2", "good"), "", counted(seq+1, 50)); err != nil {
			t.Fatal(err)
		}
		answer = e.answered(second, seq+1)
	}
	// The records of a payload come at one time by the runtime's clock, so the second
	// run is live in the same payload, however slow this machine is.
	attack(append(counted(3, 50), lengthRecord(goodIncarnation, 3, "", 300)...), "another publisher")
	attack(append(counted(4, 50), lengthRecord(goodIncarnation, 1<<60, "", 9)...), "another publisher")
	attack(counted(5, 49), "backwards")
	latest(400)
	if err := e.good.PublishRequest(e.good.Subjects().Telemetry("w2", "good"), "", counted(5, 51)); err != nil {
		t.Fatal(err)
	}
	if r := e.answered(second, 5); r.QueueLen != 400 {
		t.Errorf("answered with %+v", r)
	}
}

func TestPublisherAboveTheRateOfTheCommandIsToldSo(t *testing.T) {
	e := openEdge(t, "--rate", "100")
	for i := range uint64(1000) { // 200 in the burst, few more while this lasts
		e.hostile.publish("ringmaster.v1.telemetry.w3.flood", "", lengthRecord(6, i+1, "", 5))
	}
	if r := e.refused("ringmaster.v1.telemetry.w3.flood"); r.Reason != natsio.ReasonRateLimited {
		t.Errorf("refused with %+v", r)
	}
	if r := e.publish(); r.Error != "" {
		t.Errorf("the publisher of another worker is answered with %+v", r)
	}
	e.hostile.publish("ringmaster.v1.telemetry.w2.good", "", []byte{0xc1}) // no msgpack
	e.refused("ringmaster.v1.telemetry.w2.good")
	status := e.status()
	if limited := status.ByReason[natsio.ReasonRateLimited]; limited < 700 || status.ByReason[telemetry.ReasonMalformed] != 1 || status.Refused != limited+1 {
		t.Errorf("status %+v, want what the edge refused", status)
	}
}
