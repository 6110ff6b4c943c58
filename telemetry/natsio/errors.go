package natsio

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
)

// Errors of this package. Those of the NATS client are wrapped with what was
// being done.
var (
	// ErrDisconnected says that there is no connection to a server right now;
	// nothing was sent. The connection keeps trying.
	ErrDisconnected = errors.New("not connected to NATS")
	// ErrClosed says that the object was closed; nothing was sent.
	ErrClosed = errors.New("closed")
	// ErrUnconfirmed says that something was written to a connection that ended,
	// or fell silent, before the server confirmed it. It may or may not have
	// arrived.
	ErrUnconfirmed = errors.New("connection lost before the server confirmed")
	// ErrBacklog says that a bounded outbox is full; the record was not taken.
	ErrBacklog = errors.New("outbox full")
	// ErrNotPermitted says that the server does not let this user publish or
	// subscribe a subject.
	ErrNotPermitted = errors.New("not permitted")
	// ErrLogin says that a server answers and does not let this user in.
	ErrLogin = errors.New("NATS refuses this login")
	// ErrBadName says that a worker, queue or batch name is not 1 to 64 bytes
	// of [A-Za-z0-9_-], or is reserved.
	ErrBadName = errors.New("bad name")
	// ErrTooLarge says that a payload exceeds what the receiver accepts.
	ErrTooLarge = errors.New("payload too large")
	// ErrNoRecommendation says that the runtime answered and has nothing for
	// the queue yet.
	ErrNoRecommendation = errors.New("no recommendation yet")
	// ErrNoRuntime says that the server is there but no runtime listens.
	ErrNoRuntime = errors.New("no runtime answers")
	// ErrStreamConflict says that a stream of the needed name exists and is not
	// what is needed, a work queue or a log over its subjects. Someone has to rename
	// or remove it.
	ErrStreamConflict = errors.New("stream exists with another purpose; remove it, or use another --prefix")
	// ErrQueueFull says that the stream holds as many batches of the queue as it may; there is
	// room when the worker has done some.
	ErrQueueFull = fmt.Errorf("the queue has as many batches in the stream as a queue may, %d or fewer if the stream is small", MaxQueueBatches)
	// ErrStreamFull says that the batches of all queues fill the stream.
	ErrStreamFull = errors.New("the stream of batches is full")
	// ErrNoSpace says that the server or the account has too little space for a stream.
	ErrNoSpace = errors.New("too little space for streams")
	// ErrRequest says that a request is not one of its kind.
	ErrRequest = errors.New("bad request")
	// ErrRefused says that the runtime did not take a telemetry record, and why.
	ErrRefused = errors.New("refused")
	// ErrTooMany says that the other side has as many requests as it takes; the same
	// request may be taken later.
	ErrTooMany = errors.New("too many requests")
	// ErrNoWindow says that nothing was ever written or submitted to the queue.
	ErrNoWindow = errors.New("the queue has no data yet")
	// ErrOutsideWindow says that a transfer leaves the queue's window.
	ErrOutsideWindow = errors.New("outside the queue's window")
	// ErrHeapChanged says that the worker's heap was lost between two requests
	// of one transfer; doing it again makes it whole.
	ErrHeapChanged = errors.New("the worker's heap was lost meanwhile")
	// ErrNoDecisions says that the server has no stream of decisions.
	ErrNoDecisions = errors.New("no decisions are stored")
	// ErrNoGraph says that the worker has no graph or result of that name.
	ErrNoGraph = errors.New("no such graph")
	// ErrGraphTooLarge says that a graph does not fit the worker.
	ErrGraphTooLarge = errors.New("the graph is too large for the worker")
	// ErrGraphRequest says that a graph or a run is invalid.
	ErrGraphRequest = errors.New("refused")
	// ErrGraphBusy says that the worker has as many requests as it takes; the same request may be
	// taken later.
	ErrGraphBusy = errors.New("the worker is busy with other requests about graphs")
	// ErrGraphCanceled is the cause of the context of a run that its requester canceled.
	ErrGraphCanceled = errors.New("canceled by its requester")
	// ErrStopping is the cause of the context of a request whose service is stopped.
	ErrStopping = errors.New("the worker stops")
)

// BadName says that a name is none of a worker, a queue or a batch.
func BadName(what, name string) error {
	return fmt.Errorf("%w: %s %q: use 1 to %d letters, digits, _ or -, and no reserved word", ErrBadName, what, name, telemetry.MaxToken)
}

// loginError says why a server that answers does not let this user in, or this user the
// server; it wraps ErrLogin. It is nil for every other error of an attempt to connect.
func loginError(err error) error {
	for _, refusal := range []error{nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired, nats.ErrNkeysNotSupported} {
		if errors.Is(err, refusal) {
			return fmt.Errorf("%w (%w): check the user, the password or the credentials file", ErrLogin, err)
		}
	}
	var certificate *tls.CertificateVerificationError
	var alert *net.OpError
	switch {
	case errors.As(err, &certificate):
		return fmt.Errorf("%w (%w): the server's certificate is not trusted; check its authority, names and dates", ErrLogin, err)
	case errors.Is(err, nats.ErrTLS), errors.Is(err, nats.ErrSecureConnRequired), errors.As(err, &alert) && alert.Op == "remote error": // of TLS
		return fmt.Errorf("%w (%w): check the certificate and the key of this client", ErrLogin, err)
	case err != nil && strings.Contains(err.Error(), "maximum control line exceeded"): // of which the library has no value
		return fmt.Errorf("%w (%w): the rights in this user's JWT are longer than the server reads; set max_control_line: 16KB in its configuration, or sign the user with a scoped key, whose rights stand in the account", ErrLogin, err)
	case errors.Is(err, nats.ErrSecureConnWanted):
		return fmt.Errorf("%w (%w): TLS is asked for, and the server has none", ErrLogin, err)
	}
	return nil
}
