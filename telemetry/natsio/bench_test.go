package natsio

import (
	"bytes"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/embedded"
)

// The methods that package actors asks of an outlet.
var _ interface {
	Recommend(worker, queue string, r *telemetry.Recommendation, replies []string)
	Report(worker, queue string, l *telemetry.Launch)
	Done(worker, queue string, d *telemetry.Done, sent func(error))
} = (*Outlet)(nil)

// unlimited is above what any test sends.
var unlimited = RateLimit{PerSecond: 1e12, Burst: 1 << 40}

func benchServer(b *testing.B) *embedded.Server {
	s, err := embedded.Start(embedded.DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Shutdown)
	return s
}

func benchConn(b *testing.B, url string) *Conn {
	c, err := Connect(fastConfig(url))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close(); <-c.Closed() })
	return c
}

// BenchmarkIntake is the way from a payload of 32 records to the sink.
func BenchmarkIntake(b *testing.B) {
	c := benchConn(b, benchServer(b).URL())
	k := newIntake(&Ingest{conn: c, sink: nullSink{}, cfg: DefaultIngestConfig()}, unlimited)
	m := &nats.Msg{Subject: "ringmaster.v1.telemetry.gpu0.a", Data: bytes.Repeat(queueRecord(1, ""), 32)}
	b.ReportAllocs()
	for b.Loop() {
		k.take(m)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/32, "ns/record")
}

// BenchmarkIntakeAboveTheRate is what a payload costs that is not taken.
func BenchmarkIntakeAboveTheRate(b *testing.B) {
	c := benchConn(b, benchServer(b).URL())
	k := newIntake(&Ingest{conn: c, sink: nullSink{}, cfg: DefaultIngestConfig()}, RateLimit{PerSecond: 1, Burst: 1})
	m := &nats.Msg{Subject: "ringmaster.v1.telemetry.gpu0.a", Data: queueRecord(1, "")}
	b.ReportAllocs()
	for b.Loop() {
		k.take(m)
	}
}

// answeringSink publishes a recommendation for every record at once.
type answeringSink struct {
	nullSink
	p *Outlet
	r telemetry.Recommendation
}

func (s *answeringSink) Ingest(worker, queue string, _ *telemetry.Record, _ time.Time, _ string) error {
	s.p.Recommend(worker, queue, &s.r, nil)
	return nil
}

// BenchmarkRoundTrip is telemetry in, recommendation out, without a decision
// in between, over two connections.
func BenchmarkRoundTrip(b *testing.B) {
	url := benchServer(b).URL()
	runtime, client := benchConn(b, url), benchConn(b, url)
	p := runtime.NewOutlet(OutletConfig{})
	b.Cleanup(func() { p.Close(b.Context()) })
	cfg := DefaultIngestConfig()
	cfg.Telemetry = unlimited
	if _, err := runtime.Serve(&answeringSink{p: p}, cfg); err != nil {
		b.Fatal(err)
	}
	answers := make(chan bool, 1)
	_, err := client.SubscribeRecommendations("*", "*", func(string, string, *telemetry.Header, *telemetry.Recommendation) { answers <- true })
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []*Conn{runtime, client} {
		if err := c.nc.FlushTimeout(time.Second); err != nil {
			b.Fatal(err)
		}
	}
	payload := queueRecord(1, "")
	for b.Loop() {
		if err := publishTelemetry(client, "gpu0", "a", payload); err != nil {
			b.Fatal(err)
		}
		<-answers
	}
}

// BenchmarkDone is the rate of confirmed done records.
func BenchmarkDone(b *testing.B) {
	p := benchConn(b, benchServer(b).URL()).NewOutlet(OutletConfig{})
	b.Cleanup(func() { p.Close(b.Context()) })
	credit := make(chan bool, 256)
	d := telemetry.Done{Batch: "b", Executed: 64}
	for b.Loop() {
		credit <- true
		p.Done("gpu0", "a", &d, func(err error) {
			if err != nil {
				b.Error(err)
			}
			<-credit
		})
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "done/s")
}
