package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

const (
	maxKept        = 1 << 14 // newest records, of all queues and workers
	maxLaunches    = 1 << 12 // launch reports that wait
	payloadRecords = 256     // in one payload; the longest record is 90 values, a receiver's bound is on values
	longestRecord  = 4 << 10 // bytes
	linger         = time.Millisecond
	announceEvery  = 5 * time.Second // for a runtime that starts later
	noSession      = ^uint64(0)      // of no connection
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

// PublisherStats counts records.
type PublisherStats struct {
	Sent    uint64 // written to the connection
	Dropped uint64 // launch reports too many, and what the server's payload limit does not allow
	Waiting int    // due now
}

// Publisher sends the telemetry of a Go program. Its Report methods copy the record,
// never block on the network and may be called concurrently; one goroutine writes, 1 ms
// after a report, so that others can share its payload.
//
// Of queue, graph, priority and worker records it keeps the newest of each queue or
// worker: a report overwrites the fields that it carries, and what goes out is the whole.
// What is reported faster than it can be sent, or while the server is away, is coalesced;
// counters lose nothing by it because they are cumulative. On every new connection all
// that is kept is sent again, because the last records before a loss may not have arrived.
// Launch reports are events: each is sent, in order, but of more than 4096 that wait the
// oldest go, and those under way when a connection is lost may be lost with it.
//
// A queue has one publisher at a time: a runtime takes the records of one incarnation,
// which is the connection's.
type Publisher struct {
	cfg     PublisherConfig
	conn    *natsio.Conn
	inbox   string        // where answers are told, or empty
	wake    chan struct{} // something is due
	stop    context.CancelFunc
	ended   chan struct{}
	writing sync.Mutex // held from taking records to writing them: numbers leave in order

	mu       sync.Mutex // guards what follows; never held while writing
	kept     map[key]*report
	due      map[key]struct{} // of kept
	launches []*report        // that are due, oldest first
	subjects map[string]bool  // that were reported on
	session  uint64           // connection that all that is kept was due on
	stats    PublisherStats
	closed   bool
}

// NewPublisher starts a publisher on a connection, which may be away. The error is the
// client library's, of a connection that was closed.
func NewPublisher(conn *natsio.Conn, cfg PublisherConfig) (*Publisher, error) {
	p := &Publisher{
		cfg: cfg, conn: conn, wake: make(chan struct{}, 1), ended: make(chan struct{}),
		kept: make(map[key]*report), due: make(map[key]struct{}), subjects: make(map[string]bool), session: conn.Session(),
	}
	var answers *nats.Subscription
	if cfg.OnAnswer != nil {
		var err error
		p.inbox = conn.NATS().NewInbox()
		if answers, err = conn.NATS().Subscribe(p.inbox, p.answered); err != nil {
			return nil, fmt.Errorf("subscribe %s: %w", p.inbox, err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	go p.run(ctx, answers)
	return p, nil
}

// answered handles what a runtime answers.
func (p *Publisher) answered(m *nats.Msg) {
	if m.Header.Get("Status") == "" { // else nobody listens
		p.cfg.OnAnswer(natsio.AnswerError(telemetry.SubjectTelemetry, m))
	}
}

// run writes what is due until the publisher or the connection is closed.
func (p *Publisher) run(ctx context.Context, answers *nats.Subscription) {
	defer close(p.ended)
	if answers != nil {
		defer answers.Unsubscribe() // fails only if the connection is closed, which unsubscribes too
	}
	connected := p.conn.NATS().StatusChanged(nats.CONNECTED)
	defer p.conn.NATS().RemoveStatusListener(connected)
	announce := time.NewTicker(announceEvery)
	defer announce.Stop()
	for {
		_ = p.write() // what failed is due again
		select {
		case <-ctx.Done():
			return
		case <-p.conn.Closed():
			return
		case <-connected:
		case <-announce.C:
			p.mu.Lock()
			p.again(func(k telemetry.Kind) bool { return k == telemetry.KindWorker })
			p.mu.Unlock()
		case <-p.wake:
			time.Sleep(linger)
		}
	}
}

// write sends what is due. Without a connection it leaves that: the next connection
// begins with all that is kept.
func (p *Publisher) write() error {
	p.writing.Lock()
	defer p.writing.Unlock()
	if !p.conn.NATS().IsConnected() {
		return nil
	}
	limit := min(telemetry.DefaultTelemetryLimits.MaxBytes, int(p.conn.NATS().MaxPayload()))
	due := p.take()
	for first := 0; first < len(due); {
		subject, payload, next := due[first].subject, []byte(nil), first
		for ; next < len(due) && due[next].subject == subject && next-first < payloadRecords; next++ {
			if next > first && len(payload)+longestRecord > limit {
				break
			}
			payload = p.encode(payload, due[next])
		}
		err := p.conn.PublishRequest(subject, p.inbox, payload)
		if err != nil && !errors.Is(err, nats.ErrMaxPayload) {
			p.written(due[first:], err)
			return err
		}
		p.written(due[first:next], err)
		first = next
	}
	return nil
}

// take empties what is due, in the order in which it goes out: subject by subject, and of
// a subject by falling kind, so that the queue records, which have the runtime decide, are last.
func (p *Publisher) take() []*report {
	p.mu.Lock()
	defer p.mu.Unlock()
	if session := p.conn.Session(); session != p.session {
		p.session = session
		p.again(func(telemetry.Kind) bool { return true })
	}
	out := p.launches
	for k := range p.due {
		out = append(out, p.kept[k])
	}
	p.launches = nil
	clear(p.due)
	slices.SortStableFunc(out, func(a, b *report) int {
		return cmp.Or(strings.Compare(a.subject, b.subject), cmp.Compare(b.kind, a.kind), strings.Compare(a.queue, b.queue))
	})
	return out
}

// written counts what was written of a payload. What could not be written is due again,
// unless the server's payload limit does not allow it.
func (p *Publisher) written(records []*report, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.stats.Sent += uint64(len(records))
	case errors.Is(err, nats.ErrMaxPayload):
		p.stats.Dropped += uint64(len(records))
	default:
		p.session = noSession
		launches := slices.DeleteFunc(records, func(r *report) bool { return r.kind != telemetry.KindLaunch })
		p.launches = append(launches, p.launches...)
		p.boundLaunches()
	}
}

// again makes kept records due. Called with mu held.
func (p *Publisher) again(which func(telemetry.Kind) bool) {
	for k := range p.kept {
		if which(k.kind) {
			p.due[k] = struct{}{}
		}
	}
}

// Flush returns nil once the server has everything that was reported before. Without a
// server it waits for one until ctx ends. The error wraps ctx's, natsio.ErrClosed, or
// natsio.ErrNotPermitted if the server does not let this connection write a subject that
// was reported on.
func (p *Publisher) Flush(ctx context.Context) error {
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
		case err == nil && failed == nil && p.conn.Session() == session: // a round trip on the connection that was written to
			return p.denied()
		}
	}
}

func (p *Publisher) unsent(why error) error {
	return fmt.Errorf("publisher: %d records wait: %w", p.Stats().Waiting, why)
}

// denied is why the server refuses one of the subjects.
func (p *Publisher) denied() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for subject, err := range p.conn.Denied() {
		if p.subjects[subject] {
			return err
		}
	}
	return nil
}

// Close takes no more reports, sends what is due and returns when the server has it, or
// with why it has not; see Flush. The publisher has ended in any case.
func (p *Publisher) Close(ctx context.Context) error {
	p.mu.Lock()
	again := p.closed
	p.closed = true
	p.mu.Unlock()
	var err error
	if !again {
		err = p.Flush(ctx)
		p.stop()
	}
	<-p.ended
	return err
}

// Stats returns what has been done so far.
func (p *Publisher) Stats() PublisherStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Waiting = len(p.due) + len(p.launches)
	return s
}
