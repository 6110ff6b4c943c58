package client

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

const (
	// keptMargin is how far the clocks of a submitter and its server may be apart: records are
	// asked for from so long before the submitter began to listen.
	keptMargin = time.Minute
	// keptPatience bounds one reading of them.
	keptPatience = 10 * time.Second
	// keptAttempts is how often it is tried to read them.
	keptAttempts = 5
	// keptLife is how long the server keeps the consumer of a reading that was cut off.
	keptLife = 30 * time.Second
)

// rehear hears the done records of a queue that the stream has kept, whenever the connection was
// lost and is back, until ctx ends: they may have been published meanwhile. Without the stream,
// or without the right to read it, what was missed stays missed.
func rehear(ctx context.Context, conn *natsio.Conn, worker, queue string, take func(*telemetry.Done)) {
	from := time.Now().Add(-keptMargin)
	connected := conn.NATS().StatusChanged(nats.CONNECTED)
	defer conn.NATS().RemoveStatusListener(connected)
	session := conn.Session()
	for {
		select {
		case <-ctx.Done():
			return
		case <-conn.Closed():
			return
		case <-connected:
		}
		for attempt := 1; conn.Session() != session && attempt <= keptAttempts; attempt++ {
			now := conn.Session()
			err := hearKept(ctx, conn, worker, queue, from, take)
			if err == nil || errors.Is(err, jetstream.ErrStreamNotFound) {
				session = now
			} else if !conn.Pause(ctx, attempt) {
				return
			}
		}
	}
}

// hearKept reads what the stream has of a queue from a time on.
func hearKept(ctx context.Context, conn *natsio.Conn, worker, queue string, from time.Time, take func(*telemetry.Done)) error {
	return readKept(ctx, conn, worker, queue, jetstream.ConsumerConfig{
		Description: "a submitter that was away", DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &from,
	}, func(_ time.Time, d *telemetry.Done) { take(d) })
}

// readKept reads what the stream has of a queue, and when it was stored, from where a configuration begins.
func readKept(ctx context.Context, conn *natsio.Conn, worker, queue string, cfg jetstream.ConsumerConfig, take func(time.Time, *telemetry.Done)) error {
	ctx, cancel := context.WithTimeout(ctx, keptPatience)
	defer cancel()
	cfg.FilterSubject, cfg.AckPolicy = conn.Subjects().Done(worker, queue), jetstream.AckNonePolicy
	cfg.InactiveThreshold, cfg.MemoryStorage, cfg.Replicas = keptLife, true, 1
	consumer, err := conn.JetStream().CreateConsumer(ctx, conn.DoneStream(), cfg)
	if err != nil {
		return err
	}
	left := consumer.CachedInfo().NumPending
	if left == 0 {
		return nil
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	var decoder telemetry.Decoder
	var record telemetry.Record
	for ; left > 0; left-- {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		if _, err := telemetry.Check(m.Data(), telemetry.DefaultWorkLimits); err != nil {
			continue
		}
		decoder.Reset(m.Data())
		if err := decoder.Next(&record); (err == nil || errors.Is(err, io.EOF)) && record.Kind == telemetry.KindDone {
			take(meta.Timestamp, &record.Done)
		}
	}
	return nil
}
