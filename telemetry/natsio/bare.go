package natsio

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// PublishBare sends bytes as they are on a subject outside the schema: the
// yardstick that Ringmaster's own path is measured against.
func (c *Conn) PublishBare(subject string, payload []byte) error {
	return c.publish(subject, payload)
}

// SubscribeBare receives bytes as they are; see PublishBare.
func (c *Conn) SubscribeBare(subject string, fn func(payload []byte)) (stop func(), err error) {
	sub, err := c.nc.Subscribe(subject, func(m *nats.Msg) { fn(m.Data) })
	if err != nil {
		return nil, fmt.Errorf("natsio: subscribe %s: %w", subject, err)
	}
	return func() { _ = sub.Unsubscribe() }, nil
}

// EchoBare answers every request on a subject with its own bytes.
func (c *Conn) EchoBare(subject string) (stop func(), err error) {
	sub, err := c.nc.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond(m.Data) })
	if err != nil {
		return nil, fmt.Errorf("natsio: subscribe %s: %w", subject, err)
	}
	return func() { _ = sub.Unsubscribe() }, nil
}

// RequestBare sends bytes and returns the answer.
func (c *Conn) RequestBare(subject string, payload []byte, patience time.Duration) ([]byte, error) {
	m, err := c.nc.Request(subject, payload, patience)
	if err != nil {
		return nil, fmt.Errorf("natsio: request %s: %w", subject, err)
	}
	return m.Data, nil
}
