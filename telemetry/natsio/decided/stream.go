package decided

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// Errors that say why there is no stream.
var (
	// ErrNoJetStream says that the server or the account keeps no streams.
	ErrNoJetStream = errors.New("no JetStream")
	// ErrOldServer says that the server is too old to be relied on.
	ErrOldServer = errors.New("the server is too old")
	// ErrBadMessage says that a message of the stream is no decision of its queue.
	ErrBadMessage = errors.New("not a decision")
)

const (
	// maxMessage is the largest message: a recommendation with all that it may have for runtimes.
	maxMessage = 64 << 10
	// lookup bounds one request about the stream.
	lookup = 2 * time.Second
)

// Bounds are how much of the past is kept. What is zero is the usual in a stream that is made, and in one that
// exists stays as it is.
type Bounds struct {
	MaxBytes int64         // of the stream; at least 1 MiB
	PerQueue int64         // newest decisions of each queue
	MaxAge   time.Duration // of a decision
}

// usual is for a fleet whose queues take half of the bytes at 500 queues, and replays as far back as a week.
var usual = Bounds{MaxBytes: 1 << 30, PerQueue: 1000, MaxAge: 7 * 24 * time.Hour}

// minBytes and minAge have a decision stay for longer than another process needs to take over.
const (
	minBytes = 1 << 20
	minAge   = time.Minute
)

func (b Bounds) or(other Bounds) Bounds {
	return Bounds{cmp.Or(b.MaxBytes, other.MaxBytes), cmp.Or(b.PerQueue, other.PerQueue), cmp.Or(b.MaxAge, other.MaxAge)}
}

// Validate says which bounds cannot be.
func (b Bounds) Validate() error {
	b = b.or(usual)
	if b.MaxBytes < minBytes || b.PerQueue < 1 || b.MaxAge < minAge {
		return fmt.Errorf("stream of decisions: %d bytes, %d decisions of a queue, for %v: use at least %d, 1, %v", b.MaxBytes, b.PerQueue, b.MaxAge, minBytes, minAge)
	}
	return nil
}

// on gives a stream the bounds that are not zero.
func (b Bounds) on(stream *jetstream.StreamConfig) {
	b = b.or(Bounds{stream.MaxBytes, stream.MaxMsgsPerSubject, stream.MaxAge})
	stream.MaxBytes, stream.MaxMsgsPerSubject, stream.MaxAge = b.MaxBytes, b.PerQueue, b.MaxAge
}

// StreamName returns the name of the stream.
func StreamName(s telemetry.Subjects) string { return s.Store() + "_DECIDED" }

// streamConfig is the configuration of the stream. What it leaves out is off: message headers can neither
// replace, schedule, expire nor count anything, and only the leader answers who reads the newest message.
func streamConfig(s telemetry.Subjects, b Bounds) jetstream.StreamConfig {
	b = b.or(usual)
	return jetstream.StreamConfig{
		Name:              StreamName(s),
		Description:       "every decision, its state and what it was made from",
		Subjects:          []string{s.Root() + ".decided.>", s.Policy("*")},
		Retention:         jetstream.LimitsPolicy,
		Discard:           jetstream.DiscardOld,
		Storage:           jetstream.FileStorage,
		MaxBytes:          b.MaxBytes,
		MaxMsgsPerSubject: b.PerQueue,
		MaxMsgSize:        maxMessage,
		MaxAge:            b.MaxAge,
		DenyDelete:        true,
		RePublish:         &jetstream.RePublish{Source: s.Root() + ".decided.>", Destination: s.Root() + ".recommend.>"},
	}
}

// fits says why a stream of the needed name is not what is needed. Its bounds are its operator's.
func fits(want, have *jetstream.StreamConfig) error {
	subjects := slices.Sorted(slices.Values(have.Subjects))
	switch {
	case !slices.Equal(subjects, slices.Sorted(slices.Values(want.Subjects))):
		return fmt.Errorf("%w: %s is over %v, want %v", natsio.ErrStreamConflict, have.Name, have.Subjects, want.Subjects)
	case have.Retention != want.Retention || have.Discard != want.Discard:
		return fmt.Errorf("%w: %s is a %v stream that refuses %v, want a %v stream that refuses %v", natsio.ErrStreamConflict,
			have.Name, have.Retention, have.Discard, want.Retention, want.Discard)
	case have.MaxMsgSize > 0 && have.MaxMsgSize < want.MaxMsgSize:
		return fmt.Errorf("%w: %s takes messages of %d bytes, want %d", natsio.ErrStreamConflict, have.Name, have.MaxMsgSize, want.MaxMsgSize)
	case have.RePublish == nil || have.RePublish.Source != want.RePublish.Source || have.RePublish.Destination != want.RePublish.Destination:
		return fmt.Errorf("%w: %s does not republish %s on %s", natsio.ErrStreamConflict, have.Name, want.RePublish.Source, want.RePublish.Destination)
	}
	return nil
}

// Check says why decisions cannot be stored over a connection: the error wraps ErrOldServer, ErrNoJetStream,
// natsio.ErrStreamConflict or natsio.ErrDisconnected, or it is the server's.
func Check(ctx context.Context, conn *natsio.Conn) error {
	if !conn.NATS().IsConnected() {
		return natsio.ErrDisconnected
	}
	if err := conn.OldServer(); err != nil {
		return fmt.Errorf("%w: %w", ErrOldServer, err)
	}
	ctx, cancel := context.WithTimeout(ctx, lookup)
	defer cancel()
	stream, err := conn.JetStream().Stream(ctx, StreamName(conn.Subjects()))
	switch {
	case noJetStream(err):
		return fmt.Errorf("%w: %w", ErrNoJetStream, err)
	case err != nil && !errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Errorf("look up stream %s: %w", StreamName(conn.Subjects()), err)
	case err != nil:
		return nil // it is made on first use
	}
	want := streamConfig(conn.Subjects(), usual)
	return fits(&want, &stream.CachedInfo().Config)
}

// noJetStream reports whether an answer about a stream says that there are no streams at all.
func noJetStream(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)
}

// parse reads a message of the stream. Nothing in it is trusted but that it is stored: the error wraps
// ErrBadMessage.
func parse(s telemetry.Subjects, subject string, sequence uint64, data []byte) (worker, queue string, m *telemetry.Stored, err error) {
	class, worker, queue, err := s.Parse(subject)
	if err == nil && class != telemetry.SubjectDecided {
		err = errors.New("another subject")
	}
	var records int
	if err == nil {
		records, err = telemetry.Check(data, telemetry.DefaultRecommendationLimits)
	}
	var r telemetry.Record
	var d telemetry.Decoder
	if d.Reset(data); err == nil {
		err = d.Next(&r)
	}
	switch c := &r.Recommendation; {
	case err != nil && !errors.Is(err, io.EOF):
	case records != 1 || r.Kind != telemetry.KindRecommendation:
		err = errors.New("want one recommendation")
	case c.Decision == 0 || !c.Fenced || c.Heartbeat || len(c.Decided) == 0:
		err = errors.New("the recommendation has no number, is not fenced, is a repetition, or has nothing for the next decision")
	default:
		return worker, queue, &telemetry.Stored{Sequence: sequence, Header: r.Header, Recommendation: *c}, nil
	}
	return worker, queue, nil, fmt.Errorf("%w: message %d: %w", ErrBadMessage, sequence, err)
}
