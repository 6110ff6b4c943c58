package client

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// Any stands for every worker, or every queue, of a Subscriber.
const Any = "*"

const (
	// maxUpdates bounds the updates that wait for Next. Beyond it the oldest go.
	maxUpdates = 1024
	// maxFollowed bounds the queues that are followed where Any is subscribed. When it is
	// reached, queues whose advice has expired make room; until some have, new ones are ignored.
	maxFollowed = 4096
	// snapshotPatience bounds the wait for the answer to a snapshot request.
	snapshotPatience = 2 * time.Second
)

// SubscriberConfig says what a Subscriber tells. The zero value suits most programs.
type SubscriberConfig struct {
	// Heartbeats makes an update, EventRenewed, of every repetition of a decision.
	Heartbeats bool
}

// Advice is a recommendation and how long it holds.
type Advice struct {
	Worker, Queue  string
	Header         telemetry.Header // of the runtime
	Recommendation telemetry.Recommendation
	At             time.Time // when it, or its last repetition, arrived
	Until          time.Time // ValidForMs after that
	Valid          bool      // false once Until has passed: nobody decides any more, go back to a default
}

// Usable reports whether there is a plan to launch by: the advice is valid and
// the runtime was able to decide.
func (a *Advice) Usable() bool { return a.Valid && a.Recommendation.Error == "" }

// Event is why an Update was made.
type Event uint8

// Events of a subscriber.
const (
	EventDecision Event = iota // a decision that was not there before
	EventExpired               // the advice is no longer valid
	EventRenewed               // advice that had expired was repeated
)

// String returns the event in one word.
func (e Event) String() string {
	return [...]string{"decision", "expired", "renewed"}[min(e, EventRenewed)]
}

// Update is one change of what is known of a queue, as it was then: ask Latest whether
// the advice still holds. Its Reasons are shared and must not be changed. Decisions are
// numbered: a gap is what was lost with a connection, or given up because it was not fetched.
type Update struct {
	Event Event
	Advice
}

// Subscriber follows the recommendations for one queue, or for all: first the last one,
// from a snapshot where a queue is named, and then every change, in order. Nothing
// older than what was reported is ever reported. After every reconnect it asks
// for a snapshot again.
//
// Latest is for a program that wants to know the plan before a launch, Next for one that
// acts on changes. Advice expires by the time of this process.
type Subscriber struct {
	cfg     SubscriberConfig
	conn    *natsio.Conn
	sub     *natsio.Subscription
	updates chan Update
	quit    chan struct{}
	ended   chan struct{}
	detach  func() // from the connection
	once    sync.Once

	mu     sync.Mutex
	queues map[queueName]*followed
	err    error
	errIn  uint64 // the session of err
	closed bool
}

type queueName struct{ worker, queue string }

// followed is what is known of one queue.
type followed struct {
	latest   Advice
	expiry   *time.Timer
	replaced uint64 // incarnation before the one of latest
}

// NewSubscriber follows a queue; worker and queue may be Any. It works without a connection
// too, and begins when there is one.
func NewSubscriber(conn *natsio.Conn, worker, queue string, cfg SubscriberConfig) (*Subscriber, error) {
	s := &Subscriber{
		cfg: cfg, conn: conn, updates: make(chan Update, maxUpdates), quit: make(chan struct{}), ended: make(chan struct{}),
		queues: make(map[queueName]*followed),
	}
	status := conn.NATS().StatusChanged(nats.CONNECTED)
	subject := conn.Subjects().Recommend(worker, queue)
	ignore := conn.OnDenied(func(denied string, err error) {
		if denied == subject {
			s.mu.Lock()
			s.err, s.errIn = err, conn.Session()
			s.mu.Unlock()
		}
	})
	s.detach = func() {
		ignore()
		conn.NATS().RemoveStatusListener(status)
	}
	var err error
	s.sub, err = conn.SubscribeRecommendations(worker, queue, s.take)
	if err != nil {
		s.detach()
		return nil, err
	}
	go s.run(worker, queue, status)
	return s, nil
}

// run asks for a snapshot with every connection, until the subscriber is closed.
func (s *Subscriber) run(worker, queue string, status <-chan nats.Status) {
	defer close(s.ended)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ask := func() {
		if worker == Any || queue == Any || !s.conn.NATS().IsConnected() {
			return // heartbeats tell within a second; the next connection asks again
		}
		ctx, cancel := context.WithTimeout(ctx, snapshotPatience)
		defer cancel()
		if h, r, err := Snapshot(ctx, s.conn, worker, queue); err == nil {
			s.take(worker, queue, &h, &r)
		}
	}
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	asking.Go(ask)
	for {
		select {
		case <-s.quit:
			return
		case <-s.conn.Closed():
			return
		case <-status:
			asking.Go(ask)
		}
	}
}

// take takes a recommendation, live or from a snapshot. Decision numbers order those of
// one incarnation; a lower number with a later clock is of a queue that the runtime forgot,
// and that began again. Of two incarnations the one that comes is the newer, unless it is
// the one that was replaced while the advice of its successor holds.
func (s *Subscriber) take(worker, queue string, h *telemetry.Header, r *telemetry.Recommendation) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.queue(queueName{worker, queue})
	if f == nil || s.closed {
		return
	}
	last := &f.latest
	known, same := last.Header.Incarnation != 0, last.Header.Incarnation == h.Incarnation
	switch {
	case known && same && r.Decision == last.Recommendation.Decision:
		expired := !last.Valid
		s.renew(f, r, now)
		if expired && last.Valid || s.cfg.Heartbeats {
			last.Recommendation.Heartbeat = r.Heartbeat
			s.emit(Update{Event: EventRenewed, Advice: *last})
		}
		return
	case known && same && r.Decision < last.Recommendation.Decision && h.SentNs <= last.Header.SentNs,
		known && !same && h.Incarnation == f.replaced && now.Before(last.Until):
		return
	case known && !same:
		f.replaced = last.Header.Incarnation
	}
	last.Header, last.Recommendation = *h, *r
	last.Recommendation.Reasons = slices.Clone(r.Reasons)
	s.renew(f, r, now)
	s.emit(Update{Event: EventDecision, Advice: *last})
}

// queue finds a queue or begins to follow it. Called with mu held, as the methods below.
func (s *Subscriber) queue(name queueName) *followed {
	f := s.queues[name]
	if f != nil {
		return f
	}
	if len(s.queues) >= maxFollowed {
		for other, f := range s.queues {
			if !f.latest.Valid {
				f.expiry.Stop()
				delete(s.queues, other)
			}
		}
		if len(s.queues) >= maxFollowed {
			return nil
		}
	}
	f = &followed{latest: Advice{Worker: name.worker, Queue: name.queue}}
	f.expiry = time.AfterFunc(time.Hour, func() { s.expire(f) })
	s.queues[name] = f
	return f
}

func (s *Subscriber) renew(f *followed, r *telemetry.Recommendation, now time.Time) {
	valid := time.Duration(r.ValidForMs) * time.Millisecond
	f.latest.At, f.latest.Until, f.latest.Valid = now, now.Add(valid), valid > 0
	f.expiry.Reset(valid)
}

// emit keeps an update for Next.
func (s *Subscriber) emit(u Update) {
	for {
		select {
		case s.updates <- u:
			return
		default:
		}
		select {
		case <-s.updates: // the oldest
		default:
		}
	}
}

func (s *Subscriber) expire(f *followed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && f.latest.Valid && !time.Now().Before(f.latest.Until) {
		f.latest.Valid = false
		s.emit(Update{Event: EventExpired, Advice: f.latest})
	}
}

// Latest returns the newest advice for a queue, or false if there was none yet. It never
// blocks. What it returns is valid now or says that it is not.
func (s *Subscriber) Latest(worker, queue string) (Advice, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.queues[queueName{worker, queue}]
	if f == nil {
		return Advice{}, false
	}
	return f.latest.now(), true
}

// All returns the newest advice for every queue, in no order.
func (s *Subscriber) All() []Advice {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Advice, 0, len(s.queues))
	for _, f := range s.queues {
		all = append(all, f.latest.now())
	}
	return all
}

func (a Advice) now() Advice {
	a.Valid = a.Valid && time.Now().Before(a.Until)
	return a
}

// Next waits for the next update, in order. The error is ctx's, or wraps natsio.ErrClosed
// when the subscriber or its connection was closed and everything before was fetched.
func (s *Subscriber) Next(ctx context.Context) (Update, error) {
	select {
	case u := <-s.updates:
		return u, nil
	default:
	}
	select {
	case u := <-s.updates:
		return u, nil
	case <-ctx.Done():
		return Update{}, fmt.Errorf("next update: %w", ctx.Err())
	case <-s.ended:
		return Update{}, fmt.Errorf("next update: %w", natsio.ErrClosed)
	}
}

// Err returns why the server gives nothing, which wraps natsio.ErrNotPermitted and names
// the subject, or nil. A new connection starts with nil again.
func (s *Subscriber) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.errIn != s.conn.Session() {
		return nil
	}
	return s.err
}

// Close ends the subscriber. What it knew stays, and expires.
func (s *Subscriber) Close() {
	s.once.Do(func() {
		s.mu.Lock()
		s.closed = true
		for _, f := range s.queues {
			f.expiry.Stop()
		}
		s.mu.Unlock()
		close(s.quit)
		<-s.ended
		s.detach()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()            // what is on its way is ignored
		_ = s.sub.Stop(ctx) // says that ctx has ended
	})
	<-s.ended
}
