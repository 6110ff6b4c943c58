package main

import (
	"context"
	"errors"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"ringmaster/telemetry"
)

// latency compares the time from a publish to the recommendation that answers it
// with the time of a bare request and its reply. Both go over the same kind of
// connection and at the same pace, about half of what is possible with one at a
// time. A recommendation has arrived when the subscriber's function has it, a reply
// when the request returns. The latter includes waking one more goroutine, which is
// in our favour.
func (b *streamBench) latency(ctx context.Context, report *benchReport) error {
	answered := hdrhistogram.New(1, int64(10*time.Second), 3)
	arrived := make(chan int64, 1024)
	sub, err := b.receiver.SubscribeRecommendations(benchWorker, "latency", func(_, _ string, _ *telemetry.Header, r *telemetry.Recommendation) {
		if !r.Heartbeat {
			arrived <- time.Now().UnixNano() - r.AnsweredSentNs
		}
	})
	if err != nil {
		return err
	}
	defer sub.Stop(ctx)
	stop, err := b.receiver.EchoBare("bare.echo")
	if err != nil {
		return err
	}
	defer stop()
	if err := flush(ctx, b.receiver); err != nil {
		return err
	}
	bare := hdrhistogram.New(1, int64(10*time.Second), 3)
	ask := asker{bench: b, incarnation: telemetry.NewIncarnation(), arrived: arrived, into: answered}
	for i := range latencySamples {
		if err := ask.once(ctx, uint64(i+1)); err != nil {
			return err
		}
		pause(latencyPace) // so that both sides begin equally cold
		start := time.Now()
		if _, err := b.sender.RequestBare("bare.echo", ask.buf, time.Second); err != nil {
			return err
		}
		bare.RecordValue(time.Since(start).Nanoseconds())
		pause(latencyPace)
	}
	for _, q := range []struct {
		name string
		at   float64
	}{{"latency/p50", 50}, {"latency/p99", 99}} {
		report.row(benchRow{
			Name: q.name, Value: float64(answered.ValueAtQuantile(q.at)) / 1000, Unit: "µs",
			Yardstick: "bare request and reply", YardstickValue: float64(bare.ValueAtQuantile(q.at)) / 1000,
		})
	}
	return nil
}

// asker publishes one record at a time and waits for its recommendation.
type asker struct {
	bench       *streamBench
	incarnation uint64
	buf         []byte
	arrived     <-chan int64
	into        *hdrhistogram.Histogram
}

func (a *asker) once(ctx context.Context, seq uint64) error {
	h := telemetry.Header{Incarnation: a.incarnation, Seq: seq, SentNs: time.Now().UnixNano()}
	q := telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: uint32(1000 + seq%5000)}
	a.buf = telemetry.AppendQueue(a.buf[:0], telemetry.FormArray, &h, &q)
	if err := a.bench.sender.PublishTelemetry(benchWorker, "latency", a.buf); err != nil {
		return err
	}
	select {
	case ns := <-a.arrived:
		a.into.RecordValue(ns)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Second):
		return errors.New("bench: a record was not answered within a second")
	}
}

// pause waits for less than a scheduler's tick, and keeps the thread: a sleep of
// 200 µs takes a millisecond on some hosts.
func pause(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}
