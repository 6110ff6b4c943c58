package natsio

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// decisionAge is how long a decision log is kept.
const decisionAge = 7 * 24 * time.Hour

// MaxDecisionMessage is the largest message of the decision stream, in bytes.
const MaxDecisionMessage = 512 << 10

// DecisionStream returns the name of the stream of decision logs,
// RINGMASTER_DECISIONS with the default prefix. Its one subject is
// <prefix>.decisions; each message is a decision log of its own.
func (c *Conn) DecisionStream() string { return storeName(c.prefix(), "DECISIONS") }

func (c *Conn) decisionSubject() string { return c.prefix() + ".decisions" }

func (c *Conn) decisionStream(maxBytes int64) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        c.DecisionStream(),
		Description: "what every decision was made from, for replay",
		Subjects:    []string{c.decisionSubject()},
		Retention:   jetstream.LimitsPolicy,
		Discard:     jetstream.DiscardOld,
		MaxBytes:    maxBytes,
		MaxAge:      decisionAge,
		MaxMsgSize:  MaxDecisionMessage,
		DenyDelete:  true,
	}
}

// DecisionWriter stores decision logs in the stream. One goroutine at a time
// may use it.
type DecisionWriter struct {
	conn  *Conn
	bytes int64 // bound of the stream
	ready bool  // the stream exists
}

// NewDecisionWriter returns a writer of a stream of up to so many bytes; the oldest messages
// go first, and after a week. A stream that exists keeps its own bounds. It does not touch the
// network: the stream is created by the first Write.
func (c *Conn) NewDecisionWriter(maxBytes int64) *DecisionWriter {
	return &DecisionWriter{conn: c, bytes: maxBytes}
}

// Write stores one log of at most MaxDecisionMessage bytes as one message, and
// returns when the server has it, after at most 3 s. It does not try again:
// while it waits newer decisions queue up, and those are worth more. The error
// wraps ErrTooLarge, ErrDisconnected, ErrStreamConflict, or says what the
// server answered. A message whose answer was lost may have been stored.
func (w *DecisionWriter) Write(ctx context.Context, log []byte) error {
	if len(log) > MaxDecisionMessage {
		return fmt.Errorf("%w: %d bytes of decisions, at most %d", ErrTooLarge, len(log), MaxDecisionMessage)
	}
	if !w.conn.nc.IsConnected() {
		return ErrDisconnected
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	if !w.ready {
		if err := w.conn.ensureStream(ctx, w.conn.decisionStream(w.bytes)); err != nil {
			return err
		}
		w.ready = true
	}
	m := nats.NewMsg(w.conn.decisionSubject())
	m.Data = log
	if _, err := w.conn.js.PublishMsg(ctx, m, jetstream.WithExpectStream(w.conn.DecisionStream())); err != nil {
		w.ready = false // it may have been removed
		return fmt.Errorf("store decisions: %w", err)
	}
	return nil
}

// ReadDecisions hands every log that the stream holds now to visit, oldest
// first, and returns after the last one, or with visit's error. It returns
// ErrNoDecisions if there is no stream.
func (c *Conn) ReadDecisions(ctx context.Context, visit func(log []byte) error) error {
	stream, err := c.js.Stream(ctx, c.DecisionStream())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("%w: no stream %s", ErrNoDecisions, c.DecisionStream())
	}
	if err != nil {
		return fmt.Errorf("look up stream %s: %w", c.DecisionStream(), err)
	}
	state := stream.CachedInfo().State
	if state.Msgs == 0 {
		return nil
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return fmt.Errorf("read decisions: %w", err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		return fmt.Errorf("read decisions: %w", err)
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return fmt.Errorf("read decisions: %w", err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("read decisions: %w", err)
		}
		// A message beyond the last one of before may come first if the
		// bounds of the stream have removed the others meanwhile.
		if meta.Sequence.Stream <= state.LastSeq {
			if err := visit(m.Data()); err != nil {
				return err
			}
		}
		if meta.Sequence.Stream >= state.LastSeq {
			return nil
		}
	}
}
