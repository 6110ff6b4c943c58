package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// load is the workers of the fleet, simulated: each announces a device and reports one queue, and
// the recommendations are followed from another connection.
type load struct {
	send, hear *natsio.Conn
	queues     []*queue
	mu         sync.Mutex
	byName     map[string]*queue
	stop       chan struct{}
	wait       sync.WaitGroup
	unsent     atomic.Uint64
	published  atomic.Uint64 // records
}

// queue is one worker's queue.
type queue struct {
	worker      string
	incarnation uint64

	mu       sync.Mutex
	seq      uint64
	sent     []time.Time // of records without a decision, oldest first
	first    uint64      // sequence number of the oldest
	worst    time.Duration
	decision uint64 // newest
	answered uint64
	stale    int             // recommendations that are older than what was heard
	waits    []time.Duration // of the records since the last call of load.waits
}

const queueName = "q"

// startLoad begins to publish, each queue so many records a second, so many of them in a payload.
func startLoad(urls string, workers int, rate float64, batch int) (*load, error) {
	l := &load{stop: make(chan struct{}), byName: make(map[string]*queue)}
	for _, conn := range []**natsio.Conn{&l.send, &l.hear} {
		cfg := natsio.DefaultConfig()
		cfg.URL = urls
		c, err := natsio.Connect(cfg)
		if err != nil {
			return nil, err
		}
		*conn = c
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		err = c.WaitState(ctx, natsio.StateConnected)
		cancel()
		if err != nil {
			return nil, err
		}
	}
	for i := range workers {
		l.queues = append(l.queues, l.worker(fmt.Sprintf("gpu%04d", i)))
	}
	_, err := l.hear.SubscribeRecommendations("*", queueName, func(worker, _ string, _ *telemetry.Header, r *telemetry.Recommendation) {
		if q := l.named(worker); q != nil && !r.Heartbeat {
			q.hear(time.Now(), r)
		}
	})
	if err != nil {
		return nil, err
	}
	l.wait.Go(func() { l.publish(rate, batch) })
	return l, nil
}

// worker is a new worker, which reports only what it is told to.
func (l *load) worker(name string) *queue {
	q := &queue{worker: name, incarnation: telemetry.NewIncarnation(), first: 1}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byName[name] = q
	return q
}

func (l *load) named(worker string) *queue {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byName[worker]
}

// publish sends every queue's records, spread evenly over time, and announcements every five seconds.
func (l *load) publish(rate float64, batch int) {
	each := time.Duration(float64(batch) * float64(time.Second) / (rate * float64(len(l.queues))))
	announced := make([]time.Time, len(l.queues))
	next := time.Now()
	for i := 0; ; i = (i + 1) % len(l.queues) {
		select {
		case <-l.stop:
			return
		default:
		}
		if wait := time.Until(next); wait > time.Millisecond {
			time.Sleep(wait)
		}
		next = next.Add(each)
		q := l.queues[i]
		if time.Since(announced[i]) > 5*time.Second {
			announced[i] = time.Now()
			l.announce(q)
		}
		l.report(q, batch)
	}
}

func (l *load) announce(q *queue) {
	w := telemetry.Worker{
		Has:               telemetry.HasWorkerMaxWorkgroupSizeX | telemetry.HasWorkerMaxWorkgroupsPerDimension | telemetry.HasWorkerMaxInvocationsPerWorkgroup,
		MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65535, MaxInvocationsPerWorkgroup: 1024,
	}
	h := telemetry.Header{Incarnation: q.incarnation, Seq: uint64(time.Now().UnixNano())}
	l.publishTo(l.send.Subjects().Worker(q.worker), telemetry.Append(nil, telemetry.EncodingArray, h, &w))
}

// report sends so many records of a queue in one payload.
func (l *load) report(q *queue, records int) {
	var payload []byte
	q.mu.Lock()
	now := time.Now()
	for range records {
		q.seq++
		q.sent = append(q.sent, now)
		h := telemetry.Header{Incarnation: q.incarnation, Seq: q.seq, SentNs: now.UnixNano()}
		r := telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: uint32(1000 + h.Seq*37%5000)}
		payload = telemetry.Append(payload, telemetry.EncodingArray, h, &r)
	}
	q.mu.Unlock()
	l.published.Add(uint64(records))
	l.publishTo(l.send.Subjects().Telemetry(q.worker, queueName), payload)
}

func (l *load) publishTo(subject string, payload []byte) {
	if err := l.send.PublishRequest(subject, "", payload); err != nil {
		l.unsent.Add(1)
	}
}

// hear takes a decision: the records that it answers have waited until now.
func (q *queue) hear(now time.Time, r *telemetry.Recommendation) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r.AnsweredIncarnation != q.incarnation {
		return
	}
	if r.Decision <= q.decision || r.AnsweredSeq < q.answered {
		q.stale++
		return
	}
	q.decision, q.answered = r.Decision, r.AnsweredSeq
	for q.first <= r.AnsweredSeq && len(q.sent) > 0 {
		q.worst = max(q.worst, now.Sub(q.sent[0]))
		q.waits = append(q.waits, now.Sub(q.sent[0]))
		q.sent, q.first = q.sent[1:], q.first+1
	}
}

// worst is the longest that a record has waited for its decision since the last call, over all
// queues, those included that wait still.
func (l *load) worst() (worst time.Duration) {
	now := time.Now()
	for _, q := range l.queues {
		q.mu.Lock()
		worst = max(worst, q.worst)
		if len(q.sent) > 0 {
			worst = max(worst, now.Sub(q.sent[0]))
		}
		q.worst, q.waits = 0, q.waits[:0]
		q.mu.Unlock()
	}
	return worst
}

// waits is how long each record has waited that was decided on since the last call, over all queues.
func (l *load) waits() (all []time.Duration) {
	for _, q := range l.queues {
		q.mu.Lock()
		all = append(all, q.waits...)
		q.waits = q.waits[:0]
		q.mu.Unlock()
	}
	return all
}

// decided says how many queues have a decision.
func (l *load) decided() (n int) {
	for _, q := range l.queues {
		q.mu.Lock()
		if q.decision > 0 {
			n++
		}
		q.mu.Unlock()
	}
	return n
}

func (l *load) close() {
	close(l.stop)
	l.wait.Wait()
	l.send.Close()
	l.hear.Close()
}
