package glcompute

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// Thread runs functions one after another on one operating-system thread. Make
// one with NewThread; its methods may be called from any goroutine.
type Thread struct {
	calls chan *call
	ended chan struct{}

	// mu lets Close wait for the calls that were let in: senders hold it
	// for reading, so the channel is never closed under one of them.
	mu     sync.RWMutex
	closed bool
}

// call is one function on its way through the thread and back.
type call struct {
	fn       func() error
	err      error
	panicked any
	stack    []byte
	done     chan struct{}
}

var calls = sync.Pool{New: func() any { return &call{done: make(chan struct{}, 1)} }}

// NewThread starts a goroutine for the thread. The goroutine never unlocks its OS
// thread, so the OS thread ends with it, and whatever the driver attached to it.
func NewThread() *Thread {
	t := newThread()
	go t.loop()
	return t
}

// newThread makes a thread that some goroutine will serve by calling loop.
func newThread() *Thread {
	return &Thread{calls: make(chan *call), ended: make(chan struct{})}
}

// loop serves calls on the OS thread of the calling goroutine until Close.
func (t *Thread) loop() {
	runtime.LockOSThread()
	defer close(t.ended)
	for c := range t.calls {
		c.run()
	}
}

// Do runs fn on the thread, waits for it and returns its error, or ErrClosed if
// the thread is closed and fn did not run. If fn panics, Do panics in the
// calling goroutine with a *ThreadPanic that holds the value and the stack; the thread goes on.
// Do must not be called from inside fn.
func (t *Thread) Do(fn func() error) error {
	c := calls.Get().(*call)
	c.fn = fn
	if !t.send(c) {
		calls.Put(c)
		return ErrClosed
	}
	return c.wait()
}

func (t *Thread) send(c *call) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.closed {
		return false
	}
	select {
	case t.calls <- c:
		return true
	case <-t.ended: // a function ended the goroutine with runtime.Goexit
		return false
	}
}

// Close lets the calls that were made finish, ends the thread and waits for
// that. Closing twice is allowed. Close must not be called from inside Do.
func (t *Thread) Close() {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		close(t.calls)
	}
	t.mu.Unlock()
	<-t.ended
}

// run executes the function and wakes the caller, also if the function panics or
// leaves by runtime.Goexit, as testing.T.Fatal does.
func (c *call) run() {
	returned := false
	defer func() {
		if p := recover(); p != nil {
			c.panicked, c.stack = p, debug.Stack()
		} else if !returned {
			c.panicked = errGoexit
		}
		c.done <- struct{}{}
	}()
	c.err = c.fn()
	returned = true
}

var errGoexit = errors.New("glcompute: a function on the device's thread called runtime.Goexit")

// wait returns the result and gives the call back to the pool.
func (c *call) wait() error {
	<-c.done
	err, panicked, stack := c.err, c.panicked, c.stack
	*c = call{done: c.done}
	calls.Put(c)
	if panicked != nil {
		panic(&ThreadPanic{Value: panicked, Stack: stack})
	}
	return err
}

// ThreadPanic is the value with which Do panics after its function did.
type ThreadPanic struct {
	Value any    // the function's own panic value
	Stack []byte // the stack of the device's thread at that time
}

func (p *ThreadPanic) Error() string {
	return fmt.Sprintf("glcompute: panic on the device's thread: %v\n%s", p.Value, p.Stack)
}

// Unwrap gives the panic value if it is an error.
func (p *ThreadPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}
