package megakernel

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"ringmaster/ring"
)

// Errors of an engine.
var (
	// ErrQueue says that nothing was ever submitted or written to a queue.
	ErrQueue = errors.New("unknown queue")
	// ErrWindow says that a transfer leaves the queue's window.
	ErrWindow = errors.New("outside the window")
	// ErrDevice says that what the device left behind contradicts itself.
	ErrDevice = errors.New("device memory is inconsistent")
	// ErrClosed says that the engine has been closed.
	ErrClosed = errors.New("engine is closed")
)

// Engine runs batches on one device. Launch, Read, Write, Move and Close run
// one at a time, which the engine enforces. Submit, Pending and Resident may be
// called from any goroutine meanwhile and never wait for the device.
type Engine struct {
	cfg   Config
	bytes uint64 // device memory of all buffers

	// device serialises the users of the device and guards the fields up to mu.
	device   sync.Mutex
	dev      Device
	limits   deviceLimits
	closed   bool
	memory   *memory
	programs programs
	pool     *ring.Pool
	lastEnd  time.Time // end of the dispatch before
	scratch  scratch

	// owners has, for each slot of the pool, the batch it came from.
	owners   []owner
	steps    []uint32 // for each page, the most loop steps a slot of it takes
	resident []bool   // for each page, whether the device has its slots
	first    int      // (queue, priority) pairs that own at least one page

	// mu guards the fields below. It is taken after device, never before.
	mu      sync.Mutex
	queues  map[string]*queue
	batches []*batch // submitted and not finished, by number
	free    []uint32 // numbers of batches not in use
	pending int
}

// owner says which slot of which batch a pool slot is.
type owner struct {
	batch uint32 // number of the batch
	index uint32 // position in the batch
}

// New allocates the engine's memory on a device. The engine does not own the
// device: close the engine first, then the device.
func New(dev Device, cfg Config) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if !littleEndian() {
		return nil, errors.New("megakernel: hosts with big-endian words are not supported")
	}
	pool, err := ring.NewPool(cfg.Pages)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		cfg:      cfg,
		programs: programs{limit: cfg.Programs},
		pool:     pool,
		owners:   make([]owner, cfg.Pages*ring.PageSlots),
		steps:    make([]uint32, cfg.Pages),
		resident: make([]bool, cfg.Pages),
		queues:   make(map[string]*queue),
		scratch:  newScratch(cfg.Pages),
	}
	if err := e.attach(dev); err != nil {
		return nil, err
	}
	e.bytes = e.memory.bytes()
	return e, nil
}

// attach allocates the engine's memory on a device.
func (e *Engine) attach(dev Device) error {
	return dev.Do(func() error {
		m, err := newMemory(dev, e.cfg.Pages, int(e.cfg.HeapWords), PrintRecords)
		if err != nil {
			return err
		}
		e.dev, e.memory, e.limits = dev, m, deviceLimitsOf(dev)
		e.programs.kept = nil
		clear(e.resident)
		return nil
	})
}

// Move goes on with another device after the one before was lost, whose
// objects are gone with it. What is pending is kept and will be uploaded
// again. Windows begin anew as zeros: what work left in them is lost, and
// slots that were finished do not run again. On an error nothing has changed.
func (e *Engine) Move(dev Device) error {
	e.device.Lock()
	defer e.device.Unlock()
	if e.closed {
		return ErrClosed
	}
	return e.attach(dev)
}

// Close frees the engine's memory on the device. Work that is pending is lost.
func (e *Engine) Close() error {
	e.device.Lock()
	defer e.device.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	return e.dev.Do(func() error {
		e.programs.deleteAll(e.dev)
		e.memory.delete()
		return nil
	})
}

// Resident is the bytes of device memory the engine's buffers take.
func (e *Engine) Resident() uint64 { return e.bytes }

// Pending is the number of a queue's slots that are submitted and not finished.
func (e *Engine) Pending(name string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if q := e.queues[name]; q != nil {
		return q.pending
	}
	return 0
}

// Submit takes a batch for a queue; its slots belong to the engine until the
// batch is reported. A queue is created, with a window of zeros, by its first
// batch. An error means that nothing was taken.
func (e *Engine) Submit(name string, work Batch) error {
	if err := checkBatch(&work, e.cfg.MaxBatchSlots); err != nil {
		return err
	}
	b := &batch{Batch: work, result: BatchResult{ID: work.ID, Tag: work.Tag}}
	if work.WantResults {
		b.result.Results = make([]uint32, len(work.Slots))
	}
	b.openSegment()

	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pending+len(b.Slots) > e.cfg.MaxPending {
		return fmt.Errorf("megakernel: batch %q: %d slots pending and %d more, the limit is %d: %w",
			b.ID, e.pending, len(b.Slots), e.cfg.MaxPending, ErrBacklog)
	}
	q, err := e.queue(name)
	if err != nil {
		return err
	}
	if n := len(e.free); n > 0 {
		b.number = e.free[n-1]
		e.free = e.free[:n-1]
		e.batches[b.number] = b
	} else {
		b.number = uint32(len(e.batches))
		e.batches = append(e.batches, b)
	}
	b.sequence = q.sequence
	q.sequence += uint32(len(b.Slots))
	q.pending += len(b.Slots)
	e.pending += len(b.Slots)
	q.open(b)
	return nil
}

// queue finds a queue or creates it. Called with mu held.
func (e *Engine) queue(name string) (*queue, error) {
	if q := e.queues[name]; q != nil {
		return q, nil
	}
	n := len(e.queues)
	if n == e.cfg.MaxQueues {
		return nil, fmt.Errorf("megakernel: queue %q: all %d windows are taken: %w", name, n, ErrQueues)
	}
	q := &queue{tenant: uint32(n), base: uint32(n) * e.cfg.WindowWords, length: e.cfg.WindowWords}
	e.queues[name] = q
	return q, nil
}

// Write stores words in a queue's window from a word offset on. It creates the
// queue if there is none.
func (e *Engine) Write(name string, offset uint32, words []uint32) error {
	// The copy is an allocation without Go pointers around it, which the
	// caller's slice need not be and cgo demands.
	words = slices.Clone(words)
	return e.transfer(name, offset, len(words), true, func(at int) { write(e.memory, ring.BindHeap, at, words) })
}

// Read fetches words of a queue's window from a word offset on.
func (e *Engine) Read(name string, offset uint32, words []uint32) error {
	fetched := make([]uint32, len(words))
	err := e.transfer(name, offset, len(words), false, func(at int) { read(e.memory, ring.BindHeap, at, fetched) })
	if err == nil {
		copy(words, fetched)
	}
	return err
}

// transfer checks a transfer against the window and runs it on the device.
func (e *Engine) transfer(name string, offset uint32, n int, create bool, move func(at int)) error {
	e.device.Lock()
	defer e.device.Unlock()
	if e.closed {
		return fmt.Errorf("megakernel: queue %q: %w", name, ErrClosed)
	}
	e.mu.Lock()
	q := e.queues[name]
	var err error
	if q == nil && create {
		q, err = e.queue(name)
	}
	e.mu.Unlock()
	switch {
	case err != nil:
		return err
	case q == nil:
		return fmt.Errorf("megakernel: queue %q: %w", name, ErrQueue)
	case uint64(offset)+uint64(n) > uint64(q.length):
		return fmt.Errorf("megakernel: queue %q: words %d to %d of %d: %w", name, offset, uint64(offset)+uint64(n), q.length, ErrWindow)
	}
	return e.dev.Do(func() error {
		move(int(q.base + offset))
		return e.dev.Check()
	})
}
