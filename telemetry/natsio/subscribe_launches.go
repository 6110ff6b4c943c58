package natsio

import (
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
)

// SubscribeLaunches calls fn for every launch report among the telemetry of a
// queue; see SubscribeRecommendations. Other records are passed over. Reports of
// a Publisher that shares payloads come on _batch subjects: "*" hears those too,
// and a queue's name only what is sent on the queue's own subject.
func (c *Conn) SubscribeLaunches(worker, queue string,
	fn func(worker, queue string, h *telemetry.Header, l *telemetry.Launch)) (*Subscription, error) {
	return c.subscribeTelemetry(worker, queue, telemetry.KindLaunch, func(worker, queue string, r *telemetry.Record) {
		fn(worker, queue, &r.Header, &r.Launch)
	})
}

// SubscribeGraphs calls fn for every graph record among the telemetry of a queue; see SubscribeLaunches.
func (c *Conn) SubscribeGraphs(worker, queue string,
	fn func(worker, queue string, h *telemetry.Header, g *telemetry.Graph)) (*Subscription, error) {
	return c.subscribeTelemetry(worker, queue, telemetry.KindGraph, func(worker, queue string, r *telemetry.Record) {
		fn(worker, queue, &r.Header, &r.Graph)
	})
}

func (c *Conn) subscribeTelemetry(worker, queue string, kind telemetry.Kind,
	fn func(worker, queue string, r *telemetry.Record)) (*Subscription, error) {
	for _, name := range []string{worker, queue} {
		if name != "*" && !telemetry.ValidToken(name) {
			return nil, fmt.Errorf("%w: %q is neither a name nor *", ErrBadName, name)
		}
	}
	s := &Subscription{nc: c.nc}
	var decoder telemetry.Decoder
	var record telemetry.Record
	subject := c.cfg.Subjects.Telemetry(worker, queue)
	sub, err := c.nc.Subscribe(subject, func(m *nats.Msg) {
		_, worker, queue, err := c.cfg.Subjects.Parse(m.Subject)
		if err == nil {
			_, err = telemetry.Check(m.Data, telemetry.DefaultTelemetryLimits)
		}
		if err != nil {
			s.malformed.Add(1)
			return
		}
		decoder.Reset(m.Data)
		for {
			err := decoder.Next(&record)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil || record.Kind != kind {
				continue // the runtime reports what it refuses
			}
			if name, _, err := nameQueue(queue, record.Header.Queue); err == nil {
				fn(worker, name, &record)
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("natsio: subscribe %s: %w", subject, err)
	}
	s.sub = sub
	c.settle()
	return s, nil
}
