package natsio

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
)

const (
	// dedupWindow is how long the stream remembers batch ids.
	dedupWindow = 2 * time.Minute
	// maxWorkBytes is the largest message that the stream takes.
	maxWorkBytes = 1 << 20
	// apiTimeout bounds one request to the JetStream API.
	apiTimeout = 3 * time.Second
)

// workStreamName derives the stream's name from the subject prefix, since
// stream names hold no dots. Version 1 is not part of the name, so that the
// default prefix gives RINGMASTER_WORK.
func workStreamName(prefix string) string {
	name := strings.TrimSuffix(prefix, ".v1")
	return strings.ToUpper(strings.ReplaceAll(name, ".", "_")) + "_WORK"
}

// WorkStream returns the name of the stream of batches.
func (c *Conn) WorkStream() string { return workStreamName(c.prefix()) }

// workStream is the configuration of the stream. What it leaves out is off:
// message headers can neither replace, schedule, expire nor count anything.
func (c *Conn) workStream() jetstream.StreamConfig {
	storage := jetstream.FileStorage
	if c.cfg.WorkStream.Memory {
		storage = jetstream.MemoryStorage
	}
	return jetstream.StreamConfig{
		Name:        c.WorkStream(),
		Description: "batches of slots, removed when their done record is out",
		Subjects:    []string{c.prefix() + ".work.>"},
		Retention:   jetstream.WorkQueuePolicy,
		Discard:     jetstream.DiscardNew, // refuse the publisher rather than lose what was accepted
		Storage:     storage,
		Replicas:    c.cfg.WorkStream.Replicas,
		MaxBytes:    c.cfg.WorkStream.MaxBytes,
		MaxMsgSize:  maxWorkBytes,
		Duplicates:  dedupWindow,
		DenyDelete:  true,
	}
}

// EnsureWorkStream creates the stream of batches unless it exists. While there
// is no connection or no JetStream it tries again until ctx ends, whose error
// then comes with the last one seen. It wraps ErrStreamConflict, and gives up
// at once, if a stream of this name serves another purpose.
func (c *Conn) EnsureWorkStream(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		err := c.ensureWorkStream(ctx)
		if err == nil || errors.Is(err, ErrStreamConflict) {
			return err
		}
		if !pause(ctx, backoff(c.cfg.ReconnectMin, c.cfg.ReconnectMax, attempt)) {
			return fmt.Errorf("%w (%w)", err, ctx.Err())
		}
	}
}

func (c *Conn) ensureWorkStream(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	return c.ensureStream(ctx, c.workStream())
}

// ensureStream creates a stream unless it exists. The error wraps
// ErrStreamConflict if a stream of this name serves another purpose.
func (c *Conn) ensureStream(ctx context.Context, want jetstream.StreamConfig) error {
	_, err := c.js.CreateStream(ctx, want)
	if err == nil {
		return nil
	}
	if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return fmt.Errorf("create stream %s: %w", want.Name, err)
	}
	stream, err := c.js.Stream(ctx, want.Name)
	if err != nil {
		return fmt.Errorf("look up stream %s: %w", want.Name, err)
	}
	have := stream.CachedInfo().Config
	if have.Retention != want.Retention || len(have.Subjects) != 1 || have.Subjects[0] != want.Subjects[0] {
		return fmt.Errorf("%w: %s is a %v stream over %v, want a %v stream over %v",
			ErrStreamConflict, want.Name, have.Retention, have.Subjects, want.Retention, want.Subjects)
	}
	return nil
}

// pause waits and reports whether ctx allowed it.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// PublishTelemetry sends records to the runtime. queue may be
// telemetry.BatchQueue if every record names its own. While the connection is
// away it fails with ErrDisconnected: telemetry is news, and the next record
// replaces it.
func (c *Conn) PublishTelemetry(worker, queue string, payload []byte) error {
	if err := CheckNames(worker, queue); err != nil {
		return err
	}
	return c.publishRecords(c.cfg.Subjects.Telemetry(worker, queue), payload)
}

// PublishAnnouncement sends the encoded device limits of a worker to the
// runtime, under the rules of PublishTelemetry. Records on two subjects may be
// taken in either order; queues that waited for the limits are decided again
// when they come.
func (c *Conn) PublishAnnouncement(worker string, payload []byte) error {
	if !telemetry.ValidToken(worker) {
		return fmt.Errorf("%w: worker %q", ErrBadName, worker)
	}
	return c.publishRecords(c.cfg.Subjects.Worker(worker), payload)
}

func (c *Conn) publishRecords(subject string, payload []byte) error {
	if limit := telemetry.DefaultTelemetryLimits.MaxBytes; len(payload) > limit {
		return fmt.Errorf("%w: %d bytes of records, at most %d", ErrTooLarge, len(payload), limit)
	}
	return c.publish(subject, payload)
}

// PublishWork stores a batch in the work stream and returns when the server
// has it. Whatever fails on the way is tried again with the same id until ctx
// ends, which the stream makes harmless; duplicate tells that it knew the id.
// The error wraps ErrBadName, ErrTooLarge, what the stream answered, or ctx's
// error with the last one seen, which is ErrNoRuntime if there is no stream.
func (c *Conn) PublishWork(ctx context.Context, worker, queue string, h telemetry.Header,
	w *telemetry.Work, form telemetry.Form) (duplicate bool, err error) {
	m, err := c.workMessage(worker, queue, h, w, form)
	if err != nil {
		return false, err
	}
	return c.storeWork(ctx, m)
}

// workMessage encodes a batch. Its message id is what the stream knows it by.
func (c *Conn) workMessage(worker, queue string, h telemetry.Header, w *telemetry.Work, form telemetry.Form) (*nats.Msg, error) {
	if err := CheckNames(worker, queue); err != nil {
		return nil, err
	}
	if queue == telemetry.BatchQueue {
		return nil, fmt.Errorf("%w: queue %q is reserved", ErrBadName, queue)
	}
	if !telemetry.ValidToken(w.Batch) {
		return nil, fmt.Errorf("%w: batch %q", ErrBadName, w.Batch)
	}
	if n := len(w.Slots); n == 0 || n > telemetry.MaxBatchSlots {
		return nil, fmt.Errorf("%w: %d slots in a batch, want 1..%d", ErrTooLarge, n, telemetry.MaxBatchSlots)
	}
	m := nats.NewMsg(c.cfg.Subjects.Work(worker, queue))
	m.Header.Set(jetstream.MsgIDHeader, worker+"."+queue+"."+w.Batch)
	m.Data = telemetry.AppendWork(nil, form, &h, w)
	return m, nil
}

// errSilentStream says that a stream takes batches and confirms none.
var errSilentStream = errors.New("the stream of batches does not answer; the log of its server says why, for example that its disk is full")

// storeWork publishes until the stream answers.
func (c *Conn) storeWork(ctx context.Context, m *nats.Msg) (duplicate bool, err error) {
	var last error // of an attempt that ctx did not cut short
	for attempt := 1; ; attempt++ {
		ack, err := c.tryStore(ctx, m)
		if err == nil {
			return ack.Duplicate, nil
		}
		if finalAnswer(err) {
			return false, fmt.Errorf("publish work: %w", err)
		}
		switch {
		case errors.Is(err, jetstream.ErrNoStreamResponse):
			err = fmt.Errorf("%w: no stream of batches", ErrNoRuntime)
		case errors.Is(err, context.DeadlineExceeded):
			err = errSilentStream
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		if !pause(ctx, backoff(c.cfg.ReconnectMin, c.cfg.ReconnectMax, attempt)) {
			return false, fmt.Errorf("publish work: %w (%w)", last, ctx.Err())
		}
	}
}

func (c *Conn) tryStore(ctx context.Context, m *nats.Msg) (*jetstream.PubAck, error) {
	if !c.nc.IsConnected() {
		return nil, ErrDisconnected
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	return c.js.PublishMsg(ctx, m, ownRetries)
}

// ownRetries leaves trying again to storeWork, which knows the caller's context.
var ownRetries = jetstream.WithRetryAttempts(0)

// finalAnswer reports whether another attempt would fail the same way.
func finalAnswer(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.Code < 500 || api.ErrorCode == errStreamFull
	}
	return errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, nats.ErrConnectionClosed)
}

// errStreamFull is the server's code for a stream above its byte bound.
const errStreamFull jetstream.ErrorCode = 10077

// WorkPublisher stores batches without waiting for each.
type WorkPublisher struct {
	conn   *Conn
	credit chan struct{}
}

// NewWorkPublisher returns a publisher with at most maxPending batches under way.
func (c *Conn) NewWorkPublisher(maxPending int) *WorkPublisher {
	return &WorkPublisher{conn: c, credit: make(chan struct{}, max(1, maxPending))}
}

// Publish sends a batch and returns; stored is called once, from another
// goroutine, with what PublishWork would have returned. It blocks while
// maxPending batches are under way. An error means that stored is not called.
// Batches are sent in the order of the calls; one that has to be tried again
// may be overtaken.
func (p *WorkPublisher) Publish(ctx context.Context, worker, queue string, h telemetry.Header,
	w *telemetry.Work, form telemetry.Form, stored func(duplicate bool, err error)) error {
	m, err := p.conn.workMessage(worker, queue, h, w, form)
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
	var future jetstream.PubAckFuture
	if p.conn.nc.IsConnected() {
		future, _ = p.conn.js.PublishMsgAsync(m, ownRetries) // an error leaves it nil: tried again below
	}
	go func() {
		duplicate, err := p.await(ctx, m, future)
		<-p.credit
		stored(duplicate, err)
	}()
	return nil
}

// await waits for the first answer and goes on trying if it is not final.
func (p *WorkPublisher) await(ctx context.Context, m *nats.Msg, first jetstream.PubAckFuture) (bool, error) {
	if first != nil {
		patience := time.NewTimer(apiTimeout)
		defer patience.Stop()
		select {
		case ack := <-first.Ok():
			return ack.Duplicate, nil
		case err := <-first.Err():
			if finalAnswer(err) {
				return false, fmt.Errorf("publish work: %w", err)
			}
		case <-patience.C:
		case <-ctx.Done():
		}
	}
	return p.conn.storeWork(ctx, m)
}
