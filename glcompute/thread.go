package glcompute

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Thread runs functions one after another on one operating-system thread. Make
// one with NewThread; its methods may be called from any goroutine.
type Thread struct {
	calls chan *call
	ended chan struct{}

	// next takes a call without a wake-up: it is awake while the thread looks for
	// one, nil while it does not, and else the call.
	next  atomic.Pointer[call]
	awake call
	spins bool // there are processors enough to look for work instead of sleeping

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
	asleep   atomic.Bool // the caller has to be woken
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
	return &Thread{calls: make(chan *call), ended: make(chan struct{}), spins: runtime.GOMAXPROCS(0) >= spinProcessors}
}

// loop serves calls on the OS thread of the calling goroutine until Close.
func (t *Thread) loop() {
	runtime.LockOSThread()
	defer close(t.ended)
	for {
		c, ok := t.spin()
		if c == nil && ok {
			c, ok = <-t.calls
		}
		if c != nil {
			t.run(c)
		}
		if !ok {
			return
		}
	}
}

// To wake a goroutine on another OS thread takes 5 to 10 microseconds each way, as
// long as a small dispatch. So a thread looks for its next call, and a caller for
// its result, for a while before they sleep, where that keeps nobody from running.
//
// Who wakes another gives its processor away before it looks: what Go wakes runs next on the
// processor of who woke it, and others leave it there. On a machine with 16 idle processors a
// thread that had slept began a call only when its caller had looked for the result for 100
// microseconds, and a caller had it only when the thread had looked for another call for 50.
const (
	spinProcessors = 8
	threadSpin     = 50 * time.Microsecond
	callerSpin     = 100 * time.Microsecond
)

// spin looks for the next call for a while. It reports false if the thread is
// closed, also with the last call.
func (t *Thread) spin() (c *call, open bool) {
	if !t.spins {
		return nil, true
	}
	t.next.Store(&t.awake)
	open = true
	for begin := time.Now(); c == nil && open && t.next.Load() == &t.awake && time.Since(begin) < threadSpin; {
		select {
		case c, open = <-t.calls:
		default:
		}
	}
	if late := t.next.Swap(nil); late != &t.awake {
		if c != nil {
			t.run(c) // it was sent first
		}
		c = late
	}
	return c, open
}

// Do runs fn on the thread, waits for it and returns its error, or ErrClosed if
// the thread is closed and fn did not run. If fn panics, Do panics in the
// calling goroutine with a *ThreadPanic that holds the value and the stack; the thread goes on.
// Do must not be called from inside fn.
func (t *Thread) Do(fn func() error) error {
	c := calls.Get().(*call)
	c.fn = fn
	sent, woken := t.send(c)
	if !sent {
		calls.Put(c)
		return ErrClosed
	}
	if t.spins {
		if woken {
			runtime.Gosched()
		}
		c.spin()
	}
	c.asleep.Store(true)
	select {
	case <-c.done:
	case <-t.ended:
		select {
		case <-c.done:
		default:
			return ErrClosed // as in send, but next had it already
		}
	}
	return c.result()
}

// send gives the thread a call, and says whether that may have woken it.
func (t *Thread) send(c *call) (sent, woken bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.closed {
		return false, false
	}
	if t.spins && t.next.CompareAndSwap(&t.awake, c) {
		return true, false
	}
	select {
	case t.calls <- c:
		return true, true
	case <-t.ended: // a function ended the goroutine with runtime.Goexit
		return false, false
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

// run runs a call and lets its caller go on.
func (t *Thread) run(c *call) {
	if c.run() && t.spins {
		runtime.Gosched()
	}
}

// run executes the function and hands the result over, also if the function panics or
// leaves by runtime.Goexit, as testing.T.Fatal does. It says whether that woke the caller.
func (c *call) run() (woken bool) {
	returned := false
	defer func() {
		if p := recover(); p != nil {
			c.panicked, c.stack = p, debug.Stack()
		} else if !returned {
			c.panicked = errGoexit
		}
		woken = c.asleep.Load() // c is the next caller's as soon as this one has it
		c.done <- struct{}{}
	}()
	c.err = c.fn()
	returned = true
	return
}

var errGoexit = errors.New("OpenGL: a function on the device's thread called runtime.Goexit")

// spin waits a while for the result, awake.
func (c *call) spin() {
	for begin := time.Now(); len(c.done) == 0 && time.Since(begin) < callerSpin; {
	}
}

// result returns what a finished call left and gives it back to the pool.
func (c *call) result() error {
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
	return fmt.Sprintf("OpenGL: panic on the device's thread: %v\n%s", p.Value, p.Stack)
}

// Unwrap gives the panic value if it is an error.
func (p *ThreadPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// mainThread is the one that Main serves, nil while it does not run. There is
// one main thread in a process, hence one variable.
var mainThread struct {
	sync.Mutex
	thread *Thread
}

// ErrNoMain is the reason why the glfw backend does not open in a program whose
// main function does not go through Main.
var ErrNoMain = errors.New("OpenGL: glfw needs the process's main thread: call glcompute.Main from main")

// Main lends the calling thread, which must be that of the main function, to
// GLFW: it runs run in another goroutine, serves the calls that belong on the
// main thread until run returns, and returns run's result, an exit code. Only
// one Main may run at a time.
func Main(run func() int) int {
	t := newThread()
	mainThread.Lock()
	if mainThread.thread != nil {
		mainThread.Unlock()
		panic("OpenGL: Main called while it runs")
	}
	mainThread.thread = t
	mainThread.Unlock()

	code := 0
	go func() {
		defer func() {
			mainThread.Lock()
			mainThread.thread = nil
			mainThread.Unlock()
			t.Close()
		}()
		code = run()
	}()
	t.loop()
	return code
}

// onMain runs fn on the main thread, or returns ErrNoMain.
func onMain(fn func() error) error {
	mainThread.Lock()
	t := mainThread.thread
	mainThread.Unlock()
	if t == nil {
		return ErrNoMain
	}
	return t.Do(fn)
}
