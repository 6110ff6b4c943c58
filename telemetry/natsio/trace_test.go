package natsio

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/trace"
)

// A batch that was submitted under a trace context is followed to its done record, wherever that is kept, and what
// came without one is not.
func TestADoneRecordContinuesTheTraceOfItsBatch(t *testing.T) {
	const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	parent, _ := trace.Parse(traceparent)
	for keep, what := range map[KeepDone]string{KeepNone: "sent", KeepIfPossible: "stored"} {
		t.Run(what, func(t *testing.T) {
			spans := make(chan trace.Span, 10)
			url := newServer(t).URL()
			cfg := fastConfig(url)
			cfg.Traces = trace.NewBook(func(s trace.Span) { spans <- s })
			s := &shop{conn: dial(t, cfg), client: dial(t, fastConfig(url)), batches: make(chan delivery, 10)}
			s.consume(t, DefaultWorkConfig())
			outlet := openOutlet(t, s.conn, OutletConfig{KeepDone: keep})
			done := make(chan *nats.Msg, 10)
			if _, err := s.client.nc.ChanSubscribe(s.client.cfg.Subjects.Done("gpu0", "a"), done); err != nil {
				t.Fatal(err)
			}
			s.client.settle()
			for id, header := range map[string]string{"traced": traceparent, "plain": ""} {
				m := nats.NewMsg(s.client.cfg.Subjects.Work("gpu0", "a"))
				m.Header.Set(jetstream.MsgIDHeader, "gpu0.a."+id)
				if header != "" {
					m.Header.Set(trace.Header, header)
				}
				m.Data = telemetry.Append(nil, telemetry.EncodingArray, telemetry.Header{Incarnation: 9, Seq: 1, SentNs: 1234}, batchOf(id, 1))
				if _, err := s.client.js.PublishMsg(testContext(t), m); err != nil {
					t.Fatal(err)
				}
				d := receive(t, s.batches)
				outlet.Done(d.worker, d.queue, &telemetry.Done{Batch: d.work.Batch, Executed: 1}, func(err error) { d.settled(telemetry.OutcomeDone, err) })
				got := traceparentOf(receive(t, done).Header)
				if header == "" {
					if got != "" {
						t.Errorf("the done record of a batch without a trace has %s", got)
					}
					continue
				}
				batch := receive(t, spans)
				if batch.Name != "batch" || batch.Trace != parent.Trace || batch.Parent != parent.Span || got != batch.Context.String() || batch.End.Before(batch.Start) {
					t.Errorf("%+v, and the done record says %s", batch, got)
				}
				for _, name := range []string{"wait", "execute"} {
					if part := receive(t, spans); part.Name != name || part.Parent != batch.Span {
						t.Errorf("%+v, want %s", part, name)
					}
				}
			}
			s.drained(t)
			select {
			case s := <-spans:
				t.Errorf("one more span: %+v", s)
			default:
			}
		})
	}
}
