package natsio

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
)

// SubscribeLaunches calls fn for every launch report among the telemetry of a
// queue; see SubscribeRecommendations. Other records are passed over.
func (c *Conn) SubscribeLaunches(worker, queue string,
	fn func(worker, queue string, h *telemetry.Header, l *telemetry.Launch)) (*Subscription, error) {
	for _, name := range []string{worker, queue} {
		if name != "*" && !telemetry.ValidToken(name) {
			return nil, fmt.Errorf("%w: %q is neither a name nor *", ErrBadName, name)
		}
	}
	s := new(Subscription)
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
		for decoder.Next(&record) == nil {
			if record.Kind != telemetry.KindLaunch {
				continue
			}
			name := queue
			if record.Header.Queue != "" {
				name = record.Header.Queue
			}
			fn(worker, name, &record.Header, &record.Launch)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("natsio: subscribe %s: %w", subject, err)
	}
	s.sub = sub
	return s, nil
}
