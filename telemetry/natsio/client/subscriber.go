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
	maxUpdates       = 1024 // that wait for Next; beyond it the oldest go
	maxFollowed      = 4096 // queues; when it is reached, expired ones make room, else new ones are ignored
	snapshotPatience = 2 * time.Second
)

// SubscriberConfig says what a Subscriber tells. The zero value suits most programs.
type SubscriberConfig struct {
	// Heartbeats makes an update of every repetition of a decision.
	Heartbeats bool
}

// Advice is a recommendation and how long it holds. Its Reasons are shared and must not
// be changed.
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

// now is the advice as it is now.
func (a Advice) now() Advice {
	a.Valid = a.Valid && time.Now().Before(a.Until)
	return a
}

// Subscriber follows the recommendations for one queue, or for all. Latest is for a
// program that wants to know the plan before a launch, Next for one that acts on changes.
//
// It begins with the last recommendation, from a snapshot where a queue is named, and
// asks for a snapshot again on every new connection. Nothing older than what is known is
// ever told. Advice expires by the clock of this process.
type Subscriber struct {
	cfg     SubscriberConfig
	conn    *natsio.Conn
	subject string
	sub     *natsio.Subscription
	stop    context.CancelFunc
	ended   chan struct{}
	updates chan Advice // closed at the end

	mu     sync.Mutex
	queues map[queueName]*followed
	closed bool
}

type queueName struct{ worker, queue string }

// followed is what is known of one queue.
type followed struct {
	Advice
	expiry   *time.Timer
	replaced uint64 // incarnation before that of the advice
}

// NewSubscriber follows a queue; worker and queue may be Any. It works without a
// connection too, and begins when there is one. The error wraps natsio.ErrBadName, or is
// the client library's, of a connection that was closed.
func NewSubscriber(conn *natsio.Conn, worker, queue string, cfg SubscriberConfig) (*Subscriber, error) {
	ctx, stop := context.WithCancel(context.Background())
	s := &Subscriber{
		cfg: cfg, conn: conn, subject: conn.Subjects().Recommend(worker, queue), stop: stop,
		ended: make(chan struct{}), updates: make(chan Advice, maxUpdates), queues: make(map[queueName]*followed),
	}
	var err error
	if s.sub, err = conn.SubscribeRecommendations(worker, queue, s.take); err != nil {
		stop()
		return nil, err
	}
	go s.run(ctx, worker, queue)
	return s, nil
}

// run asks for a snapshot on every connection, until the subscriber or the connection is
// closed. Of many queues it asks nothing: their repetitions come every second.
func (s *Subscriber) run(ctx context.Context, worker, queue string) {
	defer close(s.ended)
	defer s.end()
	connected := s.conn.NATS().StatusChanged(nats.CONNECTED)
	defer s.conn.NATS().RemoveStatusListener(connected)
	for {
		if worker != Any && queue != Any && s.conn.NATS().IsConnected() {
			patient, cancel := context.WithTimeout(ctx, snapshotPatience)
			if h, r, err := Snapshot(patient, s.conn, worker, queue); err == nil {
				s.take(worker, queue, &h, &r)
			}
			cancel()
		}
		select {
		case <-ctx.Done():
			return
		case <-s.conn.Closed():
			return
		case <-connected:
		}
	}
}

// take takes a recommendation, live or from a snapshot. Decision numbers order those of
// one incarnation; a lower number with a later clock is of a queue that the runtime forgot,
// and that began again. Of two incarnations the one that comes is the newer, unless it is
// the one that was replaced while the advice of its successor holds.
func (s *Subscriber) take(worker, queue string, h *telemetry.Header, r *telemetry.Recommendation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	f := s.follow(queueName{worker, queue})
	if f == nil {
		return
	}
	now, known, same := time.Now(), f.Header.Incarnation != 0, f.Header.Incarnation == h.Incarnation
	repeated := same && r.Decision == f.Recommendation.Decision
	switch {
	case same && r.Decision < f.Recommendation.Decision && h.SentNs <= f.Header.SentNs:
		return
	case known && !same && h.Incarnation == f.replaced && now.Before(f.Until):
		return
	case known && !same:
		f.replaced = f.Header.Incarnation
	}
	told := repeated && f.Valid && !s.cfg.Heartbeats
	if !repeated {
		f.Header, f.Recommendation = *h, *r
		f.Recommendation.Reasons = slices.Clone(r.Reasons)
	}
	f.Recommendation.Heartbeat = r.Heartbeat
	valid := time.Duration(r.ValidForMs) * time.Millisecond
	f.At, f.Until, f.Valid = now, now.Add(valid), valid > 0
	f.expiry.Reset(valid)
	if !told {
		s.tell(f.Advice)
	}
}

// follow finds a queue or begins to follow it. Called with mu held, as tell is.
func (s *Subscriber) follow(name queueName) *followed {
	if f := s.queues[name]; f != nil {
		return f
	}
	if len(s.queues) >= maxFollowed {
		for other, f := range s.queues {
			if !f.Valid {
				f.expiry.Stop()
				delete(s.queues, other)
			}
		}
		if len(s.queues) >= maxFollowed {
			return nil
		}
	}
	f := &followed{Advice: Advice{Worker: name.worker, Queue: name.queue}}
	f.expiry = time.AfterFunc(time.Hour, func() { s.expire(f) })
	s.queues[name] = f
	return f
}

// tell keeps an update for Next.
func (s *Subscriber) tell(a Advice) {
	if len(s.updates) == maxUpdates {
		select {
		case <-s.updates: // the oldest
		default: // was fetched
		}
	}
	s.updates <- a
}

func (s *Subscriber) expire(f *followed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && f.Valid && !time.Now().Before(f.Until) {
		f.Valid = false
		s.tell(f.Advice)
	}
}

// end tells nothing more.
func (s *Subscriber) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	close(s.updates)
	for _, f := range s.queues {
		f.expiry.Stop()
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
	return f.now(), true
}

// All returns the newest advice for every queue, in no order.
func (s *Subscriber) All() []Advice {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Advice, 0, len(s.queues))
	for _, f := range s.queues {
		all = append(all, f.now())
	}
	return all
}

// Next waits for the next change, in order: a new decision, advice that has expired, which
// is then not Valid, or that was repeated after it had. It is the advice as it was then.
// Decisions are numbered: a gap is what was lost with a connection, or given up because
// 1024 changes waited. The error wraps ctx's, or natsio.ErrClosed when the subscriber or
// its connection was closed and every change was fetched.
func (s *Subscriber) Next(ctx context.Context) (Advice, error) {
	select {
	case a, open := <-s.updates:
		if !open {
			return Advice{}, fmt.Errorf("next update: %w", natsio.ErrClosed)
		}
		return a, nil
	case <-ctx.Done():
		return Advice{}, fmt.Errorf("next update: %w", ctx.Err())
	}
}

// Err returns why the server gives nothing, which wraps natsio.ErrNotPermitted and names
// the subject, or nil. A new connection starts with nil again.
func (s *Subscriber) Err() error { return s.conn.Denied()[s.subject] }

// Close ends the subscriber. What it knew stays, and expires.
func (s *Subscriber) Close() {
	s.stop()
	<-s.ended
	ended, cancel := context.WithCancel(context.Background())
	cancel()              // what is on its way is ignored
	_ = s.sub.Stop(ended) // says that the context has ended
}
