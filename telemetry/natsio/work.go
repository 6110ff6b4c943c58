package natsio

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/ackorder"
)

// WorkHandler takes one batch. It must not block, and may be called by several
// goroutines. The batch belongs to the handler, which calls settled exactly once,
// from any goroutine, when the outcome is known; later calls are ignored. err explains OutcomeRefused to
// the publisher, OutcomeRetry and OutcomeBusy to the log. After OutcomeBusy, and mostly after
// OutcomeQueueBusy, the same delivery is handed over again.
type WorkHandler func(worker, queue string, w *telemetry.Work, workSentNs int64, settled func(telemetry.Outcome, error))

// WorkConfig bounds the consumption of batches. Start from DefaultWorkConfig.
type WorkConfig struct {
	// Limits of one batch.
	Limits telemetry.CheckLimits
	// MaxPending is how many batches of a queue may be without an outcome at a time. Half
	// as many may wait after OutcomeQueueBusy; more are refused, because a queue that gets
	// nothing done would fill the stream.
	MaxPending int
	// MaxBytes bounds the memory of the batches of all queues that are without an outcome.
	// One queue has at most as much of it as is left besides, and each may have one batch.
	MaxBytes int64
	// AckWait is how long the server waits for a sign of life of a batch
	// before it delivers it again. A sign goes out every third of it. At least 1 s.
	AckWait time.Duration
	// MaxExecution is how long signs of life go out for one batch. After it
	// another worker process may get the batch.
	MaxExecution time.Duration
	// MaxDeliveries is how often a batch is delivered before it is given up: its
	// done record says so, and it is refused. That stops one that ends every
	// process that touches it. A process that ends counts, and so does each
	// OutcomeRetry, but not OutcomeBusy. 0 sets no bound.
	MaxDeliveries uint64
	// GaveUp sends the done record of a batch that is given up, or refused because too
	// many of its queue wait, and tells whether the server has it. Nil: there is none.
	GaveUp func(worker, queue string, d *telemetry.Done, sent func(error))
	// SetAside keeps a batch that is given up, before its done record goes out, and tells whether
	// it is kept: until then it is not acknowledged. Nil: it is not kept.
	SetAside func(b *GivenUp, kept func(error))
	// Finished, if set, is told of each batch that was executed and acknowledged how long ago the stream had stored
	// it, by the clocks of the server and of this host. It must be quick.
	Finished func(sinceStored time.Duration)
	// RetryMin is the delay of the second delivery after OutcomeRetry, and of the
	// second attempt after OutcomeBusy. It doubles with each further one up to
	// RetryMax, which is also the longest wait of a suspect.
	RetryMin, RetryMax time.Duration
	// Crowded is told of a batch that is refused because too many of its queue wait. It must not block. Nil: nobody is told.
	Crowded func(worker, queue, batch string, why error)
	// Share is how batches are taken that other workers may take too. Nil: whatever comes is.
	Share *Share
}

// GivenUp is a batch that was delivered too often without an outcome.
type GivenUp struct {
	Worker, Queue, Batch string // the worker, or the pool as telemetry.Pool has it
	Slots                int
	Deliveries           uint64
	Sequence             uint64 // in the stream of batches
	Data                 []byte // the record as it came
}

// DefaultWorkConfig returns bounds for one GPU.
func DefaultWorkConfig() WorkConfig {
	return WorkConfig{
		Limits:        telemetry.DefaultWorkLimits,
		MaxPending:    256,
		MaxBytes:      256 << 20,
		AckWait:       10 * time.Second, // a batch of a process that crashed comes again within 12 s
		MaxExecution:  10 * time.Minute,
		MaxDeliveries: 20,
		RetryMin:      100 * time.Millisecond,
		RetryMax:      10 * time.Second,
	}
}

// Validate reports every problem of the configuration.
func (c *WorkConfig) Validate() error {
	var errs []error
	demand := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("work: "+format, args...))
		}
	}
	demand(c.Limits.MaxBytes > 0, "payload limit %d is not above 0", c.Limits.MaxBytes)
	demand(c.MaxPending > 0, "max pending %d is not above 0", c.MaxPending)
	demand(c.MaxBytes > 0, "max bytes %d is not above 0", c.MaxBytes)
	demand(c.AckWait >= time.Second, "ack wait %v is less than 1s", c.AckWait)
	demand(c.MaxExecution >= c.AckWait, "max execution %v is less than ack wait %v", c.MaxExecution, c.AckWait)
	demand(c.RetryMin > 0 && c.RetryMax >= c.RetryMin, "retry delays %v..%v are not a range above 0", c.RetryMin, c.RetryMax)
	demand(c.Share == nil || c.Share.Most > 0 && c.Share.Ahead != nil && c.Share.Expect != nil, "a pool's share lacks something")
	return errors.Join(errs...)
}

// suspects reports whether a batch was delivered so often without an outcome that it may be what ends whoever takes it,
// or a neighbour of such a one. Of 20 deliveries the last 14 are: a neighbour that has an even chance in each is set aside
// once in 16,384 times.
func (c *WorkConfig) suspects(delivered uint64) bool {
	return c.MaxDeliveries > 0 && delivered > 1+c.MaxDeliveries/4
}

// WorkStats counts what became of the batches since ConsumeWork.
type WorkStats struct {
	Delivered   uint64 `json:"delivered"`   // handed to the handler
	Done        uint64 `json:"done"`        // acknowledged after execution
	Duplicates  uint64 `json:"duplicates"`  // acknowledged because they had been executed before
	Refused     uint64 `json:"refused"`     // terminated by the checks or the handler
	Retried     uint64 `json:"retried"`     // given back
	Busy        uint64 `json:"busy"`        // times one was kept to be handed over again
	GivenUp     uint64 `json:"given_up"`    // part of Refused: delivered MaxDeliveries times without an outcome
	Crowded     uint64 `json:"crowded"`     // part of Refused: too many of the queue waited already
	Repeated    uint64 `json:"repeated"`    // delivered again while still in the handler's hands
	Redelivered uint64 `json:"redelivered"` // deliveries that were not the first of their batch
	AckErrors   uint64 `json:"ack_errors"`  // acknowledgements that could not be sent; the batch comes again
	Restarts    uint64 `json:"restarts"`    // times the consumption was set up anew
	Pending     int    `json:"pending"`     // in the handler's hands now, or on their way there
	Bytes       int64  `json:"bytes"`       // of memory that those take, about
	Stored      uint64 `json:"stored"`      // of the worker in the stream, those in hand among them: at the last look, less what was done since
}

// WorkConsumer feeds the batches of one worker, or of one pool, to a handler.
type WorkConsumer struct {
	conn    *Conn
	worker  string // or the pool
	cfg     WorkConfig
	handler WorkHandler

	cancel  context.CancelFunc // ends run
	stopped chan struct{}      // closed when no more batches come
	flowing sync.WaitGroup     // flows
	beating chan struct{}      // closed to end the signs of life
	once    sync.Once          // of closing beating
	ready   chan struct{}      // closed when batches can come for the first time
	isReady sync.Once
	told    chan struct{} // has something when a queue is said to have batches

	mu       sync.Mutex
	draining bool
	pending  map[uint64]*batch     // by stream sequence
	returned []*batch              // to give back once no more come
	flows    map[string]*queueFlow // by queue
	idle     chan struct{}         // closed when pending is empty while draining

	room  room
	order ackorder.Order

	stored                                    atomic.Pointer[map[string]uint64] // batches in the stream by queue, at the last look
	doneAtLook                                atomic.Uint64                     // of done, then
	received                                  atomic.Bool                       // a message came: there are acknowledgements
	delivered, done, duplicates               atomic.Uint64
	refused, retried, repeated, acks, restart atomic.Uint64
	busy, givenUp, crowded, redelivered       atomic.Uint64
}

// ConsumeWork feeds the batches of a worker, or of what telemetry.Pool makes of a pool's name, to handler until
// ctx ends or Drain is called, which has to be called in any case. It returns at once; without a
// connection or JetStream it goes on trying, as it does whenever something
// breaks. Several processes may consume for one worker; a batch goes to one.
func (c *Conn) ConsumeWork(ctx context.Context, worker string, cfg WorkConfig, handler WorkHandler) (*WorkConsumer, error) {
	if !telemetry.ValidTaker(worker) {
		return nil, fmt.Errorf("%w: worker %q", ErrBadName, worker)
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if _, pool := telemetry.PoolOf(worker); pool != (cfg.Share != nil) {
		return nil, fmt.Errorf("work of %s: a pool's is shared, a worker's is not", worker)
	}
	w := &WorkConsumer{
		conn: c, worker: worker, cfg: cfg, handler: handler,
		stopped: make(chan struct{}), beating: make(chan struct{}),
		ready: make(chan struct{}), idle: make(chan struct{}),
		pending: make(map[uint64]*batch), flows: make(map[string]*queueFlow),
		room: newRoom(cfg.MaxBytes), told: make(chan struct{}, 1),
	}
	queued, err := w.listen()
	if err != nil {
		return nil, err
	}
	ctx, w.cancel = context.WithCancel(ctx)
	go w.run(ctx, queued)
	go w.beat()
	return w, nil
}

// Ready is closed when queues that have work are heard of for the first time.
func (w *WorkConsumer) Ready() <-chan struct{} { return w.ready }

// finish ends a consumption. What has arrived still goes through deliver, which gives it back
// while draining, and what is being read is handed over. That needs a server: without one nothing
// is waited for, and what the client still delivers is given back in vain.
func (w *WorkConsumer) finish(flow jetstream.ConsumeContext, closed <-chan struct{}, r *reading) {
	gone := w.conn.nc.StatusChanged(nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED)
	defer w.conn.nc.RemoveStatusListener(gone)
	if !w.conn.nc.IsConnected() {
		flow.Stop()
		return
	}
	flow.Drain()
	select {
	case <-closed:
		<-r.turn // of the last batch
	case <-gone:
	}
}

// Drain takes no more batches, gives back those that no handler has seen,
// waits for the outcome of the others, and returns when the server has their
// acknowledgements. If ctx ends first the rest is delivered again later, to
// whoever consumes then. So are those whose acknowledgements are not known to
// be with the server, because it is away: Drain does not wait for its return.
func (w *WorkConsumer) Drain(ctx context.Context) error {
	defer w.once.Do(func() { close(w.beating) })
	w.releaseHeld()
	w.room.open()
	w.cancel()
	for _, ch := range []<-chan struct{}{w.stopped, w.idle} {
		select {
		case <-ch:
			w.giveBack(ctx)
		case <-ctx.Done():
			return fmt.Errorf("drain work of %s: %d batches without an outcome: %w", w.worker, w.Stats().Pending, ctx.Err())
		}
	}
	if !w.received.Load() {
		return nil // a server that was never reached is no reason to fail
	}
	if err := w.conn.Flush(ctx); err != nil {
		return fmt.Errorf("drain work of %s: acknowledgements: %w", w.worker, err)
	}
	return nil
}

// giveUp ends a batch that was delivered too often, once it is set aside.
func (w *WorkConsumer) giveUp(b *batch, deliveries uint64, work *telemetry.Work, sentNs int64) {
	drop := func(kept error) {
		if kept != nil {
			w.settle(b, 0, telemetry.OutcomeRetry, fmt.Errorf("batch %q cannot be set aside: %w", work.Batch, kept))
			return
		}
		w.drop(b, 0, &w.givenUp, ReasonExhausted, fmt.Errorf("batch %q was delivered %d times without an outcome", work.Batch, deliveries),
			&telemetry.Done{
				Batch: work.Batch, Dropped: uint32(work.Count()), WorkSentNs: sentNs,
				Error: fmt.Sprintf("given up after %d deliveries", deliveries),
			})
	}
	if w.cfg.SetAside == nil {
		drop(nil)
		return
	}
	w.cfg.SetAside(&GivenUp{
		Worker: b.worker, Queue: b.queue, Batch: work.Batch, Slots: work.Count(), Deliveries: deliveries, Sequence: b.sequence, Data: b.msg.Data(),
	}, drop)
}

// closeIfIdle is called with mu held.
func (w *WorkConsumer) closeIfIdle() {
	if !w.draining || len(w.pending) > 0 {
		return
	}
	select {
	case <-w.idle:
	default:
		close(w.idle)
	}
}

// Stats returns what has become of the batches so far.
func (w *WorkConsumer) Stats() WorkStats {
	w.mu.Lock()
	pending := len(w.pending)
	w.mu.Unlock()
	stored := uint64(0)
	for _, n := range w.Stored() {
		stored += n
	}
	stored -= min(w.done.Load()-w.doneAtLook.Load(), stored)
	return WorkStats{
		Delivered: w.delivered.Load(), Done: w.done.Load(), Duplicates: w.duplicates.Load(),
		Refused: w.refused.Load(), Retried: w.retried.Load(), Repeated: w.repeated.Load(),
		Busy: w.busy.Load(), GivenUp: w.givenUp.Load(), Crowded: w.crowded.Load(), Redelivered: w.redelivered.Load(),
		AckErrors: w.acks.Load(), Restarts: w.restart.Load(), Pending: pending, Bytes: w.room.inUse(), Stored: stored,
	}
}

// Stored is how many batches of each queue the stream has, those in hand among them, as it said when it was looked
// at last. The map is not to be changed.
func (w *WorkConsumer) Stored() map[string]uint64 {
	if stored := w.stored.Load(); stored != nil {
		return *stored
	}
	return nil
}

// room is the memory of batches that are without an outcome. With its newest batch a queue has
// at most what was left before it, so n queues that get nothing done leave a part in n+1 to
// others. A queue that has nothing may always have one batch.
type room struct {
	mu      sync.Mutex
	limit   int64
	used    int64
	of      map[string]int64 // by queue
	waiting []*visitor       // oldest first, at most one of a queue
	ending  bool             // everybody may enter
}

func newRoom(limit int64) room { return room{limit: limit, of: make(map[string]int64)} }

// visitor waits for room.
type visitor struct {
	queue string
	bytes int64
	in    chan struct{} // closed when there is room
}

// enter waits until a queue may have n more bytes, and takes them.
func (r *room) enter(queue string, n int64) {
	r.mu.Lock()
	if r.take(queue, n) {
		r.mu.Unlock()
		return
	}
	v := &visitor{queue, n, make(chan struct{})}
	r.waiting = append(r.waiting, v)
	r.mu.Unlock()
	<-v.in
}

// take takes bytes for a queue that may have them. Called with mu held.
func (r *room) take(queue string, n int64) bool {
	own := r.of[queue]
	if own > 0 && own+n > r.limit-r.used && !r.ending {
		return false
	}
	r.of[queue] = own + n
	r.used += n
	return true
}

// leave gives bytes back that a queue has taken.
func (r *room) leave(queue string, n int64) {
	if n == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= n
	if r.of[queue] -= n; r.of[queue] == 0 {
		delete(r.of, queue)
	}
	r.admit()
}

// open lets everybody in from now on.
func (r *room) open() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ending = true
	r.admit()
}

// admit lets those in for whom there is room now. Called with mu held.
func (r *room) admit() {
	r.waiting = slices.DeleteFunc(r.waiting, func(v *visitor) bool {
		ok := r.take(v.queue, v.bytes)
		if ok {
			close(v.in)
		}
		return ok
	})
}

func (r *room) inUse() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used
}

// memoryOf is what a batch takes until its outcome, about: its message, which runs lie in, its
// listed slots, and 8 bytes for each slot, for its order and its result.
func memoryOf(message int, w *telemetry.Work) int64 {
	const fixed, listed, each = 1 << 10, 64, 8
	return int64(fixed + message + listed*len(w.Slots) + each*w.Count())
}
