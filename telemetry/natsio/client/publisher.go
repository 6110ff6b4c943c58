package client

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

const (
	// maxKept bounds the newest records that are kept, of all queues and workers, and
	// maxLaunches the launch reports that wait.
	maxKept, maxLaunches = 1 << 14, 1 << 12
	// linger is how long a record waits for others to share its payload.
	linger = time.Millisecond
	// retryPause is the time between two attempts to write on a connection that is there.
	retryPause = 100 * time.Millisecond
	// announceEvery repeats the announcements, for a runtime that starts later.
	announceEvery = 5 * time.Second
)

// PublisherConfig says how a Publisher sends. The zero value suits most programs.
type PublisherConfig struct {
	// PerQueue sends the records of each queue on the queue's own subject, for
	// publishers that may not write to _batch. Queues then share no payloads.
	PerQueue bool
	// TakeOver has a queue's records replace another publisher that is live. Without
	// it a runtime refuses them until that one has been silent for a while.
	TakeOver bool
	// OnAnswer, if not nil, has every payload answered: it is called with nil for a
	// recommendation, and with why a runtime refused a record, which wraps
	// natsio.ErrRefused. It must not block.
	OnAnswer func(error)
}

// PublisherStats counts what a publisher did.
type PublisherStats struct {
	Sent    uint64 // records written to the connection
	Dropped uint64 // launch reports too many, and records above the server's payload limit
	Waiting int    // records that are due now
}

// Publisher sends the telemetry of a Go program. Its Report methods copy the record,
// never block on the network and may be called concurrently; one goroutine writes.
//
// Of queue, graph and priority records and of announcements it keeps the newest of each
// queue or worker: a report overwrites the fields that it carries, and what goes out is
// the whole, so that a receiver that knows nothing yet needs one record. What is reported
// faster than it can be sent, or while the server is away, is coalesced; counters lose
// nothing by it because they are cumulative. After a connection was lost everything
// kept is sent again, because the last records before the loss may not have arrived.
// Launch reports are events: each is sent, in order, but of more than 4096 that wait the
// oldest go, and those under way when a connection is lost may be lost with it.
//
// A queue has one publisher at a time: a runtime takes the records of one incarnation.
type Publisher struct {
	cfg     PublisherConfig
	conn    *natsio.Conn
	inbox   string        // where answers are told, or empty
	wake    chan struct{} // something is due
	quit    chan struct{}
	ended   chan struct{}
	detach  func()     // of the connection's events
	writing sync.Mutex // held while payloads are taken and written: numbers leave in order

	mu       sync.Mutex // guards what follows; never held while writing
	kept     map[key]*pending
	due      []*pending // kept records to be sent, oldest first
	launches []*pending // launch reports to be sent, oldest first
	subjects map[string]bool
	session  uint64 // connection that the kept records were last due on
	sent     uint64
	dropped  uint64
	err      error
	closed   bool
}

// NewPublisher starts a publisher on a connection, which may be away. Its records carry
// the connection's incarnation.
func NewPublisher(conn *natsio.Conn, cfg PublisherConfig) (*Publisher, error) {
	nc := conn.NATS()
	p := &Publisher{
		cfg: cfg, conn: conn, wake: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{}),
		kept: make(map[key]*pending), subjects: make(map[string]bool), session: conn.Session(),
	}
	var answers *nats.Subscription
	if cfg.OnAnswer != nil {
		p.inbox = nc.NewInbox()
		var err error
		if answers, err = nc.Subscribe(p.inbox, p.answered); err != nil {
			return nil, fmt.Errorf("subscribe %s: %w", p.inbox, err)
		}
	}
	status, ignore := nc.StatusChanged(nats.CONNECTED), conn.OnDenied(p.denied)
	p.detach = func() {
		ignore()
		nc.RemoveStatusListener(status)
		if answers != nil {
			_ = answers.Unsubscribe() // fails only if the connection is closed, which unsubscribes too
		}
	}
	go p.run(status)
	return p, nil
}

// run writes what is due until the publisher or the connection is closed.
func (p *Publisher) run(status <-chan nats.Status) {
	defer close(p.ended)
	announce := time.NewTicker(announceEvery)
	defer announce.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-p.conn.Closed():
			return
		case <-announce.C:
			p.announceAgain()
		case <-status:
		case <-p.wake:
			p.pause(linger)
		}
		if p.write() != nil {
			p.pause(retryPause)
			p.signal()
		}
	}
}

// pause waits, but not beyond Close.
func (p *Publisher) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-p.quit:
	}
}

func (p *Publisher) signal() {
	select {
	case p.wake <- struct{}{}:
	default: // the writer has not seen the last one yet
	}
}

// write sends everything that is due. Without a connection it leaves that due, which is no
// error: the next connection begins with it.
func (p *Publisher) write() error {
	p.writing.Lock()
	defer p.writing.Unlock()
	if !p.conn.NATS().IsConnected() {
		return nil
	}
	payloads := p.take()
	for i := range payloads {
		err := p.conn.PublishRequest(payloads[i].subject, p.inbox, payloads[i].data)
		if !p.written(&payloads[i], err) {
			p.putBack(payloads[i:])
			return err
		}
	}
	return nil
}

// Flush returns nil once the server has everything that was reported before. Without a
// server it waits for one until ctx ends. The error wraps natsio.ErrNotPermitted if the
// server did not take all of it.
func (p *Publisher) Flush(ctx context.Context) error {
	_, before := p.conn.Denied()
	for {
		if err := p.conn.WaitState(ctx, natsio.StateConnected); err != nil {
			return p.unsent(err)
		}
		session := p.conn.Session()
		failed := p.write()
		err := p.conn.Flush(ctx)
		switch {
		case ctx.Err() != nil:
			return p.unsent(ctx.Err())
		case err != nil || failed != nil || p.conn.Session() != session:
			continue // only a round trip on the connection that was written to proves anything
		}
		subject, now := p.conn.Denied()
		p.mu.Lock()
		defer p.mu.Unlock()
		if now != before && p.subjects[subject] {
			return now
		}
		return nil
	}
}

func (p *Publisher) unsent(why error) error {
	return fmt.Errorf("publisher: %d records wait: %w", p.Stats().Waiting, why)
}

// Close takes no more reports, sends what is due and returns when the server has it, or
// with why it has not. The publisher has ended in any case.
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

// Forget drops what is kept and due of a queue: nothing of it is sent again.
func (p *Publisher) Forget(worker, queue string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := func(r *pending) bool { return r.worker == worker && r.queue == queue }
	p.due, p.launches = slices.DeleteFunc(p.due, of), slices.DeleteFunc(p.launches, of)
	for _, kind := range []telemetry.Kind{telemetry.KindQueue, telemetry.KindGraph, telemetry.KindPriority} {
		delete(p.kept, key{worker, queue, kind})
	}
}

// Incarnation is the number that the publisher's records carry.
func (p *Publisher) Incarnation() uint64 { return p.conn.Incarnation() }

// Err returns the newest reason why the server takes nothing, which wraps
// natsio.ErrNotPermitted and names the subject, or nil. A new connection starts with nil.
func (p *Publisher) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *Publisher) denied(subject string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.subjects[subject] {
		p.err = err
	}
}

// answered handles what a runtime answers.
func (p *Publisher) answered(m *nats.Msg) {
	if m.Header.Get("Status") == "" { // else nobody listens
		p.cfg.OnAnswer(natsio.AnswerError(telemetry.SubjectTelemetry, m))
	}
}

// Stats returns what has been done so far.
func (p *Publisher) Stats() PublisherStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return PublisherStats{Sent: p.sent, Dropped: p.dropped, Waiting: len(p.due) + len(p.launches)}
}
