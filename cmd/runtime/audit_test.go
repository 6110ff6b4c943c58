package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/cmd/runtime/audit"
	"ringmaster/telemetry"
	"ringmaster/telemetry/decisionlog"
	"ringmaster/telemetry/natsio/decided"
)

// The stream that a process leaves is whole; what somebody stores past the comparison is named.
func TestAuditProvesTheStreamOrNamesTheHole(t *testing.T) {
	s := serve(t, "--decide-only")
	command := func(args ...string) outcome {
		t.Helper()
		return ringmaster(t, t.Context(), "", append([]string{"audit", "--nats", s.url}, args...)...)
	}
	if got := command(); got.code != 1 {
		t.Errorf("an empty stream: %+v", got)
	}
	p := publisherOn(t, s.url)
	p.announce()
	for i := range uint16(20) {
		p.answered("q", p.report("q", i*100))
	}
	if got := command(); got.code != 0 || !strings.Contains(got.stdout, "none was made twice, none is missing") {
		t.Errorf("a whole stream: %+v", got)
	}
	stream, err := p.JetStream().Stream(t.Context(), "RINGMASTER_DECIDED")
	if err != nil {
		t.Fatal(err)
	}
	last, err := stream.GetLastMsgForSubject(t.Context(), p.Subjects().Decided("w9", "q"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.JetStream().Publish(t.Context(), p.Subjects().Decided("w9", "q"), last.Data); err != nil {
		t.Fatal(err)
	}
	got := command("--json")
	var r audit.Report
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil || got.code != 1 || r.HoleCount != 2 || !strings.Contains(r.Holes[1].What, "it was made twice") {
		t.Errorf("one that is there twice: %+v, %v", got, err)
	}
	s.stop()
}

// The bounds of a stream remove decisions while it is read: those are no holes, and a hole in front of them is one.
func TestAuditKnowsWhatTheBoundsRemovedMeanwhile(t *testing.T) {
	const half = 900 // a client asks the server for 500 messages at a time
	for name, bounds := range map[string]jetstream.StreamConfig{
		"of a queue":    {MaxMsgsPerSubject: 1000},
		"of the stream": {MaxBytes: 1200 << 10}, // less than 1,200 messages: each has 1 KiB of memory
	} {
		t.Run(name, func(t *testing.T) {
			p := publisherOn(t, serverOf(t))
			bounds.Name = decided.StreamName(p.Subjects())
			bounds.Subjects = []string{p.Subjects().Root() + ".decided.>"}
			if _, err := p.JetStream().CreateStream(t.Context(), bounds); err != nil {
				t.Fatal(err)
			}
			p.decide("holed", 1, 0)
			last := p.decide("q", 1, 0)
			p.decide("holed", 3, last) // as if decision 2 had stood where another queue's is
			number := uint64(1)
			more := func() {
				for range half {
					number++
					last = p.decide("q", number, last)
				}
			}
			more()
			checker := newChecker(t.Context(), p.Conn)
			err := decided.Read(t.Context(), p.Conn, func(m decided.Message) error {
				if m.Sequence == 4 {
					more()
				}
				return check(checker, &m)
			})
			r := checker.Report()
			if err != nil || r.Removed == 0 || r.Decisions < half || r.HoleCount != 2 || r.Holes[0].Queue != "holed" || r.Holes[1].Queue != "holed" {
				r.Holes = r.Holes[:min(len(r.Holes), 5)]
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// decide stores a decision of a queue as the successor of a message, and returns its sequence.
func (p *publisher) decide(queue string, number, previous uint64) uint64 {
	p.t.Helper()
	memory, err := json.Marshal(strings.Repeat("m", 1<<10))
	if err != nil {
		p.t.Fatal(err)
	}
	d := decisionlog.Decided{Node: 1, Write: decisionlog.ID(p.next("")), Previous: previous, Memory: memory, Entry: decisionlog.Entry{Worker: "w9", Queue: queue, Decision: number}}
	text, err := decisionlog.EncodeDecided(&d)
	if err != nil {
		p.t.Fatal(err)
	}
	h := telemetry.Header{Incarnation: 7, Seq: p.next(queue)}
	r := telemetry.Recommendation{Decision: number, Fenced: true, Decided: text}
	ack, err := p.JetStream().Publish(p.t.Context(), p.Subjects().Decided("w9", queue), telemetry.Append(nil, telemetry.EncodingArray, h, &r))
	if err != nil {
		p.t.Fatal(err)
	}
	return ack.Sequence
}
