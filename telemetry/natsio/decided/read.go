package decided

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// maxPolicies bounds the configurations that a reader keeps.
const maxPolicies = 1000

// Message is a message of the stream.
type Message struct {
	Worker, Queue string
	Sequence      uint64
	At            time.Time         // when the server stored it
	Stored        *telemetry.Stored // nil if it cannot be read
	Err           error             // then wraps ErrBadMessage
}

// ReadQueue is Read for one queue.
func ReadQueue(ctx context.Context, conn *natsio.Conn, worker, queue string, visit func(m Message) error) error {
	if err := natsio.CheckNames(worker, queue); err != nil {
		return err
	}
	return readDecisions(ctx, conn, conn.Subjects().Decided(worker, queue), visit)
}

// Read hands every decision that the stream holds now to visit, oldest first, and returns after the last one,
// or with visit's error. The error wraps natsio.ErrNoDecisions if there is no stream.
func Read(ctx context.Context, conn *natsio.Conn, visit func(m Message) error) error {
	return readDecisions(ctx, conn, conn.Subjects().Root()+".decided.>", visit)
}

func readDecisions(ctx context.Context, conn *natsio.Conn, filter string, visit func(m Message) error) error {
	subjects := conn.Subjects()
	return read(ctx, conn, filter, jetstream.DeliverAllPolicy, func(subject string, sequence uint64, at time.Time, data []byte) error {
		m := Message{Sequence: sequence, At: at}
		m.Worker, m.Queue, m.Stored, m.Err = parse(subjects, subject, sequence, data)
		return visit(m)
	})
}

// Removed says whether the bounds of the stream have removed a queue's decisions up to a sequence by now: they remove the
// oldest first, so none that old is left.
func Removed(ctx context.Context, conn *natsio.Conn, worker, queue string, sequence uint64) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, lookup)
	defer cancel()
	name := StreamName(conn.Subjects())
	stream, err := conn.JetStream().Stream(ctx, name)
	if err != nil {
		return false, fmt.Errorf("look up stream %s: %w", name, err)
	}
	oldest, err := stream.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(conn.Subjects().Decided(worker, queue)))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("read the oldest decision of %s.%s: %w", worker, queue, err)
	}
	return oldest.Sequence > sequence, nil
}

// Policies returns the texts of the policies' configurations in the stream, by their names. Whoever may store
// decisions may store texts, so what a text says has to be compared with its name. The error is as Read's.
func Policies(ctx context.Context, conn *natsio.Conn) (map[string][]byte, error) {
	texts := make(map[string][]byte)
	prefix := conn.Subjects().Policy("")
	err := read(ctx, conn, conn.Subjects().Policy("*"), jetstream.DeliverLastPerSubjectPolicy, func(subject string, _ uint64, _ time.Time, data []byte) error {
		if len(texts) < maxPolicies {
			texts[strings.TrimPrefix(subject, prefix)] = data
		}
		return nil
	})
	return texts, err
}

// openReader makes the consumer of a reading. A cluster whose leaders have just changed may leave a request without
// an answer, so it asks again until ctx ends.
func openReader(ctx context.Context, conn *natsio.Conn, name string, cfg jetstream.OrderedConsumerConfig) (consumer jetstream.Consumer, err error) {
	for {
		one, cancel := context.WithTimeout(ctx, lookup)
		consumer, err = conn.JetStream().OrderedConsumer(one, name, cfg)
		cancel()
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return consumer, err
		}
	}
}

// read visits the messages of a filter that there are now.
func read(ctx context.Context, conn *natsio.Conn, filter string, from jetstream.DeliverPolicy,
	visit func(subject string, sequence uint64, at time.Time, data []byte) error) error {
	name := StreamName(conn.Subjects())
	consumer, err := openReader(ctx, conn, name, jetstream.OrderedConsumerConfig{FilterSubjects: []string{filter}, DeliverPolicy: from})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("%w: no stream %s", natsio.ErrNoDecisions, name)
	}
	if err != nil {
		return fmt.Errorf("read stream %s: %w", name, err)
	}
	return natsio.ReadPending(ctx, consumer, func(m jetstream.Msg, meta *jetstream.MsgMetadata) error {
		return visit(m.Subject(), meta.Sequence.Stream, meta.Timestamp, m.Data())
	})
}
