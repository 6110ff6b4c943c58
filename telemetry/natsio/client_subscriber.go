package natsio

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// SubscriberConfig bounds a Subscriber. Start from DefaultSubscriberConfig.
type SubscriberConfig struct {
	// SnapshotWait is how long changes are held back for the answer to a
	// snapshot request, which tells the state that they change. Without a
	// runtime the server answers at once. 1 ms..1 min.
	SnapshotWait time.Duration
	// MaxUpdates bounds the updates that wait for Next. Above it the oldest
	// go and are counted as missed.
	MaxUpdates int
	// MaxMessages bounds what may wait to be decoded. Above it the client
	// drops the newest messages, which is counted in SubscriberStats.Dropped.
	MaxMessages int
	// OnError, if not nil, is told what Err will return, from a goroutine of
	// the connection. It must not block.
	OnError func(error)
}

// DefaultSubscriberConfig returns bounds for one queue.
func DefaultSubscriberConfig() SubscriberConfig {
	return SubscriberConfig{SnapshotWait: time.Second, MaxUpdates: 64, MaxMessages: 1024}
}

// Validate reports every problem of the configuration.
func (c *SubscriberConfig) Validate() error {
	var errs []error
	if c.SnapshotWait < time.Millisecond || c.SnapshotWait > time.Minute {
		errs = append(errs, fmt.Errorf("natsio: subscriber: snapshot wait %v is not in 1ms..1m", c.SnapshotWait))
	}
	if c.MaxUpdates <= 0 || c.MaxMessages <= 0 {
		errs = append(errs, fmt.Errorf("natsio: subscriber: bounds of %d updates and %d messages are not above 0", c.MaxUpdates, c.MaxMessages))
	}
	return errors.Join(errs...)
}

// SubscriberStats counts what a subscriber received.
type SubscriberStats struct {
	Decisions  uint64 // updates made of decisions
	Heartbeats uint64 // repetitions of the newest decision
	Missed     uint64 // decisions that never arrived
	Stale      uint64 // records ignored because a newer one was there
	Malformed  uint64 // messages ignored because they hold no recommendation
	Snapshots  uint64 // snapshot requests that a runtime answered with a recommendation
	Dropped    uint64 // messages that the client dropped because MaxMessages waited
}

// Subscriber follows the recommendations for one queue: first the last one,
// from a snapshot, and then every change, in order. Nothing older than what was
// reported is ever reported; a decision that was missed is counted. After every
// reconnect it asks for a snapshot again.
//
// Latest is for a program that wants to know the plan before a launch, Next
// for one that acts on changes. Advice expires ValidForMs after it or its last
// repetition arrived, by the time of this process.
type Subscriber struct {
	cfg    SubscriberConfig
	detach func() // from the connection

	messages chan *nats.Msg // of both subscriptions, in the order of their arrival
	inbox    string         // where snapshots are answered
	ask      func() error   // for a snapshot
	quit     chan struct{}
	ended    chan struct{}
	once     sync.Once
	dropped  func() uint64
	session  func() uint64 // changes with every new connection to a server

	mu       sync.Mutex
	follower follower
	updates  updates
	stats    SubscriberStats
	err      error
	errIn    uint64        // the session of err
	fetch    chan struct{} // an update waits
}

// NewSubscriber follows a queue. It works without a connection too, and
// begins when there is one.
func (c *Conn) NewSubscriber(worker, queue string, cfg SubscriberConfig) (*Subscriber, error) {
	if err := checkNames(worker, queue); err != nil {
		return nil, err
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := newSubscriber(cfg, c.nc.NewInbox())
	s.session = c.session
	recommend, snapshot := c.cfg.Subjects.Recommend(worker, queue), c.cfg.Subjects.Snapshot(worker, queue)
	s.ask = func() error {
		if !c.nc.IsConnected() {
			return ErrDisconnected
		}
		return c.nc.PublishRequest(snapshot, s.inbox, nil)
	}
	ignore := c.events.onDenied(func(subject string, err error) {
		if subject == recommend || subject == snapshot || subject == s.inbox {
			s.denied(err)
		}
	})
	status := c.nc.StatusChanged()
	var subs []*nats.Subscription
	s.detach = func() {
		ignore()
		c.nc.RemoveStatusListener(status)
		for _, sub := range subs {
			_ = sub.Unsubscribe() // fails only if the connection is closed, which unsubscribes too
		}
	}
	for _, subject := range []string{recommend, s.inbox} {
		sub, err := c.nc.ChanSubscribe(subject, s.messages)
		if err != nil {
			s.detach()
			return nil, fmt.Errorf("natsio: subscribe %s: %w", subject, err)
		}
		subs = append(subs, sub)
	}
	s.dropped = func() (n uint64) {
		for _, sub := range subs {
			if lost, err := sub.Dropped(); err == nil {
				n += uint64(lost)
			}
		}
		return n
	}
	c.settle()
	go s.run(status, c.Closed())
	return s, nil
}

func newSubscriber(cfg SubscriberConfig, inbox string) *Subscriber {
	return &Subscriber{
		cfg: cfg, inbox: inbox, messages: make(chan *nats.Msg, cfg.MaxMessages),
		ask: func() error { return nil }, detach: func() {}, dropped: func() uint64 { return 0 }, session: func() uint64 { return 0 },
		quit: make(chan struct{}), ended: make(chan struct{}),
		updates: updates{limit: cfg.MaxUpdates}, fetch: make(chan struct{}, 1),
	}
}

// Latest returns the newest advice, or false if there was none yet. It never
// blocks. What it returns is valid now or says that it is not.
func (s *Subscriber) Latest() (Advice, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.follower.latest
	a.Valid = a.Valid && time.Now().Before(a.Until)
	return a, s.follower.known
}

// Next waits for the next update, in order. The error is ctx's, or wraps
// ErrClosed when the subscriber or its connection was closed and everything
// before was fetched.
func (s *Subscriber) Next(ctx context.Context) (Update, error) {
	for {
		s.mu.Lock()
		u, ok := s.updates.take()
		more := len(s.updates.waiting) > 0
		s.mu.Unlock()
		if more {
			signal(s.fetch) // for another caller
		}
		if ok {
			return u, nil
		}
		select {
		case <-s.fetch:
		case <-ctx.Done():
			return Update{}, fmt.Errorf("natsio: next update: %w", ctx.Err())
		case <-s.ended:
			select {
			case <-s.fetch: // the last of them
			default:
				return Update{}, fmt.Errorf("natsio: next update: %w", ErrClosed)
			}
		}
	}
}

// Err returns why the server gives nothing, which wraps ErrNotPermitted and
// names the subject, or nil. A new connection starts with nil again.
func (s *Subscriber) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.errIn != s.session() {
		return nil
	}
	return s.err
}

func (s *Subscriber) denied(err error) {
	s.mu.Lock()
	s.err, s.errIn = err, s.session()
	s.mu.Unlock()
	if s.cfg.OnError != nil {
		s.cfg.OnError(err)
	}
}

// Stats returns what was received so far.
func (s *Subscriber) Stats() SubscriberStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.stats
	n.Heartbeats, n.Missed, n.Stale = s.follower.heartbeats, s.follower.missed, s.follower.stale
	n.Dropped = s.dropped()
	return n
}

// Close ends the subscriber. Latest keeps what it had, which expires.
func (s *Subscriber) Close() {
	s.once.Do(func() {
		close(s.quit)
		<-s.ended
		s.detach()
	})
	<-s.ended
}
