package natsio

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
)

// PublisherConfig bounds a Publisher. Start from DefaultPublisherConfig.
type PublisherConfig struct {
	// Incarnation goes into the header of every record, and comes back in
	// AnsweredIncarnation. Not zero, and never that of an earlier run.
	Incarnation uint64
	// Linger is how long a record waits for others to share its payload.
	// 0 sends at once. 0..1 s.
	Linger time.Duration
	// FlushRecords ends the wait early when so many records are due.
	FlushRecords int
	// MaxPayload bounds one payload in bytes; the server's own bound counts
	// too. 4 KiB..64 KiB.
	MaxPayload int
	// MaxQueues bounds the queues, and the workers, that a publisher knows.
	// Reports of others fail with ErrBacklog.
	MaxQueues int
	// MaxLaunches bounds the launch reports of one worker (with PerQueue: of
	// one queue) that wait to be sent. Above it the oldest go, which is counted.
	MaxLaunches int
	// AnnounceEvery repeats the announcements, so that a runtime that starts
	// later learns the device limits. 0 announces once for each connection.
	AnnounceEvery time.Duration
	// PerQueue sends the records of each queue on the queue's own subject, for
	// publishers that may not write to _batch. Queues then share no payloads.
	PerQueue bool
	// OnError, if not nil, is told what Err will return, from a goroutine of
	// the connection. It must not block.
	OnError func(error)
}

// DefaultPublisherConfig draws an incarnation and returns bounds for one program.
func DefaultPublisherConfig() PublisherConfig {
	return PublisherConfig{
		Incarnation:   telemetry.NewIncarnation(),
		Linger:        time.Millisecond,
		FlushRecords:  128,
		MaxPayload:    telemetry.DefaultTelemetryLimits.MaxBytes,
		MaxQueues:     4096,
		MaxLaunches:   1 << 14,
		AnnounceEvery: 5 * time.Second,
	}
}

// minPayload holds every single record in its longest encoding.
const minPayload = 4 << 10

// Validate reports every problem of the configuration.
func (c *PublisherConfig) Validate() error {
	var errs []error
	demand := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("natsio: publisher: "+format, args...))
		}
	}
	limit := telemetry.DefaultTelemetryLimits.MaxBytes
	demand(c.Incarnation != 0, "incarnation is 0")
	demand(c.Linger >= 0 && c.Linger <= time.Second, "linger %v is not in 0..1s", c.Linger)
	demand(c.FlushRecords > 0, "flush at %d records, want at least 1", c.FlushRecords)
	demand(c.MaxPayload >= minPayload && c.MaxPayload <= limit, "max payload %d is not in %d..%d", c.MaxPayload, minPayload, limit)
	demand(c.MaxQueues > 0 && c.MaxLaunches > 0, "bounds of %d queues and %d launches are not above 0", c.MaxQueues, c.MaxLaunches)
	demand(c.AnnounceEvery >= 0, "announcements every %v", c.AnnounceEvery)
	return errors.Join(errs...)
}

// PublisherStats counts what a publisher did.
type PublisherStats struct {
	Sent      uint64 // records written to the connection
	Payloads  uint64 // messages they went in
	Coalesced uint64 // records that a newer one of their queue and kind replaced before they were sent
	Resent    uint64 // records that were due again because the connection had been away
	Dropped   uint64 // records lost to a bound: MaxLaunches, MaxQueues, or the server's payload limit
	Waiting   int    // records that are due now
}

// Publisher sends the telemetry of a Go program. Its Report methods copy the
// record, never block on the network and may be called concurrently; one
// goroutine writes.
//
// Of queue, graph and priority records it keeps one of each for a queue: a
// report overwrites the fields that it carries, and what goes out is the whole,
// so a receiver that knows nothing yet needs one record and not the history.
// Reports that come faster than they can be sent, or while the server is away,
// are coalesced: the newest value of every field is sent, and counters lose
// nothing because they are cumulative. Launch reports are events; each is sent,
// in order, unless too many wait.
//
// After a connection was lost the newest record of every queue and kind, and
// every announcement, is sent again, because the last ones before the loss may
// not have arrived and the runtime may have been restarted too. Launch reports
// that were under way in that moment may be lost.
//
// The records of all queues of a worker share payloads on its _batch subject.
// A record's SentNs is the moment of the report, so that latency measured by
// it includes the wait in the publisher. A queue has one publisher at a time:
// the runtime takes records of the newest incarnation only.
type Publisher struct {
	cfg  PublisherConfig
	link link

	wake   chan struct{} // something is due
	urgent chan struct{} // and must not wait for more
	quit   chan struct{}
	ended  chan struct{}
	detach func() // of the connection's events

	mu       sync.Mutex
	slate    slate
	stats    PublisherStats
	err      error
	closed   bool
	flushing []chan struct{} // closed when everything due has been written
}

// link is what a publisher needs of a connection.
type link interface {
	state() State
	session() uint64 // changes with every new connection to a server
	room() int       // bytes that the server accepts in a message
	publish(subject string, payload []byte) error
	Flush(ctx context.Context) error
	Closed() <-chan struct{}
}

func (c *Conn) session() uint64 { return c.nc.Stats().Reconnects }
func (c *Conn) room() int       { return int(c.nc.MaxPayload()) }

// NewPublisher starts a publisher on a connection, which may be away.
func (c *Conn) NewPublisher(cfg PublisherConfig) (*Publisher, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	status := c.nc.StatusChanged()
	p := newPublisher(cfg, c, c.cfg.Subjects, c.cfg.Form)
	ignore := c.events.onDenied(p.denied)
	p.detach = func() {
		ignore()
		c.nc.RemoveStatusListener(status)
	}
	go p.run(status)
	return p, nil
}

func newPublisher(cfg PublisherConfig, l link, subjects telemetry.Subjects, form telemetry.Form) *Publisher {
	p := &Publisher{
		cfg: cfg, link: l, detach: func() {},
		wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1),
		quit: make(chan struct{}), ended: make(chan struct{}),
	}
	p.slate.init(&p.cfg, subjects, form)
	return p
}

// Incarnation is the number that the publisher's records carry.
func (p *Publisher) Incarnation() uint64 { return p.cfg.Incarnation }

// Announce tells the runtime a worker's device limits, now, after every
// reconnect and again each AnnounceEvery. Like the Report methods it fails with
// a *telemetry.RecordError if the runtime would refuse the record, with
// ErrBadName, with ErrBacklog above MaxQueues, and with ErrClosed.
func (p *Publisher) Announce(worker string, w *telemetry.Worker) error {
	if !telemetry.ValidToken(worker) {
		return fmt.Errorf("%w: worker %q", ErrBadName, worker)
	}
	return p.enter(func(at int64) error { return p.slate.announce(worker, w, at) })
}

// ReportQueue reports a queue's load.
func (p *Publisher) ReportQueue(worker, queue string, q *telemetry.Queue) error {
	return p.report(worker, queue, func(name queueName, at int64) error { return p.slate.reportQueue(name, q, at) })
}

// ReportGraph reports a queue's graph. Like a priority, it is sent before a
// queue record that waits together with it.
func (p *Publisher) ReportGraph(worker, queue string, g *telemetry.Graph) error {
	return p.report(worker, queue, func(name queueName, at int64) error { return p.slate.reportGraph(name, g, at) })
}

// ReportPriority sets a queue's priority among its siblings.
func (p *Publisher) ReportPriority(worker, queue string, r *telemetry.Priority) error {
	return p.report(worker, queue, func(name queueName, at int64) error { return p.slate.reportPriority(name, r, at) })
}

// ReportLaunch reports one launch; its number is unique in the incarnation.
func (p *Publisher) ReportLaunch(worker, queue string, l *telemetry.Launch) error {
	return p.report(worker, queue, func(name queueName, at int64) error { return p.slate.reportLaunch(name, l, at) })
}

func (p *Publisher) report(worker, queue string, enter func(name queueName, at int64) error) error {
	if err := checkNames(worker, queue); err != nil {
		return err
	}
	if queue == telemetry.BatchQueue {
		return fmt.Errorf("%w: queue %q is reserved", ErrBadName, queue)
	}
	return p.enter(func(at int64) error { return enter(queueName{worker, queue}, at) })
}

// enter changes the slate and wakes the writer.
func (p *Publisher) enter(change func(at int64) error) error {
	at := time.Now().UnixNano()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return ErrClosed
	}
	err := change(at)
	due := p.slate.waiting
	p.mu.Unlock()
	if err != nil {
		return fmt.Errorf("natsio: publisher: %w", err)
	}
	signal(p.wake)
	if due >= p.cfg.FlushRecords {
		signal(p.urgent)
	}
	return nil
}

// signal leaves a mark in a channel of one unless there is one.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Forget drops what is known and due of a queue: nothing of it is sent again.
func (p *Publisher) Forget(worker, queue string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slate.forget(queueName{worker, queue})
}

// Err returns the newest reason why the server takes nothing, which wraps
// ErrNotPermitted and names the subject, or nil. A new connection starts with
// nil again.
func (p *Publisher) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// denied hears of every subject that the server refuses.
func (p *Publisher) denied(subject string, err error) {
	p.mu.Lock()
	_, ours := p.slate.subjects[subject]
	if ours {
		p.err = err
	}
	p.mu.Unlock()
	if ours && p.cfg.OnError != nil {
		p.cfg.OnError(err)
	}
}

// Stats returns what has been done so far.
func (p *Publisher) Stats() PublisherStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Coalesced, s.Resent, s.Waiting = p.slate.coalesced, p.slate.resent, p.slate.waiting
	s.Dropped += p.slate.dropped
	return s
}

// Flush returns nil once the server has everything that was reported before.
// Without a server it waits for one until ctx ends.
func (p *Publisher) Flush(ctx context.Context) error {
	for {
		session := p.link.session()
		written := make(chan struct{})
		p.mu.Lock()
		p.flushing = append(p.flushing, written)
		p.mu.Unlock()
		signal(p.urgent)
		select {
		case <-written:
		case <-p.ended:
			return p.unsent("flush", ErrClosed)
		case <-ctx.Done():
			return p.unsent("flush", ctx.Err())
		}
		// Only a round trip on the connection that was written to proves anything.
		err := p.link.Flush(ctx)
		if err == nil && p.link.session() == session {
			return nil
		}
		if ctx.Err() != nil {
			return p.unsent("flush", ctx.Err())
		}
	}
}

func (p *Publisher) unsent(doing string, why error) error {
	return fmt.Errorf("natsio: publisher: %s: %d records wait: %w", doing, p.Stats().Waiting, why)
}

// Close takes no more reports, sends what is due and returns when the server
// has it, or with why it has not: ctx's error, or ErrClosed if the connection
// was closed before. The publisher has ended in any case.
func (p *Publisher) Close(ctx context.Context) error {
	p.mu.Lock()
	again := p.closed
	p.closed = true
	p.mu.Unlock()
	if again {
		<-p.ended
		return nil
	}
	err := p.Flush(ctx)
	close(p.quit)
	<-p.ended
	p.detach()
	return err
}

// run writes what is due until the publisher or the connection is closed.
func (p *Publisher) run(status <-chan nats.Status) {
	defer close(p.ended)
	w := publisherLoop{Publisher: p, session: p.link.session(), status: status}
	if p.cfg.AnnounceEvery > 0 {
		announce := time.NewTicker(p.cfg.AnnounceEvery)
		defer announce.Stop()
		w.announce = announce.C
	}
	for w.await() {
		w.deliver()
	}
}
