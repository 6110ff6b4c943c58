package main

import (
	"testing"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/bustest"
)

// Two runtimes that decide for all workers share a bus: every record is answered once,
// and the second takes over when the first has ended.
func TestTwoRuntimesAnswerEachRecordOnce(t *testing.T) {
	first := serve(t, "--decide-only")
	second := serveOn(t, first.url, "--decide-only")
	conn := bustest.Dial(t, first.url)
	type answer struct {
		from, seq uint64
	}
	answers := make(chan answer, 1000)
	_, err := conn.SubscribeRecommendations("w9", "q", func(_, _ string, h *telemetry.Header, r *telemetry.Recommendation) {
		if !r.Heartbeat {
			answers <- answer{h.Incarnation, r.AnsweredSeq}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	const records = 100
	seen := map[answer]int{}
	for seq := uint64(1); seq <= records; seq++ {
		if err := conn.PublishRequest(conn.Subjects().Telemetry("w9", "q"), "", lengthRecord(7, seq, "", uint32(seq))); err != nil {
			t.Fatal(err)
		}
		a := <-answers
		for ; a.seq != seq; a = <-answers {
			seen[a]++
		}
		seen[a]++
	}
	if code := second.stop(); code != 0 { // drains: what it had to say is out
		t.Errorf("the second ended with exit code %d", code)
	}
	if err := conn.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for len(answers) > 0 {
		seen[<-answers]++
	}
	bySeq := map[uint64]int{}
	for a, n := range seen {
		bySeq[a.seq] += n
	}
	for seq := uint64(1); seq <= records; seq++ {
		if bySeq[seq] != 1 {
			t.Errorf("record %d has %d answers", seq, bySeq[seq])
		}
	}
	if code := first.stop(); code != 0 {
		t.Errorf("the first ended with exit code %d", code)
	}
}
