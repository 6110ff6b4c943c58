package main

import (
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
)

const (
	// overloadRecords is what the overload benchmark sends for each queue.
	overloadRecords = 4096
	// overloadAhead bounds the records that were sent and have not arrived. It is
	// enough to keep the runtime busy; with more, the benchmark would measure how long
	// a record waits on the bus.
	overloadAhead = 1024
)

// overload measures how long a value waits under overload: from the time at which a
// record is sent to the arrival of a recommendation that answers it or a newer one.
// It takes the oldest record that each recommendation covers, so that folding hides
// nothing. The time on the bus, both ways, is included.
func (b *stream) overload() error {
	w := newAgeWatch()
	stop, err := b.recommendations(b.subjects.Recommend(benchWorker, "*"), func(h *telemetry.Header, r *telemetry.Recommendation) {
		w.answered(h.Queue, r, time.Now().UnixNano())
	})
	if err != nil {
		return err
	}
	defer stop()
	if err := b.overflow(w); err != nil {
		return err
	}
	ages := newHistogram() // µs
	for _, q := range w.queues {
		for _, age := range q.ages {
			_ = ages.RecordValue(age / 1000)
		}
	}
	b.row(row{Name: "overload/age_p99", Value: float64(ages.ValueAtQuantile(99)) / 1000, Unit: "ms", Yardstick: "bound of 100 ms", YardstickValue: 100})
	b.row(row{Name: "overload/age_max", Value: float64(ages.Max()) / 1000, Unit: "ms", Yardstick: "bound of 100 ms", YardstickValue: 100})
	return nil
}

// overflow sends records of all queues as fast as possible, stamped when they are
// sent, and returns when the last one of every queue is answered.
func (b *stream) overflow(w *ageWatch) error {
	taken := b.ingest.Stats().Records
	var buf []byte
	for n := range overloadRecords {
		if n%(overloadAhead/streamQueues/8) == 0 {
			sent := uint64(n * streamQueues)
			if err := waitUntil(b.ctx, func() bool { return sent < b.ingest.Stats().Records-taken+overloadAhead }); err != nil {
				return err
			}
		}
		for i, queue := range benchQueues {
			h := telemetry.Header{Incarnation: w.incarnation, Seq: uint64(n + 1), SentNs: time.Now().UnixNano()}
			w.sent(queue, n, h.SentNs)
			q := benchRecord(fullRecords, n*streamQueues+i)
			if n == 0 {
				takeOver(&q)
			}
			buf = telemetry.Append(buf[:0], telemetry.EncodingArray, h, &q)
			if err := b.sender.Publish(b.subjects.Telemetry(benchWorker, queue), buf); err != nil {
				return err
			}
		}
	}
	return waitUntil(b.ctx, w.done)
}

// recommendations hands every recommendation on a subject to a function until stop is called.
func (b *stream) recommendations(subject string, fn func(*telemetry.Header, *telemetry.Recommendation)) (stop func(), err error) {
	var decoder telemetry.Decoder
	var r telemetry.Record
	sub, err := b.receiver.Subscribe(subject, func(m *nats.Msg) {
		decoder.Reset(m.Data)
		if decoder.Next(&r) == nil && r.Header.Kind == telemetry.KindRecommendation && !r.Recommendation.Heartbeat {
			_, _, r.Header.Queue, _ = b.subjects.Parse(m.Subject)
			fn(&r.Header, &r.Recommendation)
		}
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = sub.Unsubscribe() }, b.receiver.Flush()
}

// ageWatch matches recommendations with the records they answer.
type ageWatch struct {
	incarnation uint64
	mu          sync.Mutex
	queues      map[string]*queueAges
}

type queueAges struct {
	sentNs   [overloadRecords]int64
	answered uint64 // the newest sequence number that is answered
	ages     []int64
}

func newAgeWatch() *ageWatch {
	w := &ageWatch{incarnation: telemetry.NewIncarnation(), queues: make(map[string]*queueAges)}
	for _, queue := range benchQueues {
		w.queues[queue] = new(queueAges)
	}
	return w
}

func (w *ageWatch) sent(queue string, index int, ns int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queues[queue].sentNs[index] = ns
}

func (w *ageWatch) answered(queue string, r *telemetry.Recommendation, now int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.queues[queue]
	if q == nil || r.AnsweredIncarnation != w.incarnation || r.AnsweredSeq <= q.answered || r.AnsweredSeq > overloadRecords {
		return
	}
	q.ages = append(q.ages, now-q.sentNs[q.answered]) // of the first record that was not answered before
	q.answered = r.AnsweredSeq
}

func (w *ageWatch) done() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.queues {
		if q.answered != overloadRecords {
			return false
		}
	}
	return true
}
