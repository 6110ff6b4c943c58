package natsio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/trace"
)

// batch is one delivered message that has no outcome yet. Its fields are
// guarded by the consumer's mu.
type batch struct {
	msg       jetstream.Msg // the newest delivery, the one to acknowledge
	sequence  uint64
	delivered uint64    // times the server has delivered it
	since     time.Time // the newest delivery came, or it was handed over
	taken     time.Time // the first delivery came
	stored    time.Time // by the server's clock
	worker    string
	queue     string
	bytes     int64         // of memory taken
	expected  time.Duration // of the device, if the batch is a pool's
	settled   bool
	attempt   int          // times it was handed over
	traced    *trace.Batch // nil: it is not
	held      *time.Timer  // until it is handed over, mostly again; nil: it is in the handler's hands
}

// reading is the batches of one queue that are being read: several at a time, as listed slots
// take longer to read than to run, and handed over in the order in which they came.
type reading struct {
	places chan struct{} // holds one of each batch that another goroutine reads; nil: none does
	turn   chan struct{} // closed when the newest batch has been handed over; whoever calls deliver owns it
}

const (
	// readersAtOnce is how many batches of a queue are read at a time, from readProcessors
	// processors on.
	readersAtOnce  = 4
	readProcessors = 8
	// readInline is the most bytes of a batch that is read where it arrives: with few, waking
	// another goroutine takes longer.
	readInline = 20 << 10
)

func newReading(processors int) *reading {
	r := &reading{turn: make(chan struct{})}
	close(r.turn)
	if processors >= readProcessors {
		r.places = make(chan struct{}, readersAtOnce)
	}
	return r
}

// deliver takes one message and has it read and handed to the handler.
func (w *WorkConsumer) deliver(r *reading, m jetstream.Msg) {
	meta, err := m.Metadata()
	if err != nil {
		return // not from the stream: somebody wrote into our inbox
	}
	w.received.Store(true)
	now := time.Now()
	b := &batch{msg: m, sequence: meta.Sequence.Stream, delivered: meta.NumDelivered, since: now, taken: now, stored: meta.Timestamp}
	if meta.NumDelivered > 1 {
		w.redelivered.Add(1)
	}
	_, b.worker, b.queue, err = w.conn.cfg.Subjects.Parse(m.Subject())
	if !w.admit(b) {
		return
	}
	w.order.Take(b.sequence)
	if err == nil {
		err = checkMessageID(m, b)
	}
	if err != nil || r.places == nil || len(m.Data()) <= readInline {
		w.read(b, m, meta.NumDelivered, err, r.turn)
		return
	}
	r.places <- struct{}{}
	before, handed := r.turn, make(chan struct{})
	r.turn = handed
	go func() {
		w.read(b, m, meta.NumDelivered, nil, before)
		close(handed)
		<-r.places
	}()
}

// read reads a batch, unless it is refused already, and hands it over when it is its turn.
func (w *WorkConsumer) read(b *batch, m jetstream.Msg, delivered uint64, refused error, turn <-chan struct{}) {
	var work *telemetry.Work
	var sentNs int64
	err := refused
	if err == nil {
		work, sentNs, err = w.decode(b, m)
	}
	if err == nil && w.cfg.Share != nil && work.Epoch != 0 {
		err = errPoolData
	}
	<-turn
	switch {
	case err != nil:
		w.settle(b, 0, telemetry.OutcomeRefused, err)
	case w.cfg.MaxDeliveries > 0 && delivered > w.cfg.MaxDeliveries:
		w.giveUp(b, delivered-1, work, sentNs)
	default:
		w.delivered.Add(1)
		w.expect(b, work)
		bytes := memoryOf(len(m.Data()), work)
		w.room.enter(b.queue, bytes) // the batches behind it in its queue wait with it
		b.bytes = bytes
		b.traced = w.conn.cfg.Traces.Taken(b.worker, b.queue, work.Batch, traceparentOf(m.Headers()), b.stored)
		if !w.holdApart(b, delivered) {
			w.hand(b, 0, work, sentNs)
		}
	}
}

// hand hands a batch over for the attempt-th time, from 0 on.
func (w *WorkConsumer) hand(b *batch, attempt int, work *telemetry.Work, sentNs int64) {
	w.handler(b.worker, b.queue, work, sentNs, func(outcome telemetry.Outcome, err error) {
		w.settle(b, attempt, outcome, err)
	})
}

// drop refuses a sound batch that will not run, once its done record is with the server.
// attempt is the one that this settles.
func (w *WorkConsumer) drop(b *batch, attempt int, count *atomic.Uint64, reason string, why error, done *telemetry.Done) {
	refuse := func(sent error) {
		if sent != nil {
			w.settle(b, attempt, telemetry.OutcomeRetry, sent)
			return
		}
		count.Add(1)
		w.settle(b, attempt, telemetry.OutcomeRefused, &telemetry.RecordError{Kind: telemetry.KindWork, Reason: reason, Err: why})
	}
	if w.cfg.GaveUp == nil {
		refuse(nil)
		return
	}
	w.cfg.GaveUp(b.worker, b.queue, done, refuse)
}

// hold keeps a batch in order to hand it over again later, or reports that it may not
// be held. The server sees signs of life meanwhile and delivers the batch to nobody
// else, so that NumDelivered counts only deliveries that ended without an outcome.
// Called with mu held.
func (w *WorkConsumer) hold(b *batch) bool {
	if w.draining {
		return false
	}
	b.settled, b.since = false, time.Now()
	w.begin(b)
	b.held = time.AfterFunc(backoff(w.cfg.RetryMin, w.cfg.RetryMax, min(b.attempt, 64)), func() { w.handAgain(b) })
	w.busy.Add(1)
	return true
}

// holdApart keeps a suspect in order to hand it over after a random wait, or reports that there is no need. Suspects that
// came together are so begun one after the other, each time in another order: in every other process a batch is done before
// the one that ends it, on average, and only that one comes until it is given up.
func (w *WorkConsumer) holdApart(b *batch, delivered uint64) bool {
	if !w.cfg.suspects(delivered) {
		return false
	}
	w.conn.complaints.Warn("batches come again and again without an outcome: each is begun after a wait of its own",
		w.worker, b.queue, "deliveries", delivered, "most", w.cfg.MaxDeliveries)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.draining {
		return false
	}
	b.held = time.AfterFunc(rand.N(w.cfg.RetryMax), func() { w.handAgain(b) })
	return true
}

// begin begins the next attempt: what the handler says about the previous one no longer
// counts. Called with mu held.
func (w *WorkConsumer) begin(b *batch) (attempt int) {
	b.attempt++
	return b.attempt
}

// handAgain hands a held batch over.
func (w *WorkConsumer) handAgain(b *batch) {
	w.mu.Lock()
	released := b.held == nil
	b.held, b.since = nil, time.Now()
	attempt, m := b.attempt, b.msg
	w.mu.Unlock()
	if released {
		return
	}
	work, sentNs, err := w.decode(b, m) // the handler had the last one for its own
	if err != nil {
		w.settle(b, attempt, telemetry.OutcomeRefused, err)
		return
	}
	w.hand(b, attempt, work, sentNs)
}

// releaseHeld begins to drain: no batch is held from now on, and those that are go back once no more come.
func (w *WorkConsumer) releaseHeld() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.draining = true
	for sequence, b := range w.pending {
		if b.held != nil {
			b.held.Stop()
			b.held, b.settled = nil, true
			w.returned = append(w.returned, b)
			w.retried.Add(1)
			b.traced.End(telemetry.OutcomeRetry.String(), nil)
			delete(w.pending, sequence)
			w.room.leave(b.queue, b.bytes)
		}
	}
	w.closeIfIdle()
}

// giveBack gives back what nobody was handed. That waits until no more batches come: a batch that is given back
// while this process still asks for some comes at once again, hundreds of times until the asking ends, and then it
// has been delivered too often for the next process to run it. The server delivers again in the order of these answers.
func (w *WorkConsumer) giveBack(ctx context.Context) {
	w.mu.Lock()
	returned := w.returned
	w.returned = nil
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	slices.SortFunc(returned, func(a, b *batch) int { return cmp.Compare(a.sequence, b.sequence) })
	unasked := make(map[string]bool)
	for _, b := range returned {
		if !unasked[b.queue] {
			unasked[b.queue] = true
			w.unask(ctx, b.queue)
		}
		w.note(b.msg.Nak())
	}
}

// unask has the server forget what this process has asked for of a queue and does not read any more: with its answer it
// counts who still waits for batches. Else it would find out with the first batch that is given back, and put it last.
func (w *WorkConsumer) unask(ctx context.Context, queue string) {
	if w.conn.nc.IsConnected() {
		_, _ = w.open(ctx, queue) // without an answer the order is another
	}
}

// admit adds a batch to the pending ones. While draining it is given back instead. A
// batch that is pending already only gets the newer delivery to acknowledge, and goes on:
// its signs of life did not reach the server in time, or it has taken longer than
// MaxExecution.
func (w *WorkConsumer) admit(b *batch) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if known, ok := w.pending[b.sequence]; ok {
		known.msg, known.delivered, known.since = b.msg, b.delivered, b.since
		w.repeated.Add(1)
		return false
	}
	if w.draining {
		w.returned = append(w.returned, b)
		return false
	}
	w.pending[b.sequence] = b
	return true
}

// settle acknowledges a batch by the outcome of an attempt, soon.
func (w *WorkConsumer) settle(b *batch, attempt int, outcome telemetry.Outcome, err error) {
	w.mu.Lock()
	if b.settled || b.attempt != attempt {
		w.mu.Unlock()
		return
	}
	if outcome == telemetry.OutcomeQueueBusy && w.isCrowded(b) {
		attempt, m := w.begin(b), b.msg
		w.mu.Unlock()
		w.turnAway(b, attempt, m, err)
		return
	}
	if (outcome == telemetry.OutcomeBusy || outcome == telemetry.OutcomeQueueBusy) && w.hold(b) {
		w.mu.Unlock()
		return
	}
	b.settled = true
	m, delivered := b.msg, b.delivered
	w.mu.Unlock()
	w.room.leave(b.queue, b.bytes)
	w.order.Acknowledge(b.sequence, func() {
		w.answer(b, m, delivered, outcome, err)
		b.traced.End(outcome.String(), err)
		w.mu.Lock() // with the answer sent, so that a drained consumer has sent all of them
		defer w.mu.Unlock()
		delete(w.pending, b.sequence)
		w.closeIfIdle()
	})
}

// answer tells the server the outcome of a batch.
func (w *WorkConsumer) answer(b *batch, m jetstream.Msg, delivered uint64, outcome telemetry.Outcome, err error) {
	switch outcome {
	case telemetry.OutcomeDone:
		w.note(m.Ack())
		w.done.Add(1)
		if w.cfg.Finished != nil {
			w.cfg.Finished(max(time.Since(b.stored), 0))
		}
	case telemetry.OutcomeDuplicate:
		w.note(m.Ack())
		w.duplicates.Add(1)
	case telemetry.OutcomeRefused:
		w.refuse(b, m, err)
	default:
		w.note(m.NakWithDelay(backoff(w.cfg.RetryMin, w.cfg.RetryMax, int(min(delivered, 64)))))
		w.retried.Add(1)
		w.conn.cfg.Logger.Debug("batch given back", "worker", w.worker, "delivered", delivered, "error", err)
	}
}

// refuse removes a batch from the stream and tells its publisher why.
func (w *WorkConsumer) refuse(b *batch, m jetstream.Msg, err error) {
	if err == nil {
		err = errors.New("refused without a reason")
	}
	reason := telemetry.ReasonOf(err)
	w.note(m.TermWithReason(reason))
	w.refused.Add(1)
	w.conn.reject.report(refusal{
		worker: b.worker, queue: b.queue, subject: m.Subject(),
		reason: reason, cause: err, size: len(m.Data()),
	})
}

// note counts an acknowledgement that could not be sent. A sign of life that was too
// late, because the outcome had been sent already, does not count.
func (w *WorkConsumer) note(err error) {
	if err != nil && !errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
		w.acks.Add(1)
	}
}

// A queue that makes no progress, because it is over its quota or stopped, would fill the
// stream with waiting work, and nobody else's would fit. So no more than half of MaxPending
// may wait because of their queue.

// mostHeld is how many batches of one queue may wait because of their queue.
func (c *WorkConfig) mostHeld() int { return max(c.MaxPending/2, 1) }

// isCrowded reports whether one more batch of a queue would be too many. Those that were held
// before stay. Called with mu held.
func (w *WorkConsumer) isCrowded(b *batch) bool {
	if b.attempt > 0 || w.draining {
		return false
	}
	held := 0
	for _, other := range w.pending {
		if other.queue == b.queue && other.attempt > 0 && (other.held != nil || b.since.Sub(other.since) < handTime) {
			held++
		}
	}
	return held >= w.cfg.mostHeld()
}

// handTime is how long a held batch that was handed over again still counts as held: it
// mostly comes back at once.
const handTime = 50 * time.Millisecond

// turnAway refuses a batch of a crowded queue, after its done record is out.
func (w *WorkConsumer) turnAway(b *batch, attempt int, m jetstream.Msg, why error) {
	w.conn.complaints.Warn("work is refused, because as much of its queue waits as may without keeping others out",
		w.worker, b.queue, "waiting", w.cfg.mostHeld(), "error", why)
	work, sentNs, err := w.decode(b, m) // the handler had the last one for its own
	if err != nil {
		w.settle(b, attempt, telemetry.OutcomeRefused, err)
		return
	}
	if w.cfg.Crowded != nil {
		w.cfg.Crowded(w.worker, b.queue, work.Batch, why)
	}
	crowd := fmt.Errorf("%d batches of the queue wait already: %w", w.cfg.mostHeld(), why)
	w.drop(b, attempt, &w.crowded, ReasonCrowded,
		fmt.Errorf("batch %q: submit it again later, under another id: %w", work.Batch, crowd),
		&telemetry.Done{Batch: work.Batch, Dropped: uint32(work.Count()), WorkSentNs: sentNs, Error: crowd.Error()})
}
