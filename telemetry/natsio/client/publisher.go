package client

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// PublisherConfig bounds a Publisher. Start from DefaultPublisherConfig.
type PublisherConfig struct {
	// Linger is how long a record waits for others to share its payload. 0..1 s.
	Linger time.Duration
	// MaxPayload bounds one payload in bytes; the server's own bound counts
	// too. 4 KiB..64 KiB.
	MaxPayload int
	// MaxQueues bounds the queues, and the workers, that are kept, and MaxLaunches
	// the launch reports that wait. Beyond MaxQueues reports fail with
	// natsio.ErrBacklog; beyond MaxLaunches the oldest go, which is counted.
	MaxQueues, MaxLaunches int
	// AnnounceEvery repeats the announcements, so that a runtime that starts
	// later learns the device limits. 0: once for each connection.
	AnnounceEvery time.Duration
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

// DefaultPublisherConfig returns bounds for one program.
func DefaultPublisherConfig() PublisherConfig {
	return PublisherConfig{
		Linger: time.Millisecond, MaxPayload: telemetry.DefaultTelemetryLimits.MaxBytes,
		MaxQueues: 4096, MaxLaunches: 4096, AnnounceEvery: 5 * time.Second,
	}
}

// minPayload holds every single record in its longest encoding.
const minPayload = 4 << 10

// Validate reports every problem of the configuration.
func (c *PublisherConfig) Validate() error {
	var errs []error
	if c.Linger < 0 || c.Linger > time.Second || c.AnnounceEvery < 0 {
		errs = append(errs, fmt.Errorf("publisher: linger %v is not in 0..1s, or announcements every %v", c.Linger, c.AnnounceEvery))
	}
	if limit := telemetry.DefaultTelemetryLimits.MaxBytes; c.MaxPayload < minPayload || c.MaxPayload > limit {
		errs = append(errs, fmt.Errorf("publisher: max payload %d is not in %d..%d", c.MaxPayload, minPayload, limit))
	}
	if c.MaxQueues <= 0 || c.MaxLaunches <= 0 {
		errs = append(errs, fmt.Errorf("publisher: bounds of %d queues and %d launches are not above 0", c.MaxQueues, c.MaxLaunches))
	}
	return errors.Join(errs...)
}

// PublisherStats counts what a publisher did.
type PublisherStats struct {
	Sent      uint64 // records written to the connection
	Payloads  uint64 // messages they went in
	Coalesced uint64 // records that a newer one of their queue and kind replaced before they were sent
	Dropped   uint64 // launch reports above MaxLaunches, and records above the server's payload limit
	Waiting   int    // records that are due now
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
// Launch reports are events: each is sent, in order, unless too many wait, and those under
// way when a connection is lost may be lost with it.
//
// A queue has one publisher at a time: a runtime takes the records of one incarnation.
type Publisher struct {
	cfg    PublisherConfig
	conn   *natsio.Conn
	inbox  string        // where answers are told, or empty
	wake   chan struct{} // something is due
	urgent chan struct{} // and does not linger
	quit   chan struct{}
	ended  chan struct{}
	detach func() // of the connection's events

	mu       sync.Mutex
	kept     map[key]*pending
	due      []*pending // kept records to be sent, oldest first
	launches []*pending // launch reports, oldest first
	subjects map[string]bool
	flushing []chan struct{} // closed when nothing is due
	session  uint64          // connection that the kept records were last due on
	stats    PublisherStats
	err      error
	closed   bool
}

type key struct {
	worker, queue string
	kind          telemetry.Kind
}

// pending is one record: the newest of its key, or a launch report.
type pending struct {
	key
	subject string
	at      int64 // Unix nanoseconds of the report
	due     bool
	body    any // *telemetry.Queue and so on, of a kept record
	encode  func(dst []byte, h *telemetry.Header) []byte
}

// NewPublisher starts a publisher on a connection, which may be away. Its records carry
// the connection's incarnation.
func NewPublisher(conn *natsio.Conn, cfg PublisherConfig) (*Publisher, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	nc := conn.NATS()
	p := &Publisher{
		cfg: cfg, conn: conn, wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{}),
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

// Incarnation is the number that the publisher's records carry.
func (p *Publisher) Incarnation() uint64 { return p.conn.Incarnation() }

// Announce tells the runtime a worker's device limits, now, after every reconnect and
// again each AnnounceEvery. Like the Report methods it fails with a
// *telemetry.RecordError if the runtime would refuse the record, with natsio.ErrBadName,
// ErrBacklog or ErrClosed.
func (p *Publisher) Announce(worker string, w *telemetry.Worker) error {
	return keep(p, key{worker, "", telemetry.KindWorker}, w, telemetry.AppendWorker, func(dst, src *telemetry.Worker) {
		*dst = *src
		dst.Capabilities, dst.Opcodes = slices.Clone(src.Capabilities), slices.Clone(src.Opcodes)
	})
}

// ReportQueue reports a queue's load.
func (p *Publisher) ReportQueue(worker, queue string, q *telemetry.Queue) error {
	return keep(p, key{worker, queue, telemetry.KindQueue}, q, telemetry.AppendQueue, (*telemetry.Queue).Merge)
}

// ReportGraph reports a queue's graph.
func (p *Publisher) ReportGraph(worker, queue string, g *telemetry.Graph) error {
	return keep(p, key{worker, queue, telemetry.KindGraph}, g, telemetry.AppendGraph, (*telemetry.Graph).Merge)
}

// ReportPriority sets a queue's priority among its siblings.
func (p *Publisher) ReportPriority(worker, queue string, r *telemetry.Priority) error {
	return keep(p, key{worker, queue, telemetry.KindPriority}, r, telemetry.AppendPriority, (*telemetry.Priority).Merge)
}

// ReportLaunch reports one launch; its number is unique in the incarnation.
func (p *Publisher) ReportLaunch(worker, queue string, l *telemetry.Launch) error {
	body := *l
	body.OpcodeCounts, body.Fingerprint = slices.Clone(l.OpcodeCounts), slices.Clone(l.Fingerprint)
	if err := judge(telemetry.AppendLaunch, &body); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r, err := p.newPending(key{worker, queue, telemetry.KindLaunch})
	if err != nil {
		return err
	}
	r.encode = func(dst []byte, h *telemetry.Header) []byte {
		return telemetry.AppendLaunch(dst, p.conn.Form(), h, &body)
	}
	if len(p.launches) == p.cfg.MaxLaunches {
		p.launches = slices.Delete(p.launches, 0, 1)
		p.stats.Dropped++
	}
	p.launches = append(p.launches, r)
	signal(p.wake)
	return nil
}

// Report is the method for the record's kind.
func (p *Publisher) Report(worker, queue string, r *telemetry.Record) error {
	switch r.Kind {
	case telemetry.KindWorker:
		return p.Announce(worker, &r.Worker)
	case telemetry.KindQueue:
		return p.ReportQueue(worker, queue, &r.Queue)
	case telemetry.KindGraph:
		return p.ReportGraph(worker, queue, &r.Graph)
	case telemetry.KindPriority:
		return p.ReportPriority(worker, queue, &r.Priority)
	case telemetry.KindLaunch:
		return p.ReportLaunch(worker, queue, &r.Launch)
	}
	return fmt.Errorf("a %v record is not for publishers; queue, graph, priority, launch and worker are", r.Kind)
}

type encoder[T any] func(dst []byte, f telemetry.Form, h *telemetry.Header, body *T) []byte

// judge fails as the receiver would.
func judge[T any](encode encoder[T], body *T) error {
	var d telemetry.Decoder
	var r telemetry.Record
	d.Reset(encode(nil, telemetry.FormArray, &telemetry.Header{Incarnation: 1, Seq: 1}, body))
	return d.Next(&r)
}

var errRewind = &telemetry.RecordError{
	Kind: telemetry.KindQueue, Reason: telemetry.ReasonInconsistent,
	Err: errors.New("a counter fell; counters are cumulative for the publisher's life"),
}

// fell reports whether a cumulative counter of a queue has fallen.
func fell(q, last *telemetry.Queue) bool {
	return q.Has.Has(telemetry.HasExecutedCount) && q.ExecutedCount < last.ExecutedCount ||
		q.Has.Has(telemetry.HasRequeueCount) && q.RequeueCount < last.RequeueCount
}

// keep merges a report into what is kept and makes that due, unless the receiver would
// refuse the result.
func keep[T any](p *Publisher, k key, body *T, encode encoder[T], merge func(dst, src *T)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.kept[k]
	whole := new(T)
	if r != nil {
		*whole = *r.body.(*T)
		if q, is := any(body).(*telemetry.Queue); is && fell(q, any(whole).(*telemetry.Queue)) {
			return errRewind
		}
	}
	merge(whole, body)
	takeOver(whole, body, p.cfg.TakeOver)
	if err := judge(encode, whole); err != nil {
		return err
	}
	fresh, err := p.newPending(k)
	if err != nil {
		return err
	}
	if r == nil {
		if len(p.kept) >= 4*p.cfg.MaxQueues {
			return fmt.Errorf("%w: %d records are kept", natsio.ErrBacklog, len(p.kept))
		}
		r = fresh
		p.kept[k] = r
	}
	r.at, r.body = fresh.at, whole
	r.encode = func(dst []byte, h *telemetry.Header) []byte { return encode(dst, p.conn.Form(), h, whole) }
	if r.due {
		p.stats.Coalesced++
	}
	p.mark(r)
	return nil
}

// takeOver sets the event of that name, which merging leaves out, in what is kept of a
// queue if the publisher or the report has it.
func takeOver(whole, body any, always bool) {
	switch w := whole.(type) {
	case *telemetry.Queue:
		if always || body.(*telemetry.Queue).TakeOver {
			w.TakeOver, w.Has = true, w.Has|telemetry.HasQueueTakeOver
		}
	case *telemetry.Graph:
		if always || body.(*telemetry.Graph).TakeOver {
			w.TakeOver, w.Has = true, w.Has|telemetry.HasGraphTakeOver
		}
	case *telemetry.Priority:
		if always || body.(*telemetry.Priority).TakeOver {
			w.TakeOver, w.Has = true, w.Has|telemetry.HasPriorityTakeOver
		}
	}
}

// newPending checks the names of a record and finds its subject.
func (p *Publisher) newPending(k key) (*pending, error) {
	r := &pending{key: k, at: time.Now().UnixNano()}
	names := p.conn.Subjects()
	switch {
	case p.closed:
		return nil, natsio.ErrClosed
	case !telemetry.ValidToken(k.worker) || k.kind != telemetry.KindWorker && (!telemetry.ValidToken(k.queue) || k.queue == telemetry.BatchQueue):
		return nil, fmt.Errorf("%w: worker %q, queue %q", natsio.ErrBadName, k.worker, k.queue)
	case k.kind == telemetry.KindWorker:
		r.subject = names.Worker(k.worker)
	case p.cfg.PerQueue:
		r.subject = names.Telemetry(k.worker, k.queue)
	default:
		r.subject = names.Telemetry(k.worker, telemetry.BatchQueue)
	}
	if len(p.subjects) < 4*p.cfg.MaxQueues {
		p.subjects[r.subject] = true
	}
	return r, nil
}

// mark makes a kept record due. Called with mu held.
func (p *Publisher) mark(r *pending) {
	if !r.due {
		r.due = true
		p.due = append(p.due, r)
	}
	signal(p.wake)
}

// signal leaves a mark in a channel of one unless there is one.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
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
	s := p.stats
	s.Waiting = len(p.due) + len(p.launches)
	return s
}
