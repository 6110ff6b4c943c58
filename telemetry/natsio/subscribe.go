package natsio

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
)

// Subscription receives records until Stop.
type Subscription struct {
	nc  *nats.Conn
	sub *nats.Subscription
}

// Stop handles what has arrived and returns when the function will not be
// called again.
func (s *Subscription) Stop(ctx context.Context) error {
	if err := drain(ctx, s.nc, s.sub); err != nil {
		return fmt.Errorf("stop subscription: %w", err)
	}
	return nil
}

// SubscribeRecommendations calls fn for every recommendation for a queue;
// "*" stands for all. The record is valid until fn returns. Calls come from one
// goroutine.
func (c *Conn) SubscribeRecommendations(worker, queue string,
	fn func(worker, queue string, h *telemetry.Header, r *telemetry.Recommendation)) (*Subscription, error) {
	return c.subscribe(c.cfg.Subjects.Recommend, worker, queue, telemetry.KindRecommendation, func(worker, queue string, r *telemetry.Record) {
		fn(worker, queue, &r.Header, &r.Recommendation)
	})
}

// SubscribeDone calls fn for every finished batch; see SubscribeRecommendations.
func (c *Conn) SubscribeDone(worker, queue string, fn func(worker, queue string, h *telemetry.Header, d *telemetry.Done)) (*Subscription, error) {
	return c.subscribe(c.cfg.Subjects.Done, worker, queue, telemetry.KindDone, func(worker, queue string, r *telemetry.Record) {
		fn(worker, queue, &r.Header, &r.Done)
	})
}

// SubscribeRejected calls fn for every refusal that names a queue; see
// SubscribeRecommendations.
func (c *Conn) SubscribeRejected(worker, queue string, fn func(worker, queue string, h *telemetry.Header, r *telemetry.Rejected)) (*Subscription, error) {
	return c.subscribe(c.cfg.Subjects.Rejected, worker, queue, telemetry.KindRejected, func(worker, queue string, r *telemetry.Record) {
		fn(worker, queue, &r.Header, &r.Rejected)
	})
}

// SubscribeRejectedInvalid calls fn for every refusal whose worker or queue is
// unknown.
func (c *Conn) SubscribeRejectedInvalid(fn func(h *telemetry.Header, r *telemetry.Rejected)) (*Subscription, error) {
	return c.subscribe(func(_, _ string) string { return c.cfg.Subjects.RejectedInvalid() }, "*", "*", telemetry.KindRejected,
		func(_, _ string, r *telemetry.Record) { fn(&r.Header, &r.Rejected) })
}

// SubscribeLaunches calls fn for every launch report among the telemetry of a
// queue; see SubscribeRecommendations. Other records are passed over. Reports of
// a Publisher that shares payloads come on _batch subjects: "*" hears those too,
// and a queue's name only what is sent on the queue's own subject.
func (c *Conn) SubscribeLaunches(worker, queue string, fn func(worker, queue string, h *telemetry.Header, l *telemetry.Launch)) (*Subscription, error) {
	return c.subscribe(c.cfg.Subjects.Telemetry, worker, queue, telemetry.KindLaunch, func(worker, queue string, r *telemetry.Record) {
		fn(worker, queue, &r.Header, &r.Launch)
	})
}

// SubscribeTelemetry calls fn for every record of the telemetry of a queue, whatever its kind; see SubscribeLaunches.
func (c *Conn) SubscribeTelemetry(worker, queue string, fn func(worker, queue string, r *telemetry.Record)) (*Subscription, error) {
	return c.subscribe(c.cfg.Subjects.Telemetry, worker, queue, anyTelemetry, fn)
}

// SubscribeWorkers calls fn for every announcement of a worker; "*" stands for all. See SubscribeRecommendations.
func (c *Conn) SubscribeWorkers(worker string, fn func(worker string, h *telemetry.Header, w *telemetry.Worker)) (*Subscription, error) {
	return c.subscribe(func(worker, _ string) string { return c.cfg.Subjects.Worker(worker) }, worker, "*", telemetry.KindWorker,
		func(worker, _ string, r *telemetry.Record) { fn(worker, &r.Header, &r.Worker) })
}

// anyTelemetry stands for all kinds of records on subjects of telemetry.
const anyTelemetry = telemetry.KindInvalid

// carried reports whether subscribers of a kind are told of records of a kind on subjects of a class.
func carried(class telemetry.SubjectClass, wanted, kind telemetry.Kind) bool {
	if wanted == anyTelemetry {
		return class == telemetry.SubjectTelemetry && class.Carries(kind)
	}
	return kind == wanted && class.Carries(kind)
}

// subscribe calls fn for every record of a kind. A record that is damaged or does not
// belong is passed over: the runtime reports what it refuses.
func (c *Conn) subscribe(subject func(worker, queue string) string, worker, queue string, kind telemetry.Kind,
	fn func(worker, queue string, r *telemetry.Record)) (*Subscription, error) {
	for name, valid := range map[string]bool{worker: telemetry.ValidTaker(worker), queue: telemetry.ValidToken(queue)} {
		if name != "*" && !valid {
			return nil, fmt.Errorf("%w: %q is neither a name nor *", ErrBadName, name)
		}
	}
	to := subject(worker, queue)
	limits := telemetry.DefaultTelemetryLimits
	switch kind {
	case telemetry.KindDone:
		limits = telemetry.DefaultWorkLimits // a result for each of the batch's slots
	case telemetry.KindRecommendation:
		limits = telemetry.DefaultRecommendationLimits
	}
	var decoder telemetry.Decoder
	var record telemetry.Record
	sub, err := c.nc.Subscribe(to, func(m *nats.Msg) {
		class, worker, queue, err := c.cfg.Subjects.Parse(m.Subject)
		if err == nil {
			_, err = telemetry.Check(m.Data, limits)
		}
		if err != nil {
			return
		}
		decoder.Reset(m.Data)
		for {
			err := decoder.Next(&record)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil || !carried(class, kind, record.Kind) {
				continue
			}
			named := queue
			if class == telemetry.SubjectTelemetry {
				if named, _, err = nameQueue(queue, record.Header.Queue); err != nil {
					continue
				}
			}
			fn(worker, named, &record)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe %s: %w", to, err)
	}
	c.settle()
	return &Subscription{c.nc, sub}, nil
}
