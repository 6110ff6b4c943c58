package natsio

import (
	"fmt"
	"testing"

	"ringmaster/telemetry"
)

// BenchmarkPublisherReport is the caller's side of a report, with the writer at
// work beside it: 64 queues, each report a new length.
func BenchmarkPublisherReport(b *testing.B) {
	cfg := DefaultPublisherConfig()
	p, err := benchConn(b, benchServer(b).URL()).NewPublisher(cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { p.Close(b.Context()) })
	var queues [64]string
	for i := range queues {
		queues[i] = fmt.Sprint("q", i)
	}
	q := telemetry.Queue{Has: telemetry.HasQueueLen}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		q.QueueLen = uint32(i)
		if err := p.ReportQueue("gpu0", queues[i%len(queues)], &q); err != nil {
			b.Fatal(err)
		}
		i++
	}
	s := p.Stats()
	b.ReportMetric(float64(s.Coalesced)/float64(b.N), "coalesced/op")
}

// BenchmarkPublisherRoundTrip is a report with no linger, decided in place, and
// the update of a subscriber. BenchmarkRoundTrip is the same without clients.
func BenchmarkPublisherRoundTrip(b *testing.B) {
	url := benchServer(b).URL()
	runtime, client := benchConn(b, url), benchConn(b, url)
	o, err := runtime.NewOutlet(DefaultOutletConfig())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { o.Close(b.Context()) })
	ingest := DefaultIngestConfig()
	ingest.Telemetry = unlimited
	sink := &decidingSink{p: o}
	sink.r.ValidForMs = 3000
	if _, err := runtime.Serve(sink, ingest); err != nil {
		b.Fatal(err)
	}
	if err := runtime.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	cfg := DefaultPublisherConfig()
	cfg.Linger = 0
	p, err := client.NewPublisher(cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { p.Close(b.Context()) })
	s, err := client.NewSubscriber("gpu0", "a", DefaultSubscriberConfig())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	b.ReportAllocs()
	q := telemetry.Queue{Has: telemetry.HasQueueLen}
	for b.Loop() {
		q.QueueLen++
		if err := p.ReportQueue("gpu0", "a", &q); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// decidingSink publishes a new decision for every record.
type decidingSink struct {
	nullSink
	p *Outlet
	r telemetry.Recommendation
}

func (s *decidingSink) Ingest(worker, queue string, _ *telemetry.Record, _ string) error {
	s.r.Decision++
	s.p.Recommend(worker, queue, &s.r, nil)
	return nil
}
