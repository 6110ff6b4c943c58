package megakernel

import (
	"sync"
	"time"

	"ringmaster/megakernel/gpu"
)

// job is one thing to do on the device: a wave to submit, or anything else,
// whose error goes to done.
type job struct {
	flight *flight
	fn     func() error
	plain  bool // fn is called on the pump's goroutine, not the device's thread
	done   chan error
}

// pump brings jobs to the device in the order in which they were added, and
// waits for the fences of the waves in flight. It is the only user of the device's
// thread, so that nobody else ever waits for it, but for a Launch that has the
// device to itself; see runInline.
type pump struct {
	mu     sync.Mutex
	jobs   []job
	head   int
	closed bool
	wake   chan struct{} // holds one token if there may be something to do
}

func newPump() pump { return pump{wake: make(chan struct{}, 1)} }

// add puts a job behind the others. Callers hold the engine's lock and have seen that it is not closed,
// so a job after close is a bug: nobody would ever do it.
func (p *pump) add(j job) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		panic("megakernel: a job for a pump that is closed")
	}
	if p.head > 0 && len(p.jobs) == cap(p.jobs) {
		n := copy(p.jobs, p.jobs[p.head:])
		clear(p.jobs[n:])
		p.jobs, p.head = p.jobs[:n], 0
	}
	p.jobs = append(p.jobs, j)
	p.mu.Unlock()
	p.signal()
}

// take is the next job, if there is one, and whether more may come.
func (p *pump) take() (j job, ok, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.head == len(p.jobs) {
		return job{}, false, !p.closed
	}
	j = p.jobs[p.head]
	p.jobs[p.head] = job{}
	p.head++
	if p.head == len(p.jobs) {
		p.jobs, p.head = p.jobs[:0], 0
	}
	return j, true, true
}

// close lets the pump end when its jobs are done.
func (p *pump) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.signal()
}

func (p *pump) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// fenceWait bounds one wait for a fence, so that a wave started meanwhile gets
// to the device soon; a wave that takes long is asked for less often.
const (
	fenceWait     = 20 * time.Microsecond
	fenceWaitLong = 500 * time.Microsecond
)

// idle reports whether no job waits.
func (p *pump) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.head == len(p.jobs)
}

// runPump is the pump's goroutine. It ends, and with it the settler, after
// Close, when no wave is in flight.
func (e *Engine) runPump() {
	defer close(e.settling)
	poll := e.exec.newPoll()
	for {
		e.deviceMu.Lock()
		found, open := e.pumpOnce(poll)
		e.deviceMu.Unlock()
		switch {
		case found:
		case !open:
			return
		default:
			<-e.pump.wake
		}
	}
}

// pumpOnce does the next job, or looks after the oldest wave in flight. It
// reports whether there was something to do, and whether more may come.
// Called with deviceMu held.
func (e *Engine) pumpOnce(poll func(f *flight, wait bool) (bool, error)) (found, open bool) {
	j, ok, open := e.pump.take()
	switch {
	case ok && j.flight != nil:
		e.launchNext(j.flight)
		return true, open
	case ok && j.plain:
		j.done <- j.fn()
	case ok:
		err := e.exec.lease.end()
		if err == nil {
			err = e.exec.dev.Do(j.fn)
		}
		j.done <- err
	case len(e.submitted) == 0:
		return false, open
	}
	if len(e.submitted) > 0 {
		// Also after a transfer, or a stream of them would keep waves from being settled.
		e.lookAfter(poll, !ok)
	}
	return true, open
}

// lookAfter asks for the oldest wave in flight, or waits a short time for it, and hands
// it to the settler if it is done or failed. Called with deviceMu held.
func (e *Engine) lookAfter(poll func(f *flight, wait bool) (bool, error), wait bool) {
	f := e.submitted[0]
	done, err := poll(f, wait)
	if err == nil && !done {
		return
	}
	if f.err = err; err == nil {
		f.err = e.exec.dev.Do(f.fetch)
	} else {
		_ = e.exec.dev.Do(f.abandon) // the error is known
	}
	e.exec.releasePrograms(f)
	e.submitted = append(e.submitted[:0], e.submitted[1:]...)
	e.settling <- f
}

// launchNext brings a flight to the device, or runs it on the resident kernel.
func (e *Engine) launchNext(f *flight) {
	if len(e.submitted) == 0 && e.exec.leased(f) {
		e.settling <- f
		return
	}
	if len(e.submitted) > 0 && f.mode != ModeWave {
		f.notLeased = "waves are under way"
	}
	if f.err = e.exec.bring(f, f.submit); f.err == nil {
		e.submitted = append(e.submitted, f)
		return
	}
	e.exec.releasePrograms(f)
	e.settling <- f
}

// bring ends the resident kernel, which keeps the device's thread busy, chooses a wave's
// kernel and runs submit on the device's thread. Called with deviceMu held.
func (x *executor) bring(f *flight, submit func() error) error {
	if err := x.lease.end(); err != nil {
		return err
	}
	if err := x.shape(f); err != nil {
		return err
	}
	return x.dev.Do(submit)
}

// newPoll returns a function that asks for a flight's fence, or waits a short time for it.
func (x *executor) newPoll() func(f *flight, wait bool) (done bool, err error) {
	var fence gpu.Fence
	var timeout time.Duration
	var done bool
	ask := func() (err error) {
		done, err = x.dev.WaitFence(fence, uint64(timeout))
		return err
	}
	return func(f *flight, wait bool) (bool, error) {
		fence, timeout, done = f.fence, 0, false
		if wait {
			timeout = fenceWait
		}
		if wait && time.Since(f.submitted) > 20*fenceWaitLong {
			timeout = fenceWaitLong
		}
		err := x.dev.Do(ask)
		return done, err
	}
}

// inlineWait bounds how long a Launch that runs its wave itself keeps the device's thread;
// after that the pump takes over.
const inlineWait = 200 * time.Microsecond

// runInline runs a launch whose caller holds deviceMu: on the resident kernel, or as a
// wave. It hands the wave to the pump if it takes long or somebody else wants the device.
func (e *Engine) runInline(f *flight) {
	if !e.exec.leased(f) {
		f.fetched = false
		f.err = e.exec.bring(f, f.submitAndSpin)
		if f.err == nil && !f.fetched {
			e.submitted = append(e.submitted, f)
			e.deviceMu.Unlock()
			e.pump.signal()
			return
		}
		e.exec.releasePrograms(f)
	}
	if f.err == nil {
		e.exec.load(f) // before Close or Move may have the device and free the memory
	}
	e.deviceMu.Unlock()
	e.settle(f)
}
