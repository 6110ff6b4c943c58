package client

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// Any stands for every worker, or every queue, of a Subscriber.
const Any = "*"

const snapshotPatience = 2 * time.Second

// SubscriberConfig says what a Subscriber tells. The zero value suits most programs.
type SubscriberConfig struct {
	// Heartbeats makes an update of every repetition of a decision.
	Heartbeats bool
}

// Subscriber follows the recommendations for one queue, or for all. Latest is for a
// program that wants to know the plan before a launch, Next for one that acts on changes.
//
// It begins with the last recommendation, from a snapshot where a queue is named, and
// asks for a snapshot again on every new connection. Nothing older than what is known is
// ever told. Advice expires by the clock of this process.
type Subscriber struct {
	conn    *natsio.Conn
	subject string
	sub     *natsio.Subscription
	stop    context.CancelFunc
	ended   chan struct{}
	came    chan struct{} // there is something to tell
	known   following
}

// NewSubscriber follows a queue; worker and queue may be Any. It works without a
// connection too, and begins when there is one. The error wraps natsio.ErrBadName, or is
// the client library's, of a connection that was closed.
func NewSubscriber(conn *natsio.Conn, worker, queue string, cfg SubscriberConfig) (*Subscriber, error) {
	ctx, stop := context.WithCancel(context.Background())
	s := &Subscriber{
		conn: conn, subject: conn.Subjects().Recommend(worker, queue), stop: stop, ended: make(chan struct{}), came: make(chan struct{}, 1),
		known: following{heartbeats: cfg.Heartbeats, queues: make(map[queueName]*followed)},
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

// take takes a recommendation, live or from a snapshot.
func (s *Subscriber) take(worker, queue string, h *telemetry.Header, r *telemetry.Recommendation) {
	s.known.take(time.Now(), queueName{worker, queue}, h, r)
	s.wake()
}

// wake has a Next look for updates.
func (s *Subscriber) wake() {
	select {
	case s.came <- struct{}{}:
	default: // one will look already
	}
}

// Latest returns the newest advice for a queue, or false if there was none yet. It never
// blocks. What it returns is valid now or says that it is not.
func (s *Subscriber) Latest(worker, queue string) (Advice, bool) {
	return s.known.latest(time.Now(), queueName{worker, queue})
}

// All returns the newest advice for every queue, in no order.
func (s *Subscriber) All() []Advice { return s.known.all(time.Now()) }

// Next waits for the next change, in order: a new decision, advice that has expired, which
// is then not Valid, or that was repeated after it had. It is the advice as it was then.
// Decisions are numbered: a gap is what was lost with a connection, or given up because
// 1024 changes waited. The error wraps ctx's, or natsio.ErrClosed when the subscriber or
// its connection was closed and every change was fetched.
func (s *Subscriber) Next(ctx context.Context) (Advice, error) {
	defer s.wake() // there may be more, for another
	for ended := s.ended; ; {
		a, expiry, ok := s.known.update(time.Now())
		if ok {
			return a, nil
		}
		if ended == nil {
			return Advice{}, fmt.Errorf("next update: %w", natsio.ErrClosed)
		}
		var expires <-chan time.Time
		if !expiry.IsZero() {
			expires = time.After(time.Until(expiry))
		}
		select {
		case <-s.came:
		case <-expires:
		case <-ended:
			ended = nil // after what was there
		case <-ctx.Done():
			return Advice{}, fmt.Errorf("next update: %w", ctx.Err())
		}
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
