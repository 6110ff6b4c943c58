package natsio

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry/complaint"
)

// State is the state of a connection.
type State uint8

// States of a connection.
const (
	StateDisconnected State = iota // trying to reach a server
	StateConnected
	StateClosed // for good
)

// String returns the state in one word.
func (s State) String() string {
	switch s {
	case StateConnected:
		return "connected"
	case StateClosed:
		return "closed"
	}
	return "disconnected"
}

// Status describes a connection at one moment.
type Status struct {
	State         State
	Since         time.Time // when the connection came or went, zero before the first
	URL           string    // of the server, without credentials; empty while disconnected
	ServerName    string
	ServerVersion string
	Reconnects    uint64 // connections after the first
	LastError     error  // newest error that the server or the client reported

	SlowConsumers    uint64 // episodes in which a subscription dropped messages
	PermissionErrors uint64 // subjects that the server refused to publish or subscribe
	OtherErrors      uint64
}

// events keeps what the client reports outside of any call, and says it once.
// The client's own handler prints a line for each of them.
type events struct {
	log    *slog.Logger
	told   *complaint.Pace // of asynchronous errors
	closed chan struct{}

	closing atomic.Bool           // Close was called
	login   atomic.Pointer[error] // why the server does not let us in, until it does

	slow, permission, other atomic.Uint64

	mu             sync.Mutex
	since          time.Time
	lastErr        error
	lastPermission error
	denied         map[string]error // subjects that this connection may not use, and why
	refused        map[int]func(subject string, err error)
	refusedNext    int                     // key of the next in refused
	untold         map[error]chan struct{} // permission errors that asyncError has not had, and who waits for them
}

func (e *events) init(log *slog.Logger) {
	e.log, e.told = log, complaint.NewPace()
	e.closed = make(chan struct{})
}

// mark notes that the connection came or went now, and returns how long it was as it was before.
func (e *events) mark(err error) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	var held time.Duration
	if !e.since.IsZero() {
		held = now.Sub(e.since)
	}
	e.since, e.denied = now, nil
	if err != nil {
		e.lastErr = err
	}
	return held
}

// notYetConnected hears that the first attempt to connect failed. A login that is refused is told by the next attempt.
func (c *Conn) notYetConnected() {
	c.events.mark(c.nc.LastError())
	if loginError(c.nc.LastError()) == nil {
		c.events.log.Warn("no NATS server answers yet; trying again", "nats", c.Servers())
	}
}

// loginRefused returns why the server does not let this user in, which wraps ErrLogin,
// or nil. The connection keeps trying, because credentials may be rotated meanwhile.
func (c *Conn) loginRefused() error {
	if err := c.events.login.Load(); err != nil && !c.nc.IsConnected() {
		return *err
	}
	return nil
}

// attemptFailed hears of every attempt to connect that failed. A server that is away is
// told of elsewhere.
func (c *Conn) attemptFailed(_ *nats.Conn, err error) {
	if err = loginError(err); err != nil {
		c.events.login.Store(&err)
		c.events.mu.Lock()
		c.events.lastErr = err
		c.events.mu.Unlock()
		c.complaints.Warn("NATS does not let this user in; trying again", "", "", "nats", c.Servers(), "error", err)
		c.events.tell("", err)
	}
}

// asyncError hears of what went wrong outside of any call. Of attempts to reconnect, a login
// that is refused is told here. That credentials expired is told too, but of the connection
// that ends by it: with newer ones the next attempt succeeds.
func (c *Conn) asyncError(nc *nats.Conn, sub *nats.Subscription, err error) {
	if errors.Is(err, nats.ErrAuthorization) {
		c.attemptFailed(nc, err)
		return
	}
	c.events.asyncError(nc, sub, err)
}

// Answers stands for the subjects on which this connection is answered, whatever they begin with.
const Answers = "_INBOX.>"

// Permitted returns a context that ends when the server refuses something to this user: its
// login, or a subject that is not among the dispensable ones, of which one that ends in ".>" stands for all that begin
// as it does, and Answers for the connection's own. The cause then wraps ErrLogin or ErrNotPermitted. What was refused before counts too.
func (c *Conn) Permitted(ctx context.Context, dispensable ...string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	dispensable = slices.Clone(dispensable)
	if i := slices.Index(dispensable, Answers); i >= 0 {
		dispensable[i] = c.Inbox() + ".>"
	}
	hear := func(subject string, err error) {
		spared := func(s string) bool {
			return s == subject || strings.HasSuffix(s, ".>") && strings.HasPrefix(subject, strings.TrimSuffix(s, ">"))
		}
		if !slices.ContainsFunc(dispensable, spared) {
			cancel(err)
		}
	}
	e := &c.events
	e.mu.Lock()
	defer e.mu.Unlock()
	forget := e.listen(hear)
	for subject, err := range e.denied {
		hear(subject, err)
	}
	if err := c.loginRefused(); err != nil {
		cancel(err)
	}
	return ctx, func() { cancel(nil); forget() }
}

// Needs returns a context that ends when the server refuses a subject to this user from now
// on. The cause then wraps ErrNotPermitted.
func (c *Conn) Needs(ctx context.Context, subject string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	c.events.mu.Lock()
	defer c.events.mu.Unlock()
	forget := c.events.listen(func(refused string, err error) {
		if refused == subject {
			cancel(err)
		}
	})
	return ctx, func() { cancel(nil); forget() }
}

// listen has refusals told until forget is called. Called with mu held.
func (e *events) listen(hear func(subject string, err error)) (forget func()) {
	key := e.refusedNext
	e.refusedNext++
	if e.refused == nil {
		e.refused = make(map[int]func(string, error))
	}
	e.refused[key] = hear
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.refused, key)
	}
}

// tell tells those who wait of a refusal.
func (e *events) tell(subject string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, hear := range e.refused {
		hear(subject, err)
	}
}

func (e *events) connected(nc *nats.Conn) {
	e.mark(nil)
	e.login.Store(nil)
	e.log.Info("connected to NATS", "server", nc.ConnectedUrlRedacted(), "version", nc.ConnectedServerVersion())
}

func (e *events) disconnected(nc *nats.Conn, err error) {
	held := e.mark(err)
	if nc.IsClosed() {
		return // Close says so itself
	}
	e.log.Warn("disconnected from NATS; trying again", "after", held.Round(time.Millisecond), "error", err)
}

func (e *events) reconnected(nc *nats.Conn) {
	away := e.mark(nil)
	e.login.Store(nil)
	e.log.Info("reconnected to NATS", "server", nc.ConnectedUrlRedacted(), "away", away.Round(time.Millisecond))
}

func (e *events) closedByServerOrUs(nc *nats.Conn) {
	err := nc.LastError()
	e.mark(err)
	if e.closing.Load() {
		e.log.Debug("the connection to NATS is closed")
	} else {
		e.log.Error("the connection to NATS ended for good", "error", err)
	}
	close(e.closed)
}

// asyncError counts every error and logs some of them.
func (e *events) asyncError(_ *nats.Conn, sub *nats.Subscription, err error) {
	e.mu.Lock()
	e.lastErr = err
	e.mu.Unlock()
	message, subject := "NATS reports an error", ""
	if sub != nil {
		subject = sub.Subject
	}
	switch {
	case errors.Is(err, nats.ErrSlowConsumer):
		e.slow.Add(1)
	case errors.Is(err, nats.ErrPermissionViolation):
		e.permission.Add(1)
		message, subject, err = "the NATS server refuses a subject to this user", deniedSubject(err.Error()), e.deny(err)
	default:
		e.other.Add(1)
	}
	e.complain(message, subject, err)
}

// complain logs an asynchronous error, each once a minute: what is refused is asked for again every second by whoever needs
// it. Inboxes count as one, because their names never come again.
func (e *events) complain(message, subject string, err error) {
	about := err.Error()
	if strings.Contains(about, "_INBOX.") {
		about = "_INBOX"
	}
	suppressed, due := e.told.Due(message, about, "")
	if !due {
		return
	}
	attrs := []any{"error", err}
	if subject != "" {
		attrs = append(attrs, "subject", subject)
	}
	if suppressed > 0 {
		attrs = append(attrs, "suppressed", suppressed)
	}
	e.log.Warn(message, attrs...)
}

// Denied returns the subjects that the server does not let this connection publish or
// subscribe, each with an error that wraps ErrNotPermitted and names it. After a Flush it
// covers all that was published or subscribed before. A new connection starts with none.
func (c *Conn) Denied() map[string]error {
	e := &c.events
	if told := e.catchUp(c.nc); told != nil {
		select {
		case <-told:
		case <-e.closed:
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.denied)
}

// catchUp returns a channel that is closed when asyncError has had every permission error
// that the client knows, or nil if it has. The client keeps its newest error alone, and calls
// asyncError with each in turn but later: of two refusals the first is found nowhere else.
func (e *events) catchUp(nc *nats.Conn) <-chan struct{} {
	e.mu.Lock() // no error is told of between the two that are compared
	defer e.mu.Unlock()
	last := nc.LastError()
	if last == e.lastPermission || !errors.Is(last, nats.ErrPermissionViolation) {
		return nil
	}
	told := e.untold[last]
	if told == nil {
		if e.untold == nil {
			e.untold = make(map[error]chan struct{})
		}
		told = make(chan struct{})
		e.untold[last] = told
	}
	return told
}

// maxDenied bounds the subjects that are remembered.
const maxDenied = 1 << 12

// deny keeps a permission error and returns it in words.
func (e *events) deny(err error) error {
	subject := deniedSubject(err.Error())
	act := "publish on"
	if strings.Contains(err.Error(), "Subscription") {
		act = "subscribe"
	}
	why := fmt.Errorf("%w: this user may not %s %s", ErrNotPermitted, act, subject)
	defer e.tell(subject, why) // when it is kept: whoever begins to listen meanwhile is told of it too
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lastPermission = err
	if e.denied == nil {
		e.denied = make(map[string]error)
	}
	if len(e.denied) < maxDenied {
		e.denied[subject] = why
	}
	if told := e.untold[err]; told != nil {
		delete(e.untold, err)
		close(told)
	}
	return why
}

// deniedSubject finds the subject in the server's words, which are
// `Permissions Violation for Publish to "<subject>"` or the like. No subject
// holds a quotation mark.
func deniedSubject(message string) string {
	_, rest, _ := strings.Cut(message, `"`)
	subject, _, _ := strings.Cut(rest, `"`)
	return subject
}

func (c *Conn) state() State {
	switch {
	case c.nc.IsClosed():
		return StateClosed
	case c.nc.IsConnected():
		return StateConnected
	}
	return StateDisconnected
}

// Status describes the connection now.
func (c *Conn) Status() Status {
	e := &c.events
	s := Status{
		State:            c.state(),
		URL:              c.nc.ConnectedUrlRedacted(),
		ServerName:       c.nc.ConnectedServerName(),
		ServerVersion:    c.nc.ConnectedServerVersion(),
		Reconnects:       c.nc.Stats().Reconnects,
		SlowConsumers:    e.slow.Load(),
		PermissionErrors: e.permission.Load(),
		OtherErrors:      e.other.Load(),
	}
	e.mu.Lock()
	s.Since, s.LastError = e.since, e.lastErr
	e.mu.Unlock()
	return s
}
