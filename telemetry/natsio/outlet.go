package natsio

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
)

// Bounds of an outlet.
const (
	// maxNews bounds the recommendations, reports and announcements that wait
	// to be written. Above it the oldest go, which is counted.
	maxNews = 1 << 14
	// maxDone bounds the done records that wait for the server's confirmation.
	// Above it new ones fail.
	maxDone = 1 << 14
	// confirmTimeout is how long the server has to confirm done records that no stream keeps.
	confirmTimeout = 2 * time.Second
)

// OutletConfig says what an Outlet sends. The zero value sends all, and keeps nothing.
type OutletConfig struct {
	// KeepDone says whether a stream keeps done records for a day, 4096 of a queue and 256 MiB
	// in all. A done record then counts as confirmed when the stream has it; without, when
	// the server has it.
	KeepDone KeepDone
	// Owns says for which workers recommendations are sent. Nil: for all.
	Owns func(worker string) bool
}

// KeepDone says whether a stream keeps done records.
type KeepDone uint8

// Whether a stream keeps done records.
const (
	KeepNone       KeepDone = iota
	KeepIfPossible          // where the stream is there or can be made
	KeepAlways              // no work is acknowledged without it
)

// OutletStats counts what an outlet sent.
type OutletStats struct {
	News        uint64 `json:"news"`         // recommendations, reports and announcements, replies included, that were written
	NewsDropped uint64 `json:"news_dropped"` // not written: no connection, or more than fit waiting
	Done        uint64 `json:"done"`         // done records that the server confirmed
	DoneFailed  uint64 `json:"done_failed"`  // done records reported as failed
	Confirms    uint64 `json:"confirms"`     // round trips that confirmed them
}

// Outlet sends the records of one runtime. Its methods never block on the
// network: they encode into an outbox and return; two goroutines write, one
// for news, which may be lost, and one for done records, which may not.
type Outlet struct {
	conn *Conn
	cfg  OutletConfig
	news outbox
	done outbox
	wait sync.WaitGroup

	// Of writeDone's goroutine.
	streamReady bool      // the stream of done records exists
	streamLess  time.Time // until then it is not tried to make it; zero: it was there, or is tried

	mu    sync.Mutex
	stats OutletStats
}

// NewOutlet starts an outlet on a connection.
func (c *Conn) NewOutlet(cfg OutletConfig) *Outlet {
	p := &Outlet{conn: c, cfg: cfg}
	p.news.init(maxNews)
	p.done.init(maxDone)
	p.wait.Go(p.writeNews)
	p.wait.Go(p.writeDone)
	return p
}

// Recommend publishes a decision on the queue's recommend subject and sends
// the same record to every address in replies.
func (p *Outlet) Recommend(worker, queue string, r *telemetry.Recommendation, replies []string) {
	if p.cfg.Owns != nil && !p.cfg.Owns(worker) {
		return // another process does, and has answered
	}
	traced := p.conn.cfg.Traces.Decided(worker, queue, r)
	traced.Counts()
	p.send(p.conn.cfg.Subjects.Recommend(worker, queue), r, replies, traced.Traceparent())
}

// Report publishes a copy of a local launch report on the queue's telemetry subject.
func (p *Outlet) Report(worker, queue string, r *telemetry.Launch) {
	p.conn.cfg.Traces.Launched(worker, queue, r)
	p.send(p.conn.cfg.Subjects.Telemetry(worker, queue), r, nil, "")
}

// Graph publishes what is known of the queue's graph on the queue's telemetry subject, and
// returns the record's header.
func (p *Outlet) Graph(worker, queue string, r *telemetry.Graph) telemetry.Header {
	return p.send(p.conn.cfg.Subjects.Telemetry(worker, queue), r, nil, "")
}

// Load publishes the load of a queue on its telemetry subject.
func (p *Outlet) Load(worker, queue string, r *telemetry.Queue) {
	p.send(p.conn.cfg.Subjects.Telemetry(worker, queue), r, nil, "")
}

// Announce publishes a worker and its device.
func (p *Outlet) Announce(worker string, r *telemetry.Worker) {
	p.send(p.conn.cfg.Subjects.Worker(worker), r, nil, "")
}

// send puts a record into the outbox of news, and returns its header. The header is drawn
// while the outbox is held, so that the records of a subject are written in the order of
// their numbers.
func (p *Outlet) send(subject string, body telemetry.Body, replies []string, traceparent string) (h telemetry.Header) {
	l, err := p.news.open(true)
	defer p.news.seal()
	if err == nil {
		h = p.conn.Header(subject)
		l.subject, l.replies, l.trace = subject, append(l.replies, replies...), traceparent
		l.payload = telemetry.Append(l.payload, p.conn.cfg.Encoding, h, body)
	}
	return h
}

// Done publishes a finished batch. sent is called exactly once, from a
// goroutine of the outlet: with nil when the server is known to have the
// record, else with why that is not known. It must not block.
func (p *Outlet) Done(worker, queue string, r *telemetry.Done, sent func(error)) {
	subject := p.conn.cfg.Subjects.Done(worker, queue)
	l, err := p.done.open(false)
	defer p.done.seal()
	if err != nil {
		go p.settle(sent, err)
		return
	}
	h := p.conn.Header(subject)
	l.subject, l.sent, l.trace = subject, sent, p.conn.cfg.Traces.Done(worker, queue, r.Batch)
	l.payload = telemetry.Append(l.payload, p.conn.cfg.Encoding, h, r)
}

// writeNews writes what is in the outbox, in order.
func (p *Outlet) writeNews() {
	for {
		batch, ok := p.news.take()
		if !ok {
			return
		}
		written, lost := 0, batch.dropped
		for _, run := range [][]letter{batch.older, batch.newer} {
			for i := range run {
				w, l := p.write(&run[i])
				written, lost = written+w, lost+l
			}
		}
		p.mu.Lock()
		p.stats.News += uint64(written)
		p.stats.NewsDropped += uint64(lost)
		p.mu.Unlock()
	}
}

// write sends a letter to all its addresses and returns how many it reached
// and how many not.
func (p *Outlet) write(l *letter) (written, lost int) {
	count := func(err error) {
		if err == nil {
			written++
		} else {
			lost++
		}
	}
	count(p.conn.PublishTraced(l.subject, "", l.payload, l.trace))
	for _, reply := range l.replies {
		count(p.conn.PublishTraced(reply, "", l.payload, l.trace))
	}
	return written, lost
}

// writeDone writes what is in the outbox and confirms all of it with one round
// trip, or by the answers of the stream that keeps it. Records that come in
// meanwhile belong to the next round, so that the number of round trips adapts to
// the load and no record waits for more than two.
func (p *Outlet) writeDone() {
	confirm := p.confirm
	if p.cfg.KeepDone != KeepNone {
		confirm = p.store
	}
	for {
		batch, ok := p.done.take()
		if !ok {
			return
		}
		letters := batch.older // a full outbox refuses, so newer is empty
		err := confirm(letters)
		for i := range letters {
			p.settle(letters[i].sent, err)
			letters[i].sent = nil
		}
	}
}

// confirm publishes letters and returns nil if the server has all of them. A
// round trip on the same connection proves it, because the server handles a
// connection in order; one that ended in between proves nothing, although the
// round trip on its successor succeeds.
func (p *Outlet) confirm(letters []letter) error {
	return p.confirmSince(p.conn.nc.Stats().Reconnects, letters)
}

// confirmSince is confirm on the connection that followed so many reconnects.
func (p *Outlet) confirmSince(before uint64, letters []letter) error {
	nc := p.conn.nc
	for i := range letters {
		if err := p.conn.PublishTraced(letters[i].subject, "", letters[i].payload, letters[i].trace); err != nil {
			return err
		}
	}
	if err := nc.FlushTimeout(confirmTimeout); err != nil {
		return fmt.Errorf("%w: %w", ErrUnconfirmed, err)
	}
	if !nc.IsConnected() || nc.Stats().Reconnects != before {
		return ErrUnconfirmed
	}
	denied := p.conn.Denied()
	for i := range letters {
		if err := denied[letters[i].subject]; err != nil {
			return err // nobody has the record
		}
	}
	p.mu.Lock()
	p.stats.Confirms++
	p.mu.Unlock()
	return nil
}

func (p *Outlet) settle(sent func(error), err error) {
	p.mu.Lock()
	if err == nil {
		p.stats.Done++
	} else {
		p.stats.DoneFailed++
	}
	p.mu.Unlock()
	sent(err)
}

// Close sends what was given to the outlet and returns when every done
// record has its outcome and everything else is with the server, or with ctx's
// error. Calls that come later are dropped, or fail.
func (p *Outlet) Close(ctx context.Context) error {
	p.news.close()
	p.done.close()
	finished := make(chan struct{})
	go func() {
		p.wait.Wait()
		close(finished)
	}()
	select {
	case <-finished:
	case <-ctx.Done():
		return fmt.Errorf("close outlet: %w", ctx.Err())
	}
	// Without a connection there is nothing left to flush: each done record was
	// told so, and the news is old.
	if err := p.conn.Flush(ctx); !errors.Is(err, ErrDisconnected) {
		return err
	}
	return nil
}

// Stats returns what has been sent so far.
func (p *Outlet) Stats() OutletStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

const (
	// storedAtOnce is how many done records wait for the answers of the stream.
	storedAtOnce = 1024
	// doneStreamAge and doneStreamBytes bound the stream of done records.
	doneStreamAge   = 24 * time.Hour
	doneStreamBytes = 256 << 20
	doneStreamQueue = 4096
	// streamAgain is the pause before it is tried again to make the stream.
	streamAgain = time.Minute
)

// DoneStream returns the name of the stream of done records.
func (c *Conn) DoneStream() string { return storeName(c.prefix(), "DONE") }

func (c *Conn) doneStream() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: c.DoneStream(), Description: "what became of batches",
		Subjects: []string{c.prefix() + ".done.>"}, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld,
		MaxBytes: doneStreamBytes, MaxAge: doneStreamAge, MaxMsgsPerSubject: doneStreamQueue,
	}
}

// store publishes done records and returns nil if the stream has all of them. While there is no
// stream and one is demanded, every record fails, and its batch is not acknowledged.
func (p *Outlet) store(letters []letter) error {
	if !p.streamReady && time.Now().Before(p.streamLess) {
		return p.confirm(letters)
	}
	if !p.streamReady {
		ctx, cancel := context.WithTimeout(context.Background(), confirmTimeout)
		defer cancel()
		err := p.conn.OpenStream(ctx, p.conn.doneStream(), nil)
		switch {
		case err == nil:
			p.streamReady = true
		case p.cfg.KeepDone == KeepAlways || !p.conn.nc.IsConnected():
			p.conn.complaints.Warn("no work is acknowledged, as done records cannot be kept", "", "", "stream", p.conn.DoneStream(), "error", err)
			return err
		default:
			p.conn.complaints.Warn("done records are not kept: who is away when a batch ends misses its own", "", "", "stream", p.conn.DoneStream(), "error", err)
			p.streamLess = time.Now().Add(streamAgain)
			return p.confirm(letters)
		}
	}
	for part := range slices.Chunk(letters, storedAtOnce) {
		if err := p.storePart(part); err != nil {
			p.streamReady = false // somebody may have removed it
			return err
		}
	}
	return nil
}

func (p *Outlet) storePart(part []letter) error {
	if !p.conn.nc.IsConnected() {
		return ErrDisconnected
	}
	futures := make([]jetstream.PubAckFuture, 0, len(part))
	for i := range part {
		f, err := p.conn.js.PublishMsgAsync(&nats.Msg{Subject: part[i].subject, Data: part[i].payload, Header: tracedHeader(part[i].trace)}, ownRetries)
		if err != nil {
			return fmt.Errorf("store done record: %w", err)
		}
		futures = append(futures, f)
	}
	for _, f := range futures {
		select {
		case <-f.Ok():
		case err := <-f.Err(): // within apiTimeout
			return fmt.Errorf("%w: %w", ErrUnconfirmed, err)
		}
	}
	return nil
}
