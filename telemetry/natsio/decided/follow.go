package decided

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/complaint"
	"ringmaster/telemetry/natsio"
)

const (
	// beat is how often the server says that nothing has come; after two of them that are missing the
	// follower begins again. A request for messages lasts for pullTime.
	beat     = time.Second
	pullTime = 10 * time.Second
	// consumerLife is how long the server keeps a consumer that nobody reads.
	consumerLife = 30 * time.Second
	// removal bounds how long Close waits until the server has removed the consumer.
	removal = time.Second
)

var errGap = errors.New("messages are missing")

// Follower hears every decision that is stored, whoever stores it: first the newest of each queue, then each as
// it is stored. It reads the stream itself, because only who may write decisions can put something there; on
// the subject that decisions go out on, others may publish. After a new connection, a gap or the loss of the
// stream it begins again with the newest of each queue, so what is heard may be heard twice.
type Follower struct {
	conn       *natsio.Conn
	filter     string
	heard      func(worker, queue string, m *telemetry.Stored)
	complaints *complaint.Log

	caught chan struct{} // closed when it has caught up
	once   sync.Once
	quit   context.CancelFunc
	ended  sync.WaitGroup
}

// Follow begins to hear the decisions for a worker's queues, "*" for all workers'. It works without a
// connection or a stream too, and begins when there is one. heard owns what it is given; calls come from one
// goroutine.
func Follow(conn *natsio.Conn, worker string, log *slog.Logger, heard func(worker, queue string, m *telemetry.Stored)) (*Follower, error) {
	if worker != "*" && !telemetry.ValidToken(worker) {
		return nil, fmt.Errorf("%w: %q is neither a worker nor *", natsio.ErrBadName, worker)
	}
	ctx, quit := context.WithCancel(context.Background())
	f := &Follower{
		conn: conn, filter: conn.Subjects().Decided(worker, ">"), heard: heard, complaints: complaint.New(log),
		caught: make(chan struct{}), quit: quit,
	}
	if worker == "*" {
		f.filter = conn.Subjects().Root() + ".decided.>"
	}
	f.ended.Go(func() { f.run(ctx) })
	return f, nil
}

// CaughtUp is closed once the newest decision of every queue was heard that there was when the follower began.
func (f *Follower) CaughtUp() <-chan struct{} { return f.caught }

// Close ends the follower, and returns when heard is not called any more.
func (f *Follower) Close() {
	f.quit()
	f.ended.Wait()
}

func (f *Follower) run(ctx context.Context) {
	connected := f.conn.NATS().StatusChanged(nats.CONNECTED)
	defer f.conn.NATS().RemoveStatusListener(connected)
	pause := retryMin
	for ctx.Err() == nil {
		began := time.Now()
		err := f.follow(ctx, connected)
		if err != nil && ctx.Err() == nil && f.conn.NATS().IsConnected() && !errors.Is(err, jetstream.ErrStreamNotFound) {
			f.complaints.Say(slog.LevelInfo, "decisions of others are read again from the newest", "", "", "error", err)
		}
		if pause = min(2*pause, retryMax); time.Since(began) > retryMax {
			pause = retryMin
		}
		select {
		case <-ctx.Done():
		case <-f.conn.Closed():
			return
		case <-connected: // at once
		case <-time.After(pause):
		}
	}
}

// follow reads until the consumer or the connection is another one.
func (f *Follower) follow(ctx context.Context, connected <-chan nats.Status) error {
	consumer, err := f.consumer(ctx)
	if err != nil {
		return err
	}
	defer func() { // following again does not wait for it, Close does
		f.ended.Go(func() { f.remove(consumer.CachedInfo().Name) })
	}()
	pending := consumer.CachedInfo().NumPending
	f.catchUp(pending)
	messages, err := consumer.Messages(jetstream.PullExpiry(pullTime), jetstream.PullHeartbeat(beat))
	if err != nil {
		return err
	}
	session := f.conn.Session()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, messages.Stop) // which ends Next
	go func() {
		select {
		case <-connected:
			cancel()
		case <-ctx.Done():
		}
	}()
	for next := uint64(1); ; next++ {
		m, err := messages.Next()
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		if meta.Sequence.Consumer != next || f.conn.Session() != session {
			return errGap
		}
		f.take(m.Subject(), meta.Sequence.Stream, m.Data())
		if pending > 0 {
			pending--
			f.catchUp(pending)
		}
	}
}

func (f *Follower) consumer(ctx context.Context) (jetstream.Consumer, error) {
	if !f.conn.NATS().IsConnected() {
		return nil, natsio.ErrDisconnected
	}
	ctx, cancel := context.WithTimeout(ctx, lookup)
	defer cancel()
	return f.conn.JetStream().CreateConsumer(ctx, StreamName(f.conn.Subjects()), jetstream.ConsumerConfig{
		Description:       "a runtime that follows decisions",
		DeliverPolicy:     jetstream.DeliverLastPerSubjectPolicy,
		AckPolicy:         jetstream.AckNonePolicy,
		FilterSubject:     f.filter,
		InactiveThreshold: consumerLife,
		MemoryStorage:     true,
		Replicas:          1,
	})
}

// remove has the server forget a consumer that nobody reads any more; without an answer it does so by itself.
func (f *Follower) remove(consumer string) {
	if !f.conn.NATS().IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), removal)
	defer cancel()
	_ = f.conn.JetStream().DeleteConsumer(ctx, StreamName(f.conn.Subjects()), consumer) // else consumerLife ends it
}

func (f *Follower) catchUp(pending uint64) {
	if pending == 0 {
		f.once.Do(func() { close(f.caught) })
	}
}

func (f *Follower) take(subject string, sequence uint64, data []byte) {
	worker, queue, m, err := parse(f.conn.Subjects(), subject, sequence, data)
	if err != nil {
		f.complaints.Warn("a stored decision cannot be read", worker, queue, "error", err)
		return
	}
	f.heard(worker, queue, m)
}
