package natsio

import "errors"

// Errors of this package. Those of the NATS client are wrapped with what was
// being done.
var (
	// ErrDisconnected says that there is no connection to a server right now;
	// nothing was sent. The connection keeps trying.
	ErrDisconnected = errors.New("natsio: not connected")
	// ErrClosed says that the object was closed; nothing was sent.
	ErrClosed = errors.New("natsio: closed")
	// ErrUnconfirmed says that something was written to a connection that ended,
	// or fell silent, before the server confirmed it. It may or may not have
	// arrived.
	ErrUnconfirmed = errors.New("natsio: connection lost before the server confirmed")
	// ErrBacklog says that a bounded outbox is full; the record was not taken.
	ErrBacklog = errors.New("natsio: outbox full")
	// ErrNotPermitted says that the server does not let this user publish or
	// subscribe a subject.
	ErrNotPermitted = errors.New("natsio: not permitted")
	// ErrBadName says that a worker, queue or batch name is not 1 to 64 bytes
	// of [A-Za-z0-9_-], or is reserved.
	ErrBadName = errors.New("natsio: bad name")
	// ErrTooLarge says that a payload exceeds what the receiver accepts.
	ErrTooLarge = errors.New("natsio: payload too large")
	// ErrNoRecommendation says that the runtime answered and has nothing for
	// the queue yet.
	ErrNoRecommendation = errors.New("natsio: no recommendation yet")
	// ErrNoRuntime says that the server is there but no runtime listens.
	ErrNoRuntime = errors.New("natsio: no runtime answers")
	// ErrStreamConflict says that a stream of the needed name exists and is not
	// what is needed, a work queue or a log over its subjects. Someone has to rename
	// or remove it.
	ErrStreamConflict = errors.New("natsio: stream exists with another purpose")
)
