package main

import (
	"errors"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
)

const (
	latencySamples = 4000
	latencyPace    = 200 * time.Microsecond
)

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(10*time.Second), 3) }

// latency compares the time from a publish to the recommendation that answers it
// with the time of a bare request and its reply. Both go over the same kind of
// connection and at the same pace, about half of what is possible with one at a
// time. A recommendation has arrived when the subscriber's function has it, a reply
// when the request returns. The bare request includes waking one more goroutine, which is
// in our favour.
func (b *stream) latency() error {
	arrived := make(chan int64, 1024)
	stop, err := b.recommendations(b.subjects.Recommend(benchWorker, "latency"), func(_ *telemetry.Header, r *telemetry.Recommendation) {
		arrived <- time.Now().UnixNano() - r.AnsweredSentNs
	})
	if err != nil {
		return err
	}
	defer stop()
	echo, err := b.receiver.Subscribe("bare.echo", func(m *nats.Msg) { _ = m.Respond(m.Data) })
	if err != nil {
		return err
	}
	defer func() { _ = echo.Unsubscribe() }()
	if err := b.receiver.Flush(); err != nil {
		return err
	}
	bare, answered := newHistogram(), newHistogram()
	ask := asker{stream: b, incarnation: telemetry.NewIncarnation(), arrived: arrived, into: answered}
	for i := range latencySamples {
		if err := ask.once(uint64(i + 1)); err != nil {
			return err
		}
		pause(latencyPace) // so that both sides begin equally cold
		start := time.Now()
		if _, err := b.sender.Request("bare.echo", ask.buf, time.Second); err != nil {
			return err
		}
		_ = bare.RecordValue(time.Since(start).Nanoseconds())
		pause(latencyPace)
	}
	for _, q := range []struct {
		name string
		at   float64
	}{{"latency/p50", 50}, {"latency/p99", 99}} {
		b.row(row{
			Name: q.name, Value: float64(answered.ValueAtQuantile(q.at)) / 1000, Unit: "µs",
			Yardstick: "bare request and reply", YardstickValue: float64(bare.ValueAtQuantile(q.at)) / 1000,
		})
	}
	return nil
}

// asker publishes one record at a time and waits for its recommendation.
type asker struct {
	*stream
	incarnation uint64
	buf         []byte
	arrived     <-chan int64
	into        *hdrhistogram.Histogram
}

func (a *asker) once(seq uint64) error {
	h := telemetry.Header{Incarnation: a.incarnation, Seq: seq, SentNs: time.Now().UnixNano()}
	q := telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: uint32(1000 + seq%5000)}
	a.buf = telemetry.Append(a.buf[:0], telemetry.EncodingArray, h, &q)
	if err := a.sender.Publish(a.subjects.Telemetry(benchWorker, "latency"), a.buf); err != nil {
		return err
	}
	select {
	case ns := <-a.arrived:
		_ = a.into.RecordValue(ns)
		return nil
	case <-a.ctx.Done():
		return a.ctx.Err()
	case <-time.After(time.Second):
		return errors.New("a record was not answered within a second")
	}
}

// pause waits for less than a scheduler's tick, and keeps the thread: a sleep of
// 200 µs takes a millisecond on some hosts.
func pause(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}
