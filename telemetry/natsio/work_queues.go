package natsio

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
)

// Each queue has a consumer of its own on the work stream, so that no queue's batches stand
// in front of another's. A consumer is made when a batch of its queue is in the stream. The
// stream is asked which queues have some, from time to time and when a submitter says so. It
// could tell of every batch by itself (JetStream republish), but then looks up the queue's
// previous one each time: half of what it takes to store 16 KiB.

const (
	// maxFlows is how many queues of a worker can have batches delivered at a time.
	maxFlows = 1024
	// quietIdle is how long a queue keeps its consumer without a batch, and crowdedIdle how
	// long if half of all consumers there can be are in use.
	quietIdle   = time.Minute
	crowdedIdle = 2 * time.Second
	// lookAgain is how often the stream is asked for queues with batches, which is how long the
	// first batch of one waits if its submitter says nothing, and lookPause the least time
	// between two questions, whoever asks for them.
	lookAgain = 250 * time.Millisecond
	lookPause = 10 * time.Millisecond
	// besideWork is more than subject, reply and headers of a batch take.
	besideWork = 64 << 10
	// forgetConsumer is how long the server keeps a consumer that nobody uses.
	forgetConsumer = time.Hour
)

// queueFlow is the consumption of one queue's batches.
type queueFlow struct {
	queue  string
	wanted bool         // a batch was heard of; guarded by the consumer's mu
	used   atomic.Int64 // when a batch came, Unix nanoseconds
	missed atomic.Int32 // heartbeats missing in a row
	slots  atomic.Int64 // of the newest batch, if the queue is a pool's
}

// listen hears of queues that have batches, until run ends.
func (w *WorkConsumer) listen() (*nats.Subscription, error) {
	sub, err := w.conn.nc.Subscribe(w.conn.cfg.Subjects.Queued(w.worker, "*"), func(m *nats.Msg) {
		if w.consumes(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]) {
			return
		}
		select {
		case w.told <- struct{}{}: // anybody can say so: look has to see it
		default:
		}
	})
	if err != nil {
		return nil, fmt.Errorf("listen for queues: %w", err)
	}
	return sub, nil
}

// run keeps flows going for the queues that have batches, until ctx ends.
func (w *WorkConsumer) run(ctx context.Context, queued *nats.Subscription) {
	defer close(w.stopped)
	defer w.flowing.Wait()
	defer queued.Unsubscribe() // fails only with the connection
	for failures := 0; ; {
		started, err := w.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if started {
			failures = 0
		}
		failures++
		if !w.resume(ctx, failures, "", err) {
			return
		}
	}
}

// resume says that work does not come in, of one queue or of all, and waits before it is
// tried again.
func (w *WorkConsumer) resume(ctx context.Context, failures int, queue string, why error) bool {
	if failures == 1 {
		w.conn.cfg.Logger.Warn("no work comes in, trying to resume", "worker", w.worker, "queue", queue, "error", why)
	}
	w.restart.Add(1)
	return w.conn.Pause(ctx, failures)
}

// follow starts a flow for each queue that is heard of, until that breaks or ctx ends.
func (w *WorkConsumer) follow(ctx context.Context) (started bool, err error) {
	if err := w.conn.ensureWorkStream(ctx); err != nil {
		return false, err
	}
	setup, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	stream, err := w.conn.js.Stream(setup, w.conn.WorkStream())
	if err != nil {
		return false, fmt.Errorf("look up stream %s: %w", w.conn.WorkStream(), err)
	}
	for {
		if err := w.look(ctx, stream); err != nil {
			return started, err
		}
		started = true
		w.isReady.Do(func() { close(w.ready) })
		if !pause(ctx, lookPause) {
			return true, ctx.Err()
		}
		again := time.NewTimer(lookAgain - lookPause)
		select {
		case <-again.C:
		case <-w.told:
			again.Stop()
		case <-ctx.Done():
			again.Stop()
			return true, ctx.Err()
		}
	}
}

// look starts a flow for each queue that has batches in the stream.
func (w *WorkConsumer) look(ctx context.Context, stream jetstream.Stream) error {
	ctx2, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	info, err := stream.Info(ctx2, jetstream.WithSubjectFilter(w.conn.prefix()+".work."+w.worker+".>"))
	if err != nil {
		return fmt.Errorf("ask stream %s for queues: %w", w.conn.WorkStream(), err)
	}
	w.doneAtLook.Store(w.done.Load())
	stored := make(map[string]uint64, len(info.State.Subjects))
	defer w.stored.Store(&stored)
	for subject, n := range info.State.Subjects {
		_, _, queue, err := w.conn.cfg.Subjects.Parse(subject)
		if err == nil {
			stored[queue] = n
			w.flow(ctx, queue)
			continue
		}
		if err := w.remove(ctx2, stream, subject, n, err); err != nil {
			return err
		}
	}
	return nil
}

// remove refuses n batches on a subject that names no queue: no consumer can have them.
func (w *WorkConsumer) remove(ctx context.Context, stream jetstream.Stream, subject string, n uint64, why error) error {
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
		return fmt.Errorf("remove batches of no queue: %w", err)
	}
	w.refused.Add(n)
	w.conn.reject.report(refusal{worker: w.worker, subject: subject, reason: telemetry.ReasonOf(why), cause: why})
	return nil
}

// consumes reports whether a queue, which is said to have a batch, is consumed already.
func (w *WorkConsumer) consumes(queue string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.flows[queue]
	if f != nil {
		f.wanted = true
	}
	return f != nil
}

// flow notes that a queue has a batch in the stream, and begins to consume it if nobody does.
func (w *WorkConsumer) flow(ctx context.Context, queue string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f := w.flows[queue]; f != nil {
		f.wanted = true
		return
	}
	switch {
	case w.draining || ctx.Err() != nil:
		return
	case len(w.flows) >= maxFlows:
		w.conn.complaints.Warn("work of a queue waits, as batches of as many other queues come in as can at a time", w.worker, queue, "queues", maxFlows)
		return
	}
	f := &queueFlow{queue: strings.Clone(queue)}
	f.used.Store(time.Now().UnixNano())
	w.flows[f.queue] = f
	w.flowing.Go(func() { w.keep(ctx, f) })
}

// keep consumes the batches of a queue until none came for a while or ctx ends.
func (w *WorkConsumer) keep(ctx context.Context, f *queueFlow) {
	for failures := 0; ; {
		var err error
		started := false
		if failures > 0 { // the stream may be gone
			err = w.conn.ensureWorkStream(ctx)
		}
		if err == nil {
			started, err = w.consume(ctx, f)
		}
		if ctx.Err() != nil || err == nil && w.forget(f) {
			return
		}
		if started {
			failures = 0
		}
		if err == nil {
			continue
		}
		failures++
		if !w.resume(ctx, failures, f.queue, err) {
			return
		}
	}
}

// forget ends a flow, unless a batch was heard of since it became idle.
func (w *WorkConsumer) forget(f *queueFlow) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.wanted {
		return false
	}
	delete(w.flows, f.queue)
	return true
}

// ConsumerName is the name of a queue's consumer on the work stream: names have neither sign, and those of consumers
// no dot.
func ConsumerName(taker, queue string) string {
	return strings.ReplaceAll(taker, ".", "+") + "=" + queue
}

// open makes the consumer of a queue what it has to be.
func (w *WorkConsumer) open(ctx context.Context, queue string) (jetstream.Consumer, error) {
	name := ConsumerName(w.worker, queue)
	cfg := jetstream.ConsumerConfig{
		Durable:           name,
		FilterSubject:     w.conn.cfg.Subjects.Work(w.worker, queue),
		AckPolicy:         jetstream.AckExplicitPolicy,
		AckWait:           w.cfg.AckWait,
		MaxAckPending:     w.cfg.MaxPending,
		MaxDeliver:        -1,
		InactiveThreshold: forgetConsumer,
	}
	if w.cfg.Share != nil {
		shared(&cfg)
	}
	consumer, err := w.conn.js.CreateOrUpdateConsumer(ctx, w.conn.WorkStream(), cfg)
	if err != nil {
		return nil, fmt.Errorf("create consumer %s: %w", name, err)
	}
	return consumer, nil
}

// consume sets up the consumer of a queue and passes batches on until that breaks or ctx
// ends, or without an error when the queue is idle.
func (w *WorkConsumer) consume(ctx context.Context, f *queueFlow) (started bool, err error) {
	setup, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	consumer, err := w.open(setup, f.queue)
	if err != nil {
		return false, err
	}
	broken := make(chan error, 1)
	f.missed.Store(0)
	r := newReading(runtime.GOMAXPROCS(0))
	if w.cfg.Share != nil {
		return w.fetch(ctx, f, consumer, r)
	}
	batches, err := consumer.Consume(
		func(m jetstream.Msg) {
			f.missed.Store(0)
			f.used.Store(time.Now().UnixNano())
			w.deliver(r, m)
		},
		jetstream.PullMaxBytes(2*(max(maxWorkBytes, int(w.conn.nc.MaxPayload()))+besideWork)), // it asks for more from half of that on
		jetstream.PullExpiry(5*time.Second),
		jetstream.PullHeartbeat(time.Second),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
			if f.breaks(err) {
				select {
				case broken <- err:
				default:
				}
			}
		}))
	if err != nil {
		return false, fmt.Errorf("consume: %w", err)
	}
	closed := batches.Closed()
	look := time.NewTicker(crowdedIdle / 2)
	defer look.Stop()
	for waiting := true; waiting; {
		select {
		case <-ctx.Done():
			waiting = false
		case err = <-broken:
			waiting = false
		case <-closed:
			<-r.turn
			return true, errors.New("consume: ended")
		case now := <-look.C:
			waiting = !w.flowIdle(f, now)
		}
	}
	w.finish(batches, closed, r)
	return true, err
}

// flowIdle reports whether a queue's flow can end: no batch came for a while, and none is in the
// handler's hands, which would be delivered again to nobody.
func (w *WorkConsumer) flowIdle(f *queueFlow, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	limit := quietIdle
	if len(w.flows) > maxFlows/2 {
		limit = crowdedIdle
	}
	if now.Sub(time.Unix(0, f.used.Load())) < limit {
		return false
	}
	for _, b := range w.pending {
		if b.queue == f.queue {
			return false
		}
	}
	f.wanted = false // what is heard of from now on counts
	return true
}

// breaks reports whether an error of the client needs a new consumer. Missing
// heartbeats are first answered by the client itself, with a new pull.
func (f *queueFlow) breaks(err error) bool {
	if errors.Is(err, jetstream.ErrNoHeartbeat) {
		return f.missed.Add(1) > 1
	}
	for _, gone := range []error{
		jetstream.ErrConsumerDeleted, jetstream.ErrConsumerNotFound, jetstream.ErrConsumerDoesNotExist,
		jetstream.ErrStreamNotFound, jetstream.ErrBadRequest, nats.ErrNoResponders,
	} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}

// beat tells the server from time to time which batches are still alive.
func (w *WorkConsumer) beat() {
	tick := time.NewTicker(w.cfg.AckWait / 3)
	defer tick.Stop()
	for {
		select {
		case <-w.beating:
			return
		case now := <-tick.C:
			for _, m := range w.alive(now) {
				w.note(m.InProgress())
			}
		}
	}
}

func (w *WorkConsumer) alive(now time.Time) []jetstream.Msg {
	w.mu.Lock()
	defer w.mu.Unlock()
	alive := make([]jetstream.Msg, 0, len(w.pending))
	for _, b := range w.pending {
		if !b.settled && now.Sub(b.since) < w.cfg.MaxExecution {
			alive = append(alive, b.msg)
		}
	}
	return alive
}
