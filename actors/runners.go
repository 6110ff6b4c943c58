package actors

import (
	"runtime"
	"sync"
)

// runners runs the mailboxes on a few goroutines that live as long as the
// system. The library itself starts a new goroutine each time a mailbox has
// something. The stack of that goroutine then grows anew in every decision, which
// costs more than the decision, and another processor is woken for it. Here the
// goroutine of a stage that sends to the next one goes on to run that one itself.
//
// A mailbox may have to wait until another has been run, so receivers must not
// block on each other; none does.
type runners struct {
	mu     sync.Mutex
	more   sync.Cond
	queue  []func() // from next on
	next   int
	awake  int // run mailboxes, or have been told to
	idle   int
	limit  int
	closed bool
	all    sync.WaitGroup
}

// mailboxTurn is how many messages of one mailbox are handled in a row before
// its runner lets other goroutines run.
const mailboxTurn = 300

func newRunners() *runners {
	r := &runners{limit: max(2, runtime.GOMAXPROCS(0))}
	r.more.L = &r.mu
	return r
}

// Throughput implements the library's dispatcher.
func (r *runners) Throughput() int { return mailboxTurn }

// Schedule implements the library's dispatcher: run is called soon, once, from
// another goroutine. Another runner is woken only if there is more to run than the
// runners that are awake will take.
func (r *runners) Schedule(run func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed { // what the library still tells its own actors
		go run()
		return
	}
	if len(r.queue) == cap(r.queue) && r.next > len(r.queue)/2 {
		n := copy(r.queue, r.queue[r.next:])
		clear(r.queue[n:])
		r.queue, r.next = r.queue[:n], 0
	}
	r.queue = append(r.queue, run)
	if len(r.queue)-r.next <= r.awake || r.awake == r.limit {
		return
	}
	r.awake++
	if r.idle > 0 {
		r.idle--
		r.more.Signal()
		return
	}
	r.all.Go(r.loop)
}

func (r *runners) loop() {
	for run := r.take(); run != nil; run = r.take() {
		run()
	}
}

// take waits for the next mailbox, or returns nil at the end.
func (r *runners) take() func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.next == len(r.queue) {
		if r.closed {
			return nil
		}
		r.awake--
		r.idle++
		r.more.Wait()
	}
	run := r.queue[r.next]
	r.queue[r.next] = nil
	if r.next++; r.next == len(r.queue) {
		r.queue, r.next = r.queue[:0], 0
	}
	return run
}

// close runs what is left and returns when no runner is left.
func (r *runners) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.more.Broadcast()
	r.all.Wait()
}
