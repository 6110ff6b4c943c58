package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/trace"
)

// storePatience bounds one attempt to store a batch.
const storePatience = 3 * time.Second

// ownRetries leaves trying again to storeWork, which knows the caller's context.
var ownRetries = jetstream.WithRetryAttempts(0)

// PublishWork stores a batch in the work stream, for the queue of a worker, or for any worker of
// a pool if telemetry.Pool of its name stands in the worker's place, and returns when the server has it. What becomes of the batch is told by Outcomes.
//
// w names the batch, 1 to 64 bytes of [A-Za-z0-9_-], and has 1 to 65536 slots, those of its
// runs counted. h.Incarnation and h.Seq name the publisher and count its batches from 1, for
// logs; h.SentNs, Unix nanoseconds, comes back in the done record.
//
// Whatever fails on the way is tried again with the same id until ctx ends, on another server if
// one is known and the stream has not answered for 3 s. The stream drops an id that it has seen
// in the last two minutes, so that is harmless; duplicate says that it has had the batch from
// this incarnation. A batch that another program submitted under the same name does not run
// again: its done record comes a second time, with the work_sent_ns of the first.
//
// The error wraps natsio.ErrBadName or ErrTooLarge, for a batch that nobody would take;
// natsio.ErrNotPermitted; what the stream answered, for example natsio.ErrStreamFull; or ctx's
// error with the last one seen, which is natsio.ErrNoRuntime if there is no stream, and
// natsio.ErrQueueFull if natsio.MaxQueueBatches of the queue are stored and the worker does
// none: until then the call waits for room. After ctx's error the batch may have been stored.
func PublishWork(ctx context.Context, conn *natsio.Conn, worker, queue string, h telemetry.Header,
	w *telemetry.Work) (duplicate bool, err error) {
	m, err := workMessage(conn, worker, queue, h, w)
	if err != nil {
		return false, err
	}
	duplicate, err = storeWork(ctx, conn, m)
	if err == nil {
		tellQueued(conn, worker, queue)
	}
	return duplicate, err
}

// tellQueued has a worker look at once for a queue that it does not consume yet; by itself it
// looks every quarter of a second.
func tellQueued(conn *natsio.Conn, worker, queue string) {
	_ = conn.NATS().Publish(conn.Subjects().Queued(worker, queue), nil)
}

// workMessage encodes a batch. Its message id is what the stream knows it by. The stream
// compares ids of all queues, so the id names the queue; and with the incarnation in it
// nobody else can store something under the id first, which would keep the batch out.
func workMessage(conn *natsio.Conn, worker, queue string, h telemetry.Header, w *telemetry.Work) (*nats.Msg, error) {
	if err := natsio.CheckTaker(worker, queue); err != nil {
		return nil, err
	}
	if !telemetry.ValidToken(w.Batch) {
		return nil, natsio.BadName("batch", w.Batch)
	}
	if err := w.Validate(); err != nil {
		return nil, fmt.Errorf("%w: batch %q: %w", natsio.ErrTooLarge, w.Batch, err)
	}
	if _, pool := telemetry.PoolOf(worker); pool && w.Epoch != 0 {
		return nil, fmt.Errorf("%w: batch %q names the epoch of a window, and a pool's batch runs on any worker: send it to the worker that has the data", natsio.ErrBadName, w.Batch)
	}
	m := nats.NewMsg(conn.Subjects().Work(worker, queue))
	m.Header.Set(jetstream.MsgIDHeader, fmt.Sprintf("%s.%s.%s.%x", worker, queue, w.Batch, h.Incarnation))
	if traceparent := conn.Traceparent(); traceparent != "" {
		m.Header.Set(trace.Header, traceparent)
	}
	m.Data = telemetry.Append(nil, telemetry.EncodingArray, h, w) // the shorter one
	if limit := telemetry.DefaultWorkLimits.MaxBytes; len(m.Data) > limit {
		return nil, fmt.Errorf("%w: batch %q takes %d bytes, at most %d", natsio.ErrTooLarge, w.Batch, len(m.Data), limit)
	}
	return m, nil
}

// errSilentStream says that a stream takes batches and confirms none.
var errSilentStream = errors.New("the stream of batches does not answer; the log of its server says why, for example that its disk is full")

// storeWork publishes until the stream answers.
func storeWork(ctx context.Context, conn *natsio.Conn, m *nats.Msg) (duplicate bool, err error) {
	var last error // of an attempt that ctx did not cut short
	for attempt := 1; ; attempt++ {
		ack, err := tryStore(ctx, conn, m)
		if err == nil {
			return ack.Duplicate, nil
		}
		if finalAnswer(conn, err) {
			return false, fmt.Errorf("publish work: %w", err)
		}
		switch {
		case errors.Is(err, jetstream.ErrNoStreamResponse):
			err = fmt.Errorf("%w: no stream of batches", natsio.ErrNoRuntime)
		case errors.Is(err, context.DeadlineExceeded):
			err = errSilentStream
			if ctx.Err() == nil {
				conn.Elsewhere()
			}
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		if !conn.Pause(ctx, attempt) {
			return false, fmt.Errorf("publish work: %w (%w)", last, ctx.Err())
		}
	}
}

func tryStore(ctx context.Context, conn *natsio.Conn, m *nats.Msg) (*jetstream.PubAck, error) {
	if !conn.NATS().IsConnected() {
		return nil, natsio.ErrDisconnected
	}
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	ctx, forget := conn.Needs(ctx, m.Subject)
	defer forget()
	ack, err := conn.JetStream().PublishMsg(ctx, m, ownRetries)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, natsio.ErrNotPermitted) {
		return nil, cause
	}
	return ack, inWords(err)
}

// errNotStored is the server's code for a message that a bound or a fault of the stream keeps out.
const errNotStored jetstream.ErrorCode = 10077

// errInProcess is a cluster's code for a message whose id it has seen and not yet stored: the same
// message came before, and its answer was lost. What became of that one is known a moment later.
const errInProcess jetstream.ErrorCode = 10158

// inWords names the bound of the stream that refuses a batch.
func inWords(err error) error {
	var api *jetstream.APIError
	if !errors.As(err, &api) || api.ErrorCode != errNotStored {
		return err
	}
	switch api.Description {
	case "maximum messages per subject exceeded":
		return fmt.Errorf("%w: %w", natsio.ErrQueueFull, err)
	case "maximum bytes exceeded":
		return fmt.Errorf("%w: %w", natsio.ErrStreamFull, err)
	}
	return err // for example of its disk
}

// finalAnswer reports whether another attempt would fail the same way.
func finalAnswer(conn *natsio.Conn, err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.Code < 500 && api.ErrorCode != errInProcess || errors.Is(err, natsio.ErrStreamFull)
	}
	closed := errors.Is(err, nats.ErrConnectionClosed) && conn.NATS().IsClosed() // else it goes to another server
	return errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, natsio.ErrNotPermitted) || closed
}

// WorkPublisher stores batches without waiting for each.
type WorkPublisher struct {
	conn   *natsio.Conn
	credit chan struct{}

	mu   sync.Mutex
	told map[string]time.Time // when a batch was told of, by subject
}

// tellAgain is how often a worker is told of batches for one queue: while they come, it
// consumes the queue for much longer.
const tellAgain = time.Second

// maxTold bounds the queues that a publisher knows to have been told of.
const maxTold = 1024

// tell tells a worker that a batch is stored, unless it knows the queue by now.
func (p *WorkPublisher) tell(worker, queue string) {
	subject := p.conn.Subjects().Queued(worker, queue)
	p.mu.Lock()
	known := time.Since(p.told[subject]) < tellAgain
	if !known {
		if len(p.told) == maxTold {
			clear(p.told) // they are told again, which costs a message each
		}
		p.told[subject] = time.Now()
	}
	p.mu.Unlock()
	if !known {
		tellQueued(p.conn, worker, queue)
	}
}

// NewWorkPublisher returns a publisher with at most maxPending batches under way.
func NewWorkPublisher(conn *natsio.Conn, maxPending int) *WorkPublisher {
	return &WorkPublisher{conn: conn, credit: make(chan struct{}, max(1, maxPending)), told: make(map[string]time.Time)}
}

// Publish sends a batch and returns; stored is called once, from another
// goroutine, with what PublishWork would have returned. It blocks while
// maxPending batches are under way. An error means that stored is not called.
// Batches are sent in the order of the calls; one that has to be tried again
// may be overtaken.
func (p *WorkPublisher) Publish(ctx context.Context, worker, queue string, h telemetry.Header,
	w *telemetry.Work, stored func(duplicate bool, err error)) error {
	m, err := workMessage(p.conn, worker, queue, h, w)
	if err != nil {
		return err
	}
	if ctx.Err() != nil { // else the select below might choose the free credit
		return fmt.Errorf("publish work: %w", ctx.Err())
	}
	select {
	case p.credit <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("publish work: %w", ctx.Err())
	}
	ctx, forget := p.conn.Needs(ctx, m.Subject)
	var future jetstream.PubAckFuture
	if p.conn.NATS().IsConnected() {
		future, _ = p.conn.JetStream().PublishMsgAsync(m, ownRetries) // an error leaves it nil: tried again below
	}
	go func() {
		defer forget()
		duplicate, err := p.await(ctx, m, future)
		if err == nil {
			p.tell(worker, queue)
		}
		<-p.credit
		stored(duplicate, err)
	}()
	return nil
}

// await waits for the first answer and goes on trying if it is not final.
func (p *WorkPublisher) await(ctx context.Context, m *nats.Msg, first jetstream.PubAckFuture) (bool, error) {
	if first != nil {
		select {
		case ack := <-first.Ok():
			return ack.Duplicate, nil
		case err := <-first.Err():
			switch err = inWords(err); {
			case errors.Is(err, jetstream.ErrAsyncPublishTimeout):
				p.conn.Elsewhere()
			case finalAnswer(p.conn, err):
				return false, fmt.Errorf("publish work: %w", err)
			}
		case <-ctx.Done():
		}
	}
	return storeWork(ctx, p.conn, m)
}
