package client

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

const (
	// quietPeriod is how long Wait hears of none of its batches before it has the stream read: a
	// subscription that has stopped, or was too slow, says nothing on a connection that lives.
	quietPeriod = 15 * time.Second
	// keptMargin is how far the clocks of a submitter and its server may be apart: records are
	// asked for from so long before the submitter began to listen, or
	// read them last at a new connection.
	keptMargin = time.Minute
	// keptPatience bounds one reading of them.
	keptPatience = 10 * time.Second
	// keptAttempts is how often it is tried to read them.
	keptAttempts = 5
	// keptLife is how long the server keeps the consumer of a reading that was cut off.
	keptLife = 30 * time.Second
)

// rehear reads the done records that the stream has kept, until ctx ends: whenever the connection
// was lost and is back, as they may have been published meanwhile, and for the batches that Wait
// asks about. Without the stream, or without the right to read it, what was missed stays missed.
func (o *Outcomes) rehear(ctx context.Context) {
	from := time.Now().Add(-keptMargin)
	connected := o.conn.NATS().StatusChanged(nats.CONNECTED)
	defer o.conn.NATS().RemoveStatusListener(connected)
	session := o.conn.Session()
	said := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.conn.Closed():
			return
		case batches := <-o.overdue:
			if !o.conn.NATS().IsConnected() || !o.mayRead() {
				continue // a new connection reads by itself
			}
			found := 0
			err := hearKept(ctx, o.conn, o.worker, o.queue, from, func(d *telemetry.Done) {
				if slices.Contains(batches, d.Batch) {
					o.take(d)
					found++
				}
			})
			said = o.say(said || ctx.Err() != nil, found, err)
			continue
		case <-connected:
		}
		for attempt := 1; o.conn.Session() != session && attempt <= keptAttempts; attempt++ {
			now, began := o.conn.Session(), time.Now()
			err := hearKept(ctx, o.conn, o.worker, o.queue, from, o.hear)
			if err == nil {
				from = began.Add(-keptMargin) // all of ours until then are heard, not only those that Wait asked about
			}
			if err == nil || errors.Is(err, jetstream.ErrStreamNotFound) {
				session = now
			} else if !o.conn.Pause(ctx, attempt) {
				return
			}
		}
	}
}

// mayRead reports whether the server has refused nothing on this connection that reading takes: each
// refusal is a line in the log of both.
func (o *Outcomes) mayRead() bool {
	for subject := range o.conn.Denied() {
		if strings.Contains(subject, ".CONSUMER.CREATE."+o.conn.DoneStream()+".") {
			return false
		}
	}
	return true
}

// say says, unless it was said, that done records were missed, or that it cannot be known whether any were.
func (o *Outcomes) say(said bool, found int, err error) bool {
	switch {
	case said || errors.Is(err, jetstream.ErrStreamNotFound): // nothing is kept: there is nothing to read
	case err != nil:
		o.conn.Logger().Warn("no done record comes, and those that were kept cannot be read; trying again",
			"worker", o.worker, "queue", o.queue, "error", err)
		return true
	case found > 0:
		o.conn.Logger().Warn("done records were missed, and are read from the stream that keeps them", "worker", o.worker, "queue", o.queue, "batches", found)
		return true
	}
	return said
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
	var decoder telemetry.Decoder
	var record telemetry.Record
	return natsio.ReadPending(ctx, consumer, func(m jetstream.Msg, meta *jetstream.MsgMetadata) error {
		if _, err := telemetry.Check(m.Data(), telemetry.DefaultWorkLimits); err != nil {
			return nil // it is no record
		}
		decoder.Reset(m.Data())
		if err := decoder.Next(&record); (err == nil || errors.Is(err, io.EOF)) && record.Kind == telemetry.KindDone {
			take(meta.Timestamp, &record.Done)
		}
		return nil
	})
}
