package main

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// A publisher at its rate sends calmRate records a second; the flood is
// floodFactor times that, on another queue.
const (
	calmRate    = 1000
	floodFactor = 50
)

// flooded is a runtime, the publisher of a calm queue and that of a flood.
type flooded struct {
	b          *testing.B
	calm, loud *natsio.Conn
	bare       *nats.Conn
	answers    chan telemetry.Recommendation
	floods     uint64 // so far; each is an incarnation
}

func openFlood(b *testing.B) *flooded {
	log := slog.New(slog.DiscardHandler)
	b.Cleanup(ballast()) // as the command has
	server, err := startServer("127.0.0.1", -1, "", log)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(server.Shutdown)
	flags := natsFlags{URL: server.URL(), Prefix: telemetry.DefaultPrefix}
	n, err := startNode(b.Context(), nodeConfig{nats: flags.config("runtime", log), policy: policy.Standard(), worker: "w1", log: log})
	if err != nil {
		b.Fatal(err)
	}
	f := &flooded{b: b, answers: make(chan telemetry.Recommendation, 1000), floods: 100}
	for _, conn := range []**natsio.Conn{&f.calm, &f.loud} {
		if *conn, err = flags.dial(b.Context(), "publisher", log); err != nil {
			b.Fatal(err)
		}
		b.Cleanup((*conn).Close)
	}
	if f.bare, err = nats.Connect(server.URL()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(f.bare.Close)
	b.Cleanup(func() { n.close(b.Context()) })
	_, err = f.calm.SubscribeRecommendations("calm", "q", func(_, _ string, _ *telemetry.Header, r *telemetry.Recommendation) {
		if !r.Heartbeat {
			f.answers <- telemetry.Recommendation{AnsweredSeq: r.AnsweredSeq}
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	f.announce()
	return f
}

// announce makes both workers known, so that every decision has a plan.
func (f *flooded) announce() {
	outlet, err := f.calm.NewOutlet(natsio.DefaultOutletConfig())
	if err != nil {
		f.b.Fatal(err)
	}
	for _, worker := range []string{"calm", "loud"} {
		outlet.Announce(worker, &telemetry.Worker{
			Has: telemetry.HasWorkerMaxWorkgroupSizeX | telemetry.HasWorkerMaxWorkgroupsPerDimension |
				telemetry.HasWorkerMaxInvocationsPerWorkgroup | telemetry.HasSubgroupSize,
			MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024, SubgroupSize: 32,
		})
	}
	ctx, cancel := context.WithTimeout(f.b.Context(), dialPatience)
	defer cancel()
	if err := outlet.Close(ctx); err != nil {
		f.b.Fatal(err)
	}
}

// flood sends perSecond records a second to a subject until the returned
// function is called.
func (f *flooded) flood(send func(payload []byte) error, perSecond int) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	f.floods++
	incarnation := f.floods
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		q := telemetry.Queue{Has: telemetry.HasQueueLen}
		var payload []byte // used again: the flood's garbage is not the runtime's
		for seq := uint64(1); ; {
			select {
			case <-quit:
				return
			case <-tick.C:
			}
			for range perSecond / 1000 {
				h := telemetry.Header{Incarnation: incarnation, Seq: seq}
				q.QueueLen = uint32(seq % 5000)
				payload = telemetry.AppendQueue(payload[:0], telemetry.FormMap, &h, &q)
				if send(payload) != nil {
					return // the server is gone
				}
				seq++
			}
		}
	}()
	return func() { close(quit); <-done }
}

// floodWindow is how many samples are taken with the flood, and then without,
// in turn: whatever else the machine does meets both.
const floodWindow = 1000

// BenchmarkFloodOtherQueue is the time from a publish on a calm queue to its
// recommendation, with and without a flood of another queue. The flood of a
// subject that nobody listens to shows what the bus and the processors give.
func BenchmarkFloodOtherQueue(b *testing.B) {
	to := func(worker string) func(f *flooded) func([]byte) error {
		return func(f *flooded) func([]byte) error {
			return func(payload []byte) error { return f.loud.PublishTelemetry(worker, "flood", payload) }
		}
	}
	nowhere := func(f *flooded) func([]byte) error {
		return func(payload []byte) error { return f.bare.Publish("nowhere", payload) }
	}
	for _, c := range []struct {
		name   string
		send   func(*flooded) func([]byte) error
		factor int
	}{
		{"50x/bus-alone", nowhere, floodFactor},
		{"50x/other-worker", to("loud"), floodFactor},
		{"50x/same-worker", to("calm"), floodFactor},
		{"500x/bus-alone", nowhere, 10 * floodFactor},
		{"500x/other-worker", to("loud"), 10 * floodFactor},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := openFlood(b)
			var quiet, loud latencies
			tick := time.NewTicker(time.Second / calmRate)
			defer tick.Stop()
			stop := func() {}
			for seq := uint64(1); b.Loop(); seq++ {
				turn := (seq - 1) / floodWindow % 2
				if seq%floodWindow == 1 {
					stop()
					if stop = func() {}; turn == 1 {
						stop = f.flood(c.send(f), c.factor*calmRate)
					}
				}
				<-tick.C
				f.sample([]*latencies{&quiet, &loud}[turn], seq)
			}
			stop()
			b.ReportMetric(quiet.at(99), "quiet-p99-µs")
			b.ReportMetric(loud.at(99), "loud-p99-µs")
			b.ReportMetric(quiet.at(50), "quiet-p50-µs")
			b.ReportMetric(loud.at(50), "loud-p50-µs")
			b.ReportMetric(float64(loud.missed)/float64(b.N), "unanswered/op")
			b.ReportMetric(0, "ns/op") // the pace of the samples
		})
	}
}

// latencies are the samples of one half of a benchmark.
type latencies struct {
	us     []float64
	missed int
}

func (l *latencies) at(percent int) float64 {
	if len(l.us) == 0 {
		return 0
	}
	slices.Sort(l.us)
	return l.us[(len(l.us)-1)*percent/100]
}

// sample publishes a record of the calm queue and times its answer.
func (f *flooded) sample(into *latencies, seq uint64) {
	start := time.Now()
	if err := f.calm.PublishTelemetry("calm", "q", lengthRecord(7, seq, "", uint32(seq%5000))); err != nil {
		f.b.Fatal(err)
	}
	if f.answered(seq) {
		into.us = append(into.us, float64(time.Since(start).Nanoseconds())/1000)
	} else {
		into.missed++
	}
}

// answered waits for the answer to a record, or long enough to know that
// there will be none.
func (f *flooded) answered(seq uint64) bool {
	patience := time.After(time.Second)
	for {
		select {
		case r := <-f.answers:
			if r.AnsweredSeq >= seq {
				return true
			}
		case <-patience:
			return false
		}
	}
}
