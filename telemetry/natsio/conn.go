package natsio

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/natscontext"
	"golang.org/x/time/rate"

	"ringmaster/telemetry"
	"ringmaster/telemetry/complaint"
	"ringmaster/telemetry/trace"
)

// Conn is one connection to NATS. It reconnects by itself until it is closed.
// Its methods may be called concurrently.
type Conn struct {
	cfg    Config
	nc     *nats.Conn
	js     jetstream.JetStream
	at     natscontext.Settings // where JetStream is
	events events
	seqs   sequences
	reject rejecter
	// replies are the beginnings of reply subjects that are answered.
	replies []string

	complaints *complaint.Log
	moves      *rate.Limiter // to other servers
}

// Connect opens a connection and returns at once, also if no server answers:
// it then goes on trying. WaitState tells when it got through. The error says
// what is wrong with the configuration, the credentials or the context.
func Connect(cfg Config) (*Conn, error) {
	return connect(cfg, nats.RetryOnFailedConnect(true))
}

func connect(cfg Config, extra ...nats.Option) (*Conn, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Conn{cfg: cfg, complaints: complaint.New(cfg.Logger), moves: rate.NewLimiter(rate.Every(elsewherePause), 1)}
	c.events.init(cfg.Logger)
	c.reject.init(c)
	options := append(c.options(), extra...)
	settings, err := c.dial(options)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	c.replies = cfg.answered(c.Inbox())
	c.at = settings
	if c.js, err = newJetStream(c.nc, settings, jetstream.WithPublishAsyncTimeout(apiTimeout)); err != nil {
		c.nc.Close()
		return nil, fmt.Errorf("jetstream: %w", err)
	}
	if !c.nc.IsConnected() {
		c.notYetConnected()
	}
	return c, nil
}

func (c *Conn) dial(options []nats.Option) (settings natscontext.Settings, err error) {
	if c.cfg.Inbox != "" {
		options = append(options, nats.CustomInboxPrefix(c.cfg.Inbox))
	}
	switch {
	case c.cfg.Context != "":
		c.nc, settings, err = natscontext.Connect(c.cfg.Context, options...)
	default:
		if c.cfg.Creds != "" {
			options = append(options, nats.UserCredentials(c.cfg.Creds))
		}
		if c.cfg.NKey != "" {
			key, err := nats.NkeyOptionFromSeed(c.cfg.NKey)
			if err != nil {
				return settings, fmt.Errorf("%s: %w", c.cfg.NKey, err)
			}
			options = append(options, key)
		}
		c.nc, err = nats.Connect(c.cfg.URL, options...)
	}
	return settings, err
}

func newJetStream(nc *nats.Conn, s natscontext.Settings, options ...jetstream.JetStreamOpt) (jetstream.JetStream, error) {
	switch {
	case s.JSAPIPrefix != "":
		return jetstream.NewWithAPIPrefix(nc, s.JSAPIPrefix, options...)
	case s.JSDomain != "":
		return jetstream.NewWithDomain(nc, s.JSDomain, options...)
	default:
		return jetstream.New(nc, options...)
	}
}

func (c *Conn) options() []nats.Option {
	return []nats.Option{
		nats.Name(c.cfg.Name),
		nats.Timeout(connectTimeout),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(), // credentials may be rotated while we wait
		nats.CustomReconnectDelay(c.reconnectDelay),
		nats.ReconnectBufSize(reconnectBuffer),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(maxPings),
		nats.ConnectHandler(c.events.connected),
		nats.DisconnectErrHandler(c.events.disconnected),
		nats.ReconnectHandler(c.events.reconnected),
		nats.ReconnectErrHandler(c.attemptFailed),
		nats.ClosedHandler(c.events.closedByServerOrUs),
		nats.ErrorHandler(c.asyncError),
	}
}

// reconnectDelay is the pause after a round over all servers failed.
func (c *Conn) reconnectDelay(rounds int) time.Duration {
	return backoff(c.cfg.ReconnectMin, c.cfg.ReconnectMax, rounds)
}

// backoff doubles low with every attempt after the first up to high, and
// makes half of the result random so that clients do not return in step.
func backoff(low, high time.Duration, attempt int) time.Duration {
	d := high
	if shift := attempt - 1; shift < 16 && low<<max(shift, 0) < high {
		d = low << max(shift, 0)
	}
	return d/2 + rand.N(d/2+1)
}

// Servers names the servers for people, without passwords.
func (c *Conn) Servers() string { return c.cfg.server() }

// Incarnation is the number that the connection's records carry.
func (c *Conn) Incarnation() uint64 { return c.cfg.Incarnation }

func (c *Conn) prefix() string { return c.cfg.Subjects.Root() }

// Subjects returns the subjects that the connection uses.
func (c *Conn) Subjects() telemetry.Subjects { return c.cfg.Subjects }

// Inbox is what the connection's own subjects of answers begin with.
func (c *Conn) Inbox() string {
	one := c.nc.NewInbox()
	return one[:strings.LastIndexByte(one, '.')]
}

// Domain is the JetStream domain in which the connection reaches its streams, or "".
func (c *Conn) Domain() string { return c.js.Options().Domain }

// WaitState returns nil once the connection is in the state, or why it never
// will be: ctx's error, or ErrClosed.
func (c *Conn) WaitState(ctx context.Context, want State) error {
	ch := c.nc.StatusChanged()
	defer c.nc.RemoveStatusListener(ch)
	for {
		switch now := c.state(); {
		case now == want:
			return nil
		case now == StateClosed:
			return ErrClosed
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return fmt.Errorf("wait until %v: %w", want, ctx.Err())
		}
	}
}

// elsewherePause is the least time between two moves to another server.
const elsewherePause = 2 * time.Second

// Elsewhere has the connection go to another server, if it knows one and has not just done so.
// It is for those who get no acknowledgements: a server that its cluster has lost answers
// pings, takes what is published, and stores nothing.
func (c *Conn) Elsewhere() {
	if len(c.nc.Servers()) < 2 || !c.moves.Allow() {
		return
	}
	c.cfg.Logger.Warn("no acknowledgements come, going to another server", "from", c.nc.ConnectedUrlRedacted())
	_ = c.nc.ForceReconnect() // fails only on a connection that was closed
}

// Flush returns nil once the server has everything that was published before.
// The error wraps ErrDisconnected, at once, without a connection; ErrUnconfirmed
// if the connection ended meanwhile; or ctx's. A server that is silent for as
// long as ends the connection ends the wait too, so ctx needs no deadline.
func (c *Conn) Flush(ctx context.Context) error {
	if ctx.Err() != nil { // the client's own wait takes either case of its select
		return fmt.Errorf("flush: %w", ctx.Err())
	}
	if !c.nc.IsConnected() {
		return fmt.Errorf("flush: %w", ErrDisconnected)
	}
	bounded, cancel := context.WithTimeout(ctx, (maxPings+2)*pingInterval)
	defer cancel()
	err := c.nc.FlushWithContext(bounded)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("flush: %w", ctx.Err())
	}
	return fmt.Errorf("flush: %w: %w", ErrUnconfirmed, err)
}

// settle waits until the server knows of the subscriptions made so far, so that they see what anybody
// publishes from then on. Without a connection there is nothing to wait for: the next one begins
// with them.
func (c *Conn) settle() { _ = c.Flush(context.Background()) }

// Close ends the connection at once. Flush, or close what was built on the
// connection, before it.
func (c *Conn) Close() {
	c.events.closing.Store(true)
	c.nc.Close()
}

// Closed is closed when the connection has ended for good.
func (c *Conn) Closed() <-chan struct{} { return c.events.closed }

// PublishRequest sends one payload and has it answered at reply, unless that is empty.
// While the connection is away it fails at once with ErrDisconnected instead of filling
// the client's buffer: what would come out of that after an outage is old.
func (c *Conn) PublishRequest(subject, reply string, payload []byte) error {
	return c.PublishTraced(subject, reply, payload, "")
}

// PublishTraced is PublishRequest of a message with a trace context, "" for none.
func (c *Conn) PublishTraced(subject, reply string, payload []byte, traceparent string) error {
	if !c.nc.IsConnected() {
		return ErrDisconnected
	}
	var err error
	switch {
	case traceparent != "":
		err = c.nc.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Data: payload, Header: tracedHeader(traceparent)})
	case reply == "":
		err = c.nc.Publish(subject, payload)
	default:
		err = c.nc.PublishRequest(subject, reply, payload)
	}
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

// tracedHeader is the header of a message with a trace context, none without one.
func tracedHeader(traceparent string) nats.Header {
	if traceparent == "" {
		return nil
	}
	return nats.Header{trace.Header: {traceparent}}
}

// traceparentOf is the trace context of a message. Some libraries write names of headers as HTTP does.
func traceparentOf(h nats.Header) string {
	if text := h.Get(trace.Header); text != "" {
		return text
	}
	return h.Get("Traceparent")
}

// Traces follows what comes with a trace context.
func (c *Conn) Traces() *trace.Book { return c.cfg.Traces }

// Traceparent is the trace context of what this process reports and submits, "" for none.
func (c *Conn) Traceparent() string { return c.cfg.Traceparent }

func (c *Conn) publish(subject string, payload []byte) error {
	return c.PublishRequest(subject, "", payload)
}

// NATS is the connection of the client library, for the packages beside this one.
func (c *Conn) NATS() *nats.Conn { return c.nc }

// NewJetStream is JetStream with options of its own.
func (c *Conn) NewJetStream(options ...jetstream.JetStreamOpt) (jetstream.JetStream, error) {
	return newJetStream(c.nc, c.at, options...)
}

// JetStream is the library's access to streams, for the packages beside this one.
func (c *Conn) JetStream() jetstream.JetStream { return c.js }

// Session changes with every new connection to a server.
func (c *Conn) Session() uint64 { return c.nc.Stats().Reconnects }

// Logger is told what people should know.
func (c *Conn) Logger() *slog.Logger { return c.cfg.Logger }

// Encoding is that of the records sent.
func (c *Conn) Encoding() telemetry.Encoding { return c.cfg.Encoding }

// Header is that of the next record on a subject, sent now.
func (c *Conn) Header(subject string) telemetry.Header { return c.newHeader(c.seqs.next(subject)) }

func (c *Conn) newHeader(seq uint64) telemetry.Header {
	return telemetry.Header{
		Minor:       telemetry.Minor,
		Incarnation: c.cfg.Incarnation,
		Seq:         seq,
		SentNs:      time.Now().UnixNano(),
	}
}

// CheckNames refuses names that cannot stand in a subject.
func CheckNames(worker, queue string) error {
	if _, pool := telemetry.PoolOf(worker); pool {
		return fmt.Errorf("%w: %s is a pool, which has batches only: name one of its workers", ErrBadName, worker)
	}
	if !telemetry.ValidToken(worker) {
		return BadName("worker", worker)
	}
	if !telemetry.ValidToken(queue) || queue == telemetry.BatchQueue {
		return BadName("queue", queue)
	}
	return nil
}

// CheckTaker refuses names that cannot stand in a subject of work: taker is a worker, or a pool as telemetry.Pool has it.
func CheckTaker(taker, queue string) error {
	if !telemetry.ValidTaker(taker) {
		return BadName("worker", taker)
	}
	return CheckNames("worker", queue)
}

// maxSequences bounds the subjects whose sequence numbers are kept.
const maxSequences = 1 << 16

// sequences numbers the records of each subject from 1 upwards. The zero value
// is ready.
type sequences struct {
	mu   sync.Mutex
	last map[string]uint64
	// floor is where subjects start that are not in last. It rises when last
	// is emptied, so that a subject's numbers never fall within an incarnation.
	floor uint64
}

func (s *sequences) next(subject string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, known := s.last[subject]
	if !known {
		if s.last == nil || len(s.last) >= maxSequences {
			for _, used := range s.last {
				s.floor = max(s.floor, used)
			}
			s.last = make(map[string]uint64)
		}
		n = s.floor
	}
	n++
	s.last[subject] = n
	return n
}
