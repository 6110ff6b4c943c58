package poison

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// ErrNone says that the stream has no such batch.
var ErrNone = errors.New("no such batch is set aside")

// ErrNotKept says that a batch did not fit into a message of the stream: only that there was one is known.
var ErrNotKept = errors.New("the batch was too large to be kept; submit it again from where it came")

// Batch is a batch that was set aside. Its texts come from the bus.
type Batch struct {
	Sequence   uint64    `json:"sequence"` // names it
	Worker     string    `json:"worker"`
	Queue      string    `json:"queue"`
	Batch      string    `json:"batch"`
	Slots      int       `json:"slots"`
	Bytes      int       `json:"bytes"`
	Deliveries uint64    `json:"deliveries"`
	At         time.Time `json:"at"` // when it was set aside, by the server's clock
	Kept       bool      `json:"kept"`
	data       []byte
}

// Work decodes the batch.
func (b *Batch) Work() (*telemetry.Work, telemetry.Header, error) {
	if !b.Kept {
		return nil, telemetry.Header{}, ErrNotKept
	}
	if _, err := telemetry.Check(b.data, telemetry.DefaultWorkLimits); err != nil {
		return nil, telemetry.Header{}, err
	}
	var d telemetry.Decoder
	var r telemetry.Record
	d.Reset(b.data)
	switch err := d.Next(&r); {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, telemetry.Header{}, err
	case r.Kind != telemetry.KindWork:
		return nil, telemetry.Header{}, fmt.Errorf("%w: %v in place of a batch", natsio.ErrRequest, r.Kind)
	}
	return &r.Work, r.Header, nil
}

// List hands every batch of a queue to visit, oldest first; "*" stands for all workers or queues.
func List(ctx context.Context, conn *natsio.Conn, worker, queue string, visit func(*Batch) error) error {
	stream, err := open(ctx, conn)
	if errors.Is(err, ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{conn.Subjects().Poison(worker, queue)}})
	if err != nil {
		return fmt.Errorf("read stream %s: %w", StreamName(conn.Subjects()), err)
	}
	return natsio.ReadPending(ctx, consumer, func(m jetstream.Msg, meta *jetstream.MsgMetadata) error {
		if b, ok := parse(conn.Subjects(), m.Subject(), meta.Sequence.Stream, meta.Timestamp, m.Headers(), m.Data()); ok {
			return visit(b)
		}
		return nil
	})
}

// Get returns one batch. The error wraps ErrNone if it is not there.
func Get(ctx context.Context, conn *natsio.Conn, sequence uint64) (*Batch, error) {
	stream, err := open(ctx, conn)
	if err != nil {
		return nil, err
	}
	m, err := stream.GetMsg(ctx, sequence)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, fmt.Errorf("%w: number %d", ErrNone, sequence)
	}
	if err != nil {
		return nil, fmt.Errorf("read stream %s: %w", StreamName(conn.Subjects()), err)
	}
	b, ok := parse(conn.Subjects(), m.Subject, m.Sequence, m.Time, m.Header, m.Data)
	if !ok {
		return nil, fmt.Errorf("%w: number %d is on another subject", ErrNone, sequence)
	}
	return b, nil
}

// Again submits a batch once more under its own name, and removes it once the stream of batches
// has it.
func Again(ctx context.Context, conn *natsio.Conn, b *Batch) error {
	if _, _, err := b.Work(); err != nil {
		return err
	}
	m := nats.NewMsg(conn.Subjects().Work(b.Worker, b.Queue))
	m.Data = b.data
	// A command that is repeated after a lost answer submits it once.
	m.Header.Set(jetstream.MsgIDHeader, fmt.Sprintf("%s.%s.poison-%d", b.Worker, b.Queue, b.Sequence))
	if _, err := conn.JetStream().PublishMsg(ctx, m, jetstream.WithExpectStream(conn.WorkStream())); err != nil {
		return fmt.Errorf("submit batch %q again: %w", b.Batch, err)
	}
	_ = conn.NATS().Publish(conn.Subjects().Queued(b.Worker, b.Queue), nil) // the worker looks by itself, somewhat later
	return Remove(ctx, conn, b.Sequence)
}

// Remove removes one batch.
func Remove(ctx context.Context, conn *natsio.Conn, sequence uint64) error {
	stream, err := open(ctx, conn)
	if err != nil {
		return err
	}
	switch err := stream.DeleteMsg(ctx, sequence); {
	case errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful), errors.Is(err, jetstream.ErrMsgNotFound):
		return fmt.Errorf("%w: number %d", ErrNone, sequence)
	case err != nil:
		return fmt.Errorf("remove from stream %s: %w", StreamName(conn.Subjects()), err)
	}
	return nil
}

// Purge removes all batches of a queue; "*" stands for all workers or queues.
func Purge(ctx context.Context, conn *natsio.Conn, worker, queue string) error {
	stream, err := open(ctx, conn)
	if errors.Is(err, ErrNone) {
		return nil
	}
	if err == nil {
		err = stream.Purge(ctx, jetstream.WithPurgeSubject(conn.Subjects().Poison(worker, queue)))
	}
	if err != nil {
		return fmt.Errorf("purge stream %s: %w", StreamName(conn.Subjects()), err)
	}
	return nil
}

func open(ctx context.Context, conn *natsio.Conn) (jetstream.Stream, error) {
	stream, err := conn.JetStream().Stream(ctx, StreamName(conn.Subjects()))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("%w: nothing was ever set aside here", ErrNone)
	}
	if err != nil {
		return nil, fmt.Errorf("look up stream %s: %w", StreamName(conn.Subjects()), err)
	}
	return stream, nil
}

// parse reads a message, and reports whether it stands where a batch does.
func parse(s telemetry.Subjects, subject string, sequence uint64, at time.Time, h nats.Header, data []byte) (*Batch, bool) {
	names, ok := strings.CutPrefix(subject, s.Root()+".poison.")
	last := strings.LastIndexByte(names, '.') // a pool's name has a dot in it
	if !ok || last < 0 {
		return nil, false
	}
	worker, queue := names[:last], names[last+1:]
	if !telemetry.ValidTaker(worker) || !telemetry.ValidToken(queue) {
		return nil, false
	}
	b := &Batch{Sequence: sequence, Worker: worker, Queue: queue, Batch: h.Get(headerBatch), Bytes: len(data), At: at, Kept: h.Get(headerBytes) == "", data: data}
	b.Slots, _ = strconv.Atoi(h.Get(headerSlots)) // of who may write here; 0 says that it is not known
	b.Deliveries, _ = strconv.ParseUint(h.Get(headerDeliveries), 10, 64)
	if !b.Kept {
		b.Bytes, _ = strconv.Atoi(h.Get(headerBytes))
	}
	return b, true
}
