package natsio

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
)

// Subscription receives records until Stop.
type Subscription struct {
	nc        *nats.Conn
	sub       *nats.Subscription
	malformed atomic.Uint64
}

// Stop handles what has arrived and returns when the function will not be
// called again.
func (s *Subscription) Stop(ctx context.Context) error {
	if err := drain(ctx, s.nc, s.sub); err != nil {
		_ = s.sub.Unsubscribe() // ctx's error says more
		return fmt.Errorf("natsio: stop subscription: %w", err)
	}
	return nil
}

// Dropped returns how many messages were lost because the function was too slow.
func (s *Subscription) Dropped() uint64 {
	n, err := s.sub.Dropped()
	if err != nil {
		return 0
	}
	return uint64(n)
}

// Malformed returns how many messages were ignored because they are not what
// belongs on the subject.
func (s *Subscription) Malformed() uint64 { return s.malformed.Load() }

// SubscribeRecommendations calls fn for every recommendation for a queue;
// "*" stands for all. The record is valid until fn returns. Calls come from one
// goroutine.
func (c *Conn) SubscribeRecommendations(worker, queue string,
	fn func(worker, queue string, h *telemetry.Header, r *telemetry.Recommendation)) (*Subscription, error) {
	return c.subscribe(c.cfg.Subjects.Recommend, worker, queue, func(worker, queue string, r *telemetry.Record) {
		fn(worker, queue, &r.Header, &r.Recommendation)
	})
}

// SubscribeDone calls fn for every finished batch; see SubscribeRecommendations.
func (c *Conn) SubscribeDone(worker, queue string,
	fn func(worker, queue string, h *telemetry.Header, d *telemetry.Done)) (*Subscription, error) {
	return c.subscribe(c.cfg.Subjects.Done, worker, queue, func(worker, queue string, r *telemetry.Record) {
		fn(worker, queue, &r.Header, &r.Done)
	})
}

// SubscribeRejected calls fn for every refusal that names a queue; see
// SubscribeRecommendations.
func (c *Conn) SubscribeRejected(worker, queue string,
	fn func(worker, queue string, h *telemetry.Header, r *telemetry.Rejected)) (*Subscription, error) {
	return c.subscribe(c.cfg.Subjects.Rejected, worker, queue, func(worker, queue string, r *telemetry.Record) {
		fn(worker, queue, &r.Header, &r.Rejected)
	})
}

// SubscribeRejectedInvalid calls fn for every refusal whose worker or queue is
// unknown.
func (c *Conn) SubscribeRejectedInvalid(fn func(h *telemetry.Header, r *telemetry.Rejected)) (*Subscription, error) {
	return c.subscribeTo(c.cfg.Subjects.RejectedInvalid(), func(_, _ string, r *telemetry.Record) {
		fn(&r.Header, &r.Rejected)
	})
}

func (c *Conn) subscribe(subject func(worker, queue string) string, worker, queue string,
	fn func(worker, queue string, r *telemetry.Record)) (*Subscription, error) {
	for _, name := range []string{worker, queue} {
		if name != "*" && !telemetry.ValidToken(name) {
			return nil, fmt.Errorf("%w: %q is neither a name nor *", ErrBadName, name)
		}
	}
	return c.subscribeTo(subject(worker, queue), fn)
}

func (c *Conn) subscribeTo(subject string, fn func(worker, queue string, r *telemetry.Record)) (*Subscription, error) {
	s := &Subscription{nc: c.nc}
	var decoder telemetry.Decoder
	var record telemetry.Record
	sub, err := c.nc.Subscribe(subject, func(m *nats.Msg) {
		class, worker, queue, err := c.cfg.Subjects.Parse(m.Subject)
		if err == nil {
			err = decodeOne(&decoder, &record, m.Data, telemetry.DefaultTelemetryLimits, class)
		}
		if err != nil {
			s.malformed.Add(1)
			return
		}
		fn(worker, queue, &record)
	})
	if err != nil {
		return nil, fmt.Errorf("natsio: subscribe %s: %w", subject, err)
	}
	s.sub = sub
	c.settle()
	return s, nil
}
