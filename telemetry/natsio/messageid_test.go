package natsio

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
)

// Whoever claims the ids of another queue's batches beforehand keeps none of them out: 0 of 1,000,
// which were all of them when an id was the batch's name alone.
func TestClaimedIDsKeepNothingOut(t *testing.T) {
	const batches = 1000
	url := newServer(t).URL()
	c := dial(t, fastConfig(url))
	must(t, c.ensureWorkStream(testContext(t)))
	publish := func(queue, id string) (duplicate bool) {
		m := nats.NewMsg(c.cfg.Subjects.Work("gpu0", queue))
		m.Header.Set(jetstream.MsgIDHeader, id)
		m.Data = []byte("x")
		ack, err := c.js.PublishMsg(testContext(t), m)
		must(t, err)
		return ack.Duplicate
	}
	suppressed := 0
	for i := range batches {
		batch := fmt.Sprint("b", i)
		for q, id := range []string{batch, "gpu0." + batch, "gpu0.victim." + batch} { // all that can be foreseen
			publish(fmt.Sprint("attacker", (3*i+q)%16), id)
		}
		if publish(fmt.Sprint("victim", i%4), fmt.Sprintf("gpu0.victim.%s.%x", batch, 0xabcdef)) { // as clients do, with their incarnation
			suppressed++
		}
	}
	if suppressed != 0 {
		t.Errorf("%d of %d were kept out", suppressed, batches)
	}
}

func TestAMessageIDThatDoesNotNameItsQueueIsRefused(t *testing.T) {
	s := openShop(t, newServer(t).URL(), nil)
	send := func(queue, batch, id string) {
		t.Helper()
		m := nats.NewMsg(s.client.Subjects().Work("gpu0", queue))
		if id != "" {
			m.Header.Set(jetstream.MsgIDHeader, id)
		}
		m.Data = telemetry.Append(nil, telemetry.EncodingArray, telemetry.Header{Incarnation: 7, Seq: 1}, batchOf(batch, 1))
		if _, err := s.client.JetStream().PublishMsg(testContext(t), m); err != nil {
			t.Fatal(err)
		}
	}
	send("a", "bare", "bare")
	send("a", "of-another", "gpu0.b.of-another")
	send("a", "of-a-longer-name", "gpu0.ab.b1")
	send("a", "fine", "gpu0.a.fine.77")
	send("a", "none", "")
	for _, want := range []string{"fine", "none"} {
		d := receive(t, s.batches)
		if d.work.Batch != want {
			t.Fatalf("batch %s, want %s", d.work.Batch, want)
		}
		d.settled(telemetry.OutcomeDone, nil)
	}
	s.wantStored(t, 0)
	if got := s.consumer.Stats(); got.Refused != 3 || got.Done != 2 {
		t.Errorf("stats %+v", got)
	}
	if n := s.conn.Refusals().ByReason[telemetry.ReasonInconsistent]; n != 3 {
		t.Errorf("%d refusals", n)
	}
}
