package natsio

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
)

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
