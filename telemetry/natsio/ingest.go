package natsio

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
)

// Sink takes what arrives. For each of the three subjects its methods are
// called one after the other, in the order of the messages. They must not block,
// and copy what they keep of a record. An error refuses the record and is
// reported to its sender.
type Sink interface {
	// Ingest takes a queue, graph, priority or launch record that came at a time
	// by the clock here, one for all records of a payload. reply, if not empty, is
	// where the next recommendation for the queue should also go.
	Ingest(worker, queue string, r *telemetry.Record, at time.Time, reply string) error
	// Announce takes a worker record.
	Announce(worker string, r *telemetry.Record) error
	// Latest returns the last recommendation for a queue.
	Latest(worker, queue string) (telemetry.Recommendation, bool)
}

// Bounds of what waits for the sink on each subscription. Above them the client drops the
// newest messages, which is counted in IngestStats.Dropped.
const (
	pendingMessages = 1 << 16
	pendingBytes    = 64 << 20
)

// announcements bound the worker records of one worker name. An announcement makes every
// queue of its worker decide, so a worker gets few of them.
var announcements = RateLimit{PerSecond: 10, Burst: 20}

// Part is the part that a process has in the decisions for a worker.
type Part uint8

// Parts.
const (
	PartNone      Part = iota // nobody decides for the worker
	PartElsewhere             // another decides, and this process leaves the worker's telemetry to it
	PartFollows               // another decides, and this process takes the telemetry in, to go on where the other ends
	PartDecides               // this process decides
)

// IngestConfig bounds what Serve accepts.
type IngestConfig struct {
	// Telemetry bounds what is taken of one worker name. The rest is refused with
	// ReasonRateLimited, from the subject alone. See the package comment for what
	// remains for well-behaved publishers of a worker that is above its rate.
	Telemetry RateLimit
	// Part says what this process has to do with a worker: whose telemetry it takes, whose requests
	// it answers, and whose refusals it reports. Nil: it decides for all.
	Part func(worker string) Part
}

// part is the part of this process in the decisions for a worker.
func (c *IngestConfig) part(worker string) Part {
	if c.Part == nil {
		return PartDecides
	}
	return c.Part(worker)
}

// DefaultIngestConfig returns limits for a busy policy node.
func DefaultIngestConfig() IngestConfig {
	return IngestConfig{Telemetry: RateLimit{PerSecond: 20_000, Burst: 40_000}}
}

// IngestStats counts what came in since Serve.
type IngestStats struct {
	Messages  uint64 `json:"messages"`  // telemetry and worker payloads
	Records   uint64 `json:"records"`   // taken by the sink
	Refused   uint64 `json:"refused"`   // payloads and records refused
	Limited   uint64 `json:"limited"`   // payloads among them of workers above their rate
	Elsewhere uint64 `json:"elsewhere"` // payloads left to the process that decides for their worker
	Followed  uint64 `json:"followed"`  // payloads taken of workers that another process decides for
	Snapshots uint64 `json:"snapshots"` // snapshot requests answered, with a recommendation or without
	Dropped   uint64 `json:"dropped"`   // messages lost because the sink was too slow
}

// Ingest is a running subscription of a sink.
type Ingest struct {
	conn *Conn
	sink Sink
	cfg  IngestConfig
	subs []*nats.Subscription

	messages, records, refused, limited, elsewhere, followed, snapshots atomic.Uint64
}

// Serve subscribes the sink to telemetry, worker announcements and snapshot
// requests of all workers. It works without a connection too: the
// subscriptions are made when one is there.
func (c *Conn) Serve(sink Sink, cfg IngestConfig) (*Ingest, error) {
	in := &Ingest{conn: c, sink: sink, cfg: cfg}
	s, heard := c.cfg.Subjects, c.cfg.heard()
	for _, to := range []struct {
		subject string
		handle  nats.MsgHandler
	}{
		{heard.Telemetry("*", "*"), newIntake(in, cfg.Telemetry).take},
		{heard.Worker("*"), newIntake(in, announcements).take},
		{s.Snapshot("*", "*"), in.snapshot},
	} {
		sub, err := c.nc.Subscribe(to.subject, to.handle)
		if err == nil {
			in.subs = append(in.subs, sub)
			err = sub.SetPendingLimits(pendingMessages, pendingBytes)
		}
		if err != nil {
			unsubscribe(in.subs)
			return nil, fmt.Errorf("subscribe %s: %w", to.subject, err)
		}
	}
	c.settle()
	return in, nil
}

// Stop takes nothing new, lets the sink finish what has arrived, and returns
// when the sink will not be called again.
func (in *Ingest) Stop(ctx context.Context) error {
	if err := drain(ctx, in.conn.nc, in.subs...); err != nil {
		return fmt.Errorf("stop ingest: %w", err)
	}
	return nil
}

// drain waits until subscriptions have handled what they have received. Without a
// connection nothing more comes, and no server answers that it was the last:
// the subscriptions then just end, as they do when ctx ends.
func drain(ctx context.Context, nc *nats.Conn, subs ...*nats.Subscription) error {
	if !nc.IsConnected() {
		unsubscribe(subs)
		return nil
	}
	var closed []<-chan nats.SubStatus
	for _, sub := range subs {
		ended := sub.StatusChanged(nats.SubscriptionClosed)
		switch err := sub.Drain(); {
		case err == nil:
			closed = append(closed, ended)
		case !errors.Is(err, nats.ErrConnectionClosed) && !errors.Is(err, nats.ErrBadSubscription): // else it has ended
			unsubscribe(subs)
			return err
		}
	}
	for _, ended := range closed {
		select {
		case <-ended:
		case <-ctx.Done():
			unsubscribe(subs)
			return ctx.Err()
		}
	}
	return nil
}

func unsubscribe(subs []*nats.Subscription) {
	for _, sub := range subs {
		_ = sub.Unsubscribe() // fails only if it has ended, or with the connection, which unsubscribes too
	}
}

// Stats returns what has come in so far.
func (in *Ingest) Stats() IngestStats {
	s := IngestStats{
		Messages:  in.messages.Load(),
		Records:   in.records.Load(),
		Refused:   in.refused.Load(),
		Limited:   in.limited.Load(),
		Elsewhere: in.elsewhere.Load(),
		Followed:  in.followed.Load(),
		Snapshots: in.snapshots.Load(),
	}
	for _, sub := range in.subs {
		if n, err := sub.Dropped(); err == nil {
			s.Dropped += uint64(n)
		}
	}
	return s
}
