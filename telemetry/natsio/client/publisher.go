package client

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

const (
	linger        = time.Millisecond // for others to share a payload
	announceEvery = 5 * time.Second  // for a runtime that starts later
	// settleAfter is more than others take to connect again: half of a runtime's longest pause
	// between attempts, and an attempt that times out.
	settleAfter = 5 * time.Second
)

// Publisher sends the telemetry of a Go program. Its Report methods copy the record,
// never block on the network and may be called concurrently; one goroutine writes, 1 ms
// after a report, so that others can share its payload, or at once if queues share none.
//
// Of queue, graph, priority and worker records it keeps the newest of each queue or
// worker: a report overwrites the fields that it carries, and what goes out is the whole.
// What is reported faster than it can be sent, or while the server is away, is coalesced;
// counters lose nothing by it because they are cumulative. On every new connection all
// that is kept is sent again, because the last records before a loss may not have arrived,
// and once more 5 s later, because the runtime may have been away for longer.
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
	bytes   []byte     // of the last payload, guarded by writing
	box     outbox
}

// NewPublisher starts a publisher on a connection, which may be away. The error is the
// client library's, of a connection that was closed.
func NewPublisher(conn *natsio.Conn, cfg PublisherConfig) (*Publisher, error) {
	p := &Publisher{cfg: cfg, conn: conn, wake: make(chan struct{}, 1), ended: make(chan struct{}), box: newOutbox(cfg.TakeOver)}
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
	defer answers.Unsubscribe() // fails only if there are none, or with the connection, which unsubscribes too
	connected := p.conn.NATS().StatusChanged(nats.CONNECTED)
	defer p.conn.NATS().RemoveStatusListener(connected)
	announce := time.NewTicker(announceEvery)
	defer announce.Stop()
	settled := time.NewTimer(settleAfter)
	defer settled.Stop()
	for {
		_ = p.write() // what failed is due again
		select {
		case <-ctx.Done():
			return
		case <-p.conn.Closed():
			return
		case <-connected:
			settled.Reset(settleAfter)
		case <-settled.C:
			p.box.again(0)
		case <-announce.C:
			p.box.again(telemetry.KindWorker)
		case <-p.wake:
			p.gather()
		}
	}
}

// gather lets others report what is then written together. With queues that share payloads it waits for them. Queues that
// share none have only the cost of a wake-up and of a write in common, and for that it is enough that whatever can run
// now runs first. A short sleep would not be short: a process that is idle sleeps for a millisecond if asked for a quarter.
func (p *Publisher) gather() {
	if p.cfg.PerQueue {
		runtime.Gosched()
		return
	}
	time.Sleep(linger)
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
	for due := p.box.take(p.conn.Session() + 1); len(due) > 0; {
		var n int
		p.bytes, n = payload(p.bytes[:0], due, limit, p.encode)
		err := p.conn.PublishTraced(due[0].subject, p.inbox, p.bytes, p.conn.Traceparent()) // which copies them
		if due, err = p.box.wrote(due, n, err); err != nil {
			return err
		}
	}
	return nil
}

// encode appends a record with the next number of its subject.
func (p *Publisher) encode(payload []byte, r *report) []byte {
	h := p.conn.Header(r.subject)
	h.SentNs = r.sentNs
	if !p.cfg.PerQueue {
		h.Queue = r.queue
	}
	return telemetry.Append(payload, p.conn.Encoding(), h, r.body)
}

// Flush returns nil once the server has everything that was reported before. Without a
// server it waits for one until ctx ends. The error wraps ctx's, natsio.ErrClosed, or
// natsio.ErrNotPermitted if the server does not let this connection write a subject that
// was reported on.
func (p *Publisher) Flush(ctx context.Context) error {
	for {
		err := p.conn.WaitState(ctx, natsio.StateConnected)
		session := p.conn.Session()
		if err == nil {
			failed := p.write()
			flushed := p.conn.Flush(ctx)
			if err = ctx.Err(); err == nil && flushed == nil && failed == nil && p.conn.Session() == session {
				return p.box.denied(p.conn.Denied()) // after a round trip on the connection that was written to
			}
		}
		if err != nil {
			return fmt.Errorf("publisher: %d records wait: %w", p.Stats().Waiting, err)
		}
	}
}

// Close takes no more reports, sends what is due and returns when the server has it, or
// with why it has not; see Flush. The publisher has ended in any case.
func (p *Publisher) Close(ctx context.Context) error {
	p.box.close()
	err := p.Flush(ctx)
	p.stop()
	<-p.ended
	return err
}
