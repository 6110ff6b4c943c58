package decided

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/complaint"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/trace"
)

const (
	// answerTime is how long the server has to answer a write or a read. Later the answer counts as lost.
	answerTime = time.Second
	// maxWrites bounds the writes under way, one a queue. Above it nothing is sent.
	maxWrites = 1 << 16
	// retryMin and retryMax are the pauses between attempts to open the stream.
	retryMin, retryMax = 100 * time.Millisecond, time.Second
	// policyEvery is after how many messages of the stream, and after how long, the policy's text is stored
	// again: bounded by its bytes the stream holds at least as many messages of the usual size.
	policyEvery    = 1 << 13
	policyLifetime = 24 * time.Hour
)

// Config says how decisions are kept. Start from DefaultConfig.
type Config struct {
	// Policy is the name of the configuration that this process decides by, a token of a subject, and
	// PolicyText what it stands for. They are stored beside the decisions.
	Policy     string
	PolicyText []byte
	// Bounds are those of the stream.
	Bounds Bounds
	// Changed is told why the stream is lost, and nil when it is found. It must not block. Nil: nobody is told.
	Changed func(problem error)
	// Log receives what people should know. Not nil.
	Log *slog.Logger
}

// DefaultConfig returns a configuration that lacks only the policy.
func DefaultConfig() Config {
	return Config{Log: slog.New(slog.DiscardHandler)}
}

// Stats counts what became of decisions that were to be stored.
type Stats struct {
	Stored  uint64 `json:"stored"`
	Refused uint64 `json:"refused"` // another process had decided
	Unknown uint64 `json:"unknown"` // the answer was lost
	Away    uint64 `json:"away"`    // not sent, or not accepted
	Problem string `json:"problem,omitempty"`
}

// Store stores the decisions of this process. It is the Store of package actors. Until it has found or made
// the stream, and after the stream was lost until it has again, nothing is sent.
type Store struct {
	conn       *natsio.Conn
	cfg        Config
	js         jetstream.JetStream // with answers of writes that are waited for
	name       string
	complaints *complaint.Log

	stream   atomic.Pointer[jetstream.Stream] // nil: there is none
	policyAt atomic.Uint64                    // sequence of the policy's text
	look     chan struct{}                    // the stream has to be looked at
	ready    chan struct{}                    // closed when there was a stream first
	once     sync.Once                        // of ready
	again    atomic.Pointer[func()]           // is told when there is a stream again
	quit     context.CancelFunc
	ended    sync.WaitGroup // of run

	mu     sync.Mutex
	closed bool
	under  sync.WaitGroup // writes and reads under way
	stats  Stats
}

// Open begins to store decisions over a connection, which may be away. The error says what is wrong with the
// configuration.
func Open(conn *natsio.Conn, cfg Config) (*Store, error) {
	if !telemetry.ValidToken(cfg.Policy) {
		return nil, natsio.BadName("policy", cfg.Policy)
	}
	if err := cfg.Bounds.Validate(); err != nil {
		return nil, err
	}
	js, err := conn.NewJetStream(jetstream.WithPublishAsyncMaxPending(maxWrites), jetstream.WithPublishAsyncTimeout(answerTime))
	if err != nil {
		return nil, fmt.Errorf("store of decisions: %w", err)
	}
	ctx, quit := context.WithCancel(context.Background())
	s := &Store{
		conn: conn, cfg: cfg, js: js, name: StreamName(conn.Subjects()), complaints: complaint.New(cfg.Log), quit: quit,
		look: make(chan struct{}, 1), ready: make(chan struct{}), stats: Stats{Problem: "the stream is not looked up yet"},
	}
	s.ended.Go(func() { s.run(ctx) })
	return s, nil
}

// Ready is closed once the store has found or made the stream.
func (s *Store) Ready() <-chan struct{} { return s.ready }

// OnReady has fn called each time that decisions can be stored again, after they could not. It must not block.
func (s *Store) OnReady(fn func()) { s.again.Store(&fn) }

// Write stores a decision of a queue as the successor of the message with a sequence, 0 for none. r may be
// reused after the call returns, which is at once. done is called exactly once, from another goroutine, within
// about a second. What was stored goes to every address in replies, without what it has for runtimes.
func (s *Store) Write(worker, queue string, expect uint64, r *telemetry.Recommendation, replies []string,
	done func(sequence uint64, how telemetry.Written)) {
	own := *r
	own.Fenced, own.Heartbeat = true, false
	subjects := s.conn.Subjects()
	header := s.conn.Header(subjects.Recommend(worker, queue))
	m := nats.NewMsg(subjects.Decided(worker, queue))
	m.Data = telemetry.Append(nil, s.conn.Encoding(), header, &own)
	traced := s.conn.Traces().Decided(worker, queue, &own)
	if traced != nil {
		m.Header.Set(trace.Header, traced.Traceparent())
	}
	var answer []byte
	if len(replies) > 0 {
		own.Decided = nil
		answer = telemetry.Append(nil, s.conn.Encoding(), header, &own)
		replies = slices.Clone(replies)
	}
	s.begin(func() {
		sequence, how := s.write(m, expect)
		s.count(how)
		if how == telemetry.WrittenStored {
			traced.Counts() // before a launch of it can be reported
		}
		done(sequence, how)
		if how == telemetry.WrittenStored {
			for _, to := range replies {
				_ = s.conn.PublishTraced(to, "", answer, traced.Traceparent()) // who asked asks again
			}
		}
	}, func() {
		s.count(telemetry.WrittenAway)
		done(0, telemetry.WrittenAway)
	})
}

// begin runs a function on a goroutine that Close waits for, or another if the store is closed.
func (s *Store) begin(run, closed func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		go closed()
		return
	}
	s.under.Go(run)
}

func (s *Store) write(m *nats.Msg, expect uint64) (sequence uint64, how telemetry.Written) {
	if s.stream.Load() == nil || !s.conn.NATS().IsConnected() {
		return 0, telemetry.WrittenAway
	}
	if len(m.Data) > maxMessage {
		s.complaints.Warn("a decision is too large to be stored", "", "", "subject", m.Subject, "bytes", len(m.Data), "limit", maxMessage)
		return 0, telemetry.WrittenAway
	}
	f, err := s.js.PublishMsgAsync(m, jetstream.WithExpectLastSequencePerSubject(expect), jetstream.WithExpectStream(s.name), jetstream.WithRetryAttempts(0))
	if err != nil { // nothing was sent
		s.complaints.Warn("a decision is not stored", "", "", "subject", m.Subject, "error", err)
		return 0, telemetry.WrittenAway
	}
	select {
	case ack := <-f.Ok():
		if ack.Sequence > s.policyAt.Load()+policyEvery {
			s.lookAgain()
		}
		return ack.Sequence, telemetry.WrittenStored
	case err := <-f.Err():
		return 0, s.outcome(err)
	}
}

// Codes of the API that the library has no name for.
const errNotLeading jetstream.ErrorCode = 10163 // a new leader still reads its log

// outcome is what the error of a write says of it. What is neither a refusal nor passes by itself has the
// stream looked at again; until that is well nothing is sent.
func (s *Store) outcome(err error) telemetry.Written {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		if errors.Is(err, jetstream.ErrNoStreamResponse) {
			s.lose(fmt.Errorf("stream %s: %w", s.name, err))
		}
		return telemetry.WrittenUnknown
	}
	switch api.ErrorCode {
	case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant:
		return telemetry.WrittenRefused
	case errNotLeading:
		return telemetry.WrittenUnknown
	}
	s.lose(fmt.Errorf("stream %s: %w", s.name, err))
	if api.Code >= 500 { // of some replicas it may be known, of others not
		return telemetry.WrittenUnknown
	}
	return telemetry.WrittenAway
}

// Last reads a queue's newest message from the stream's leader. done is called exactly once, from another
// goroutine, within about a second: with nil and no error if there is none. The error wraps natsio.ErrDisconnected
// or ErrBadMessage, or is the server's.
func (s *Store) Last(worker, queue string, done func(m *telemetry.Stored, err error)) {
	s.begin(func() { done(s.last(worker, queue)) }, func() { done(nil, natsio.ErrClosed) })
}

func (s *Store) last(worker, queue string) (*telemetry.Stored, error) {
	stream := s.stream.Load()
	if stream == nil || !s.conn.NATS().IsConnected() {
		return nil, fmt.Errorf("read the last decision: %w", natsio.ErrDisconnected)
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	subject := s.conn.Subjects().Decided(worker, queue)
	raw, err := (*stream).GetLastMsgForSubject(ctx, subject)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil, nil
	case err != nil:
		if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, nats.ErrNoResponders) {
			s.lose(err)
		}
		return nil, fmt.Errorf("read the last decision: %w", err)
	}
	_, _, m, err := parse(s.conn.Subjects(), raw.Subject, raw.Sequence, raw.Data)
	if err != nil {
		s.complaints.Warn("the last stored decision cannot be read", worker, queue, "error", err)
	}
	return m, err
}

// Name is the name of the stream.
func (s *Store) Name() string { return s.name }

// Stats returns what became of the decisions so far, and why none is stored now, if that is so.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

func (s *Store) count(how telemetry.Written) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch how {
	case telemetry.WrittenStored:
		s.stats.Stored++
	case telemetry.WrittenRefused:
		s.stats.Refused++
	case telemetry.WrittenUnknown:
		s.stats.Unknown++
	default:
		s.stats.Away++
	}
}

// Close returns when every write and read has its outcome. Those that come later are not sent.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.under.Wait()
	s.quit()
	s.ended.Wait()
	s.js.CleanupPublisher()
}
