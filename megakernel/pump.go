package megakernel

import (
	"fmt"
	"sync"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/ring"
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
// device to itself; see runHere.
type pump struct {
	mu     sync.Mutex
	jobs   []job
	head   int
	closed bool
	wake   chan struct{} // holds one token if there may be something to do
}

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
	poll := e.newPoll()
	for {
		e.turn.Lock()
		found, open := e.pumpOnce(poll)
		e.turn.Unlock()
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
// Called with turn held.
func (e *Engine) pumpOnce(poll func(f *flight, wait bool) (bool, error)) (found, open bool) {
	j, ok, open := e.pump.take()
	switch {
	case ok && j.flight != nil:
		e.launchNext(j.flight)
		return true, open
	case ok && j.plain:
		j.done <- j.fn()
	case ok:
		err := e.lease.end(LeaseEndTransfer)
		if err == nil {
			err = e.dev.Do(j.fn)
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
// it to the settler if it is done or failed. Called with turn held.
func (e *Engine) lookAfter(poll func(f *flight, wait bool) (bool, error), wait bool) {
	f := e.submitted[0]
	done, err := poll(f, wait)
	if err == nil && !done {
		return
	}
	if f.err = err; err == nil {
		f.err = e.dev.Do(f.fetch)
	} else {
		_ = e.dev.Do(f.abandon) // the error is known
	}
	e.unpick(f)
	e.submitted = append(e.submitted[:0], e.submitted[1:]...)
	e.settling <- f
}

// launchNext brings a flight to the device, or runs it on the resident kernel.
func (e *Engine) launchNext(f *flight) {
	if len(e.submitted) == 0 && e.leased(f) {
		e.settling <- f
		return
	}
	if f.err = e.bring(f, f.submit); f.err == nil {
		e.submitted = append(e.submitted, f)
		return
	}
	e.unpick(f)
	e.settling <- f
}

// bring ends what the resident kernel does, chooses a wave's kernel and runs submit
// on the device's thread. Called with turn held.
func (e *Engine) bring(f *flight, submit func() error) error {
	if err := e.lease.end(e.leaseEndFor(f)); err != nil {
		return err
	}
	if err := e.shape(f); err != nil {
		return err
	}
	return e.dev.Do(submit)
}

// newPoll returns a function that asks for a flight's fence, or waits a short time for it.
func (e *Engine) newPoll() func(f *flight, wait bool) (done bool, err error) {
	var fence gpu.Fence
	var timeout time.Duration
	var done bool
	ask := func() (err error) {
		done, err = e.dev.WaitFence(fence, uint64(timeout))
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
		err := e.dev.Do(ask)
		return done, err
	}
}

// submitWave uploads a wave's pages, dispatches it and puts a fence behind what
// it leaves. Called on the device's thread.
func (e *Engine) submitWave(f *flight) error {
	m, dev := e.memory, e.dev
	near := m.near(len(f.entries)) && !e.watched.Load()
	m.bindWave(f.index, near)
	f.runs(func(first, n, _ int) {
		m.uploadStatuses(first*ring.PageSlots, e.pool.Statuses(first, n), near)
	})
	if !near {
		e.uploadSlots(f)
	}
	clear(f.control)
	m.uploadSchedule(f.index, f.schedule, f.control, near)

	timed := dev.Supports("timestamp") && !m.direct
	f.submitted = time.Now()
	p := f.picked.program.Value
	p.set(dev, &f.wave)
	if timed {
		dev.Timestamp(e.query(f, 0))
	}
	dev.Dispatch(p.id, f.geometry.Groups)
	dev.Barrier()
	if f.chained.program != nil {
		e.chain(f)
	}
	if timed {
		dev.Timestamp(e.query(f, 1))
	}
	if !near {
		f.runs(func(first, n, _ int) { m.returnWords(first, n, f.results) })
	}
	m.returnControl(f.index)
	f.fence = dev.InsertFence()
	dev.Flush()
	m.clearControl(f.index, f.control)
	if err := dev.Check(); err != nil {
		e.abandonWave(f)
		return fmt.Errorf("dispatch: %w", err)
	}
	return nil
}

// abandonWave forgets a wave that was dispatched and cannot be waited for. It may still
// run, and would write to pages and a control block that the next wave gets, so the device
// is finished first. Called on the device's thread.
func (e *Engine) abandonWave(f *flight) {
	e.dev.DeleteFence(f.fence)
	e.dev.Finish()
	e.memory.cleared[f.index] = false
}

// chain dispatches the interpreter on the cold list that a fused kernel leaves, with
// as many workgroups as that kernel said. Called on the device's thread.
func (e *Engine) chain(f *flight) {
	m, p := e.memory, f.chained.program.Value
	m.bindScheduleOf(f.index, true)
	p.set(e.dev, &f.cold)
	control, _ := m.place(ring.BindControl, f.index)
	e.dev.DispatchIndirect(p.id, m.buffers[ring.BindControl], control+ring.ColdDispatchOffset)
	e.dev.Barrier()
}

// query is one of a flight's two timestamp queries, made at its first use.
func (e *Engine) query(f *flight, i int) gpu.Query {
	if f.queries[i].Query == 0 {
		f.queries[i] = e.dev.NewQuery()
	}
	return f.queries[i]
}

// uploadSlots sends the slots of a wave's pages that the device does not have.
func (e *Engine) uploadSlots(f *flight) {
	for i := 0; i < len(f.entries); {
		first := f.entries[i].Page()
		n := 0
		for i+n < len(f.entries) && f.entries[i+n].Page() == first+uint32(n) && !e.pages[first+uint32(n)].resident {
			e.pages[first+uint32(n)].resident = true
			n++
		}
		if n > 0 {
			e.memory.uploadSlots(int(first), n)
		}
		i += max(n, 1)
	}
}

// fetchWave takes the times of a wave whose fence is done, and reads what came
// back where it does not come by itself. Called on the device's thread.
func (e *Engine) fetchWave(f *flight) error {
	dev := e.dev
	f.ended = time.Now()
	dev.DeleteFence(f.fence)
	begin := f.submitted
	if e.lastEnd.After(begin) {
		begin = e.lastEnd // it waited behind the wave before
	} else if !e.lastEnd.IsZero() {
		f.report.IdleNs = uint64(begin.Sub(e.lastEnd))
	}
	device := uint64(0)
	if f.queries[0].Query != 0 {
		t0, ok0 := dev.QueryResult(f.queries[0])
		t1, ok1 := dev.QueryResult(f.queries[1])
		if ok0 && ok1 && t1 > t0 {
			device = t1 - t0
		}
	}
	f.report.ElapsedNs, f.report.TimeSource = elapsed(device, uint64(f.ended.Sub(begin)))
	e.lastEnd = f.ended
	f.runs(func(first, n, _ int) { e.memory.fetch(first, n, f.results) })
	e.memory.fetchControl(f.index, f.control)
	return dev.Check()
}
