package megakernel

import (
	"fmt"
	"time"

	"ringmaster/ring"
)

// windowBits are the low bits of a tenant that number its window; those above
// count how often the window was given out.
const windowBits = 16

// windows are the parts of the heap that queues own.
type windows struct {
	free       []int    // numbers not in use, the next one last
	generation []uint32 // how often each was given out
}

func newWindows(n int) windows {
	w := windows{generation: make([]uint32, n)}
	for i := n - 1; i >= 0; i-- {
		w.free = append(w.free, i)
	}
	return w
}

// take gives a window out under a tenant that it never had before, until its
// generations wrap after 65,536.
func (w *windows) take() (window int, tenant uint32, ok bool) {
	n := len(w.free)
	if n == 0 {
		return 0, 0, false
	}
	window = w.free[n-1]
	w.free = w.free[:n-1]
	tenant = w.generation[window]<<windowBits | uint32(window)
	w.generation[window]++
	return window, tenant, true
}

// give takes a window back. It goes out again after those that are free now.
func (w *windows) give(window int) {
	w.free = append(w.free, 0)
	copy(w.free[1:], w.free)
	w.free[0] = window
}

// queue finds a queue or creates it, with a window that no other queue needs, and notes
// that it is used. Called with mu held.
func (e *Engine) queue(name string) (*queue, error) {
	now := e.now()
	if q := e.queues[name]; q != nil {
		q.used = now
		return q, nil
	}
	window, tenant, ok := e.windows.take()
	if !ok {
		if err := e.evict(now); err != nil {
			return nil, fmt.Errorf("megakernel: queue %q: %w", name, err)
		}
		window, tenant, _ = e.windows.take()
	}
	options, ok := e.options[name]
	if !ok {
		options = e.cfg.Queue
	}
	q := &queue{
		name: name, tenant: tenant, window: window, epoch: e.epoch.Load(), used: now,
		base: uint32(window) * e.cfg.WindowWords, length: e.cfg.WindowWords,
		options: options, quota: newBucket(options, now),
	}
	e.queues[name] = q
	return q, nil
}

// evict ends the queue that was used least recently of those that nobody needs: no
// batch of theirs is under way or waits to be reported, nothing is allocated in their
// windows, and their last transfer was Config.WindowHold ago, which leaves who uploads
// time to submit what reads it. What was in the window is gone: work that names its
// epoch is dropped as after a loss. Called with mu held.
func (e *Engine) evict(now time.Time) error {
	var oldest *queue
	held := 0
	for _, q := range e.queues {
		switch {
		case !q.idle():
		case now.Sub(q.moved) < e.cfg.WindowHold:
			held++
		case oldest == nil || q.used.Before(oldest.used):
			oldest = q
		}
	}
	if oldest == nil {
		return fmt.Errorf("of %d windows %d have work, the others were written or read within %v: %w",
			e.cfg.MaxQueues, e.cfg.MaxQueues-held, e.cfg.WindowHold, ErrQueues)
	}
	delete(e.queues, oldest.name)
	e.recycle(oldest)
	return nil
}

// idle reports whether nothing of a queue would be lost with it but what its window
// holds.
func (q *queue) idle() bool {
	return q.pending == 0 && q.flights == 0 && q.writing == 0 && q.ending == 0 && len(q.finished) == 0 && len(q.allocated) == 0
}

// recycle clears a released queue's window and gives it back, under another epoch. Nothing
// of the queue is in flight. Called with mu held.
func (e *Engine) recycle(q *queue) {
	q.released = false
	if e.closed {
		return
	}
	e.epoch.Add(1)
	done := make(chan error, 1) // nobody asks: a lost device is found by the next wave
	e.pump.add(job{done: done, fn: func() error {
		e.dev.ClearBuffer(e.memory.buffers[ring.BindHeap], int(q.base)*ring.WordBytes, int(q.length)*ring.WordBytes)
		return e.dev.Check()
	}})
	e.windows.give(q.window)
}
