package kernelcache

import "errors"

// ErrClosed says that the store was closed. What waits gets it too.
var ErrClosed = errors.New("the store is closed")

// ErrQueueFull says that more is waiting to be built, and more urgently.
var ErrQueueFull = errors.New("too many programs are waiting to be built")
