package megakernel

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernelcache/hotset"
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
	// ErrTooLarge says that a ring, a heap or a schedule does not fit the
	// device's storage blocks; a smaller Config does.
	ErrTooLarge = errors.New("too large for the device")
	// ErrMoving says that Move is under way; later there may be a device.
	ErrMoving = errors.New("engine is moving to another device")
	// ErrClosed says that the engine has been closed.
	ErrClosed = errors.New("engine is closed")
)

// Engine runs batches on one device. All its methods may be called from any
// goroutine. Only Read, Write, Launch, Wait, Move and Close wait for the device; what
// they and Start do on it happens in the order of the calls.
//
// Two goroutines belong to an engine: the pump, which uses the device's thread, and
// the settler, which takes over the results of waves. A Launch with nothing else under
// way does the work of both itself.
type Engine struct {
	cfg     Config
	catalog *Catalog
	promote hotset.Config
	bytes   atomic.Uint64 // device memory of all buffers

	statuses atomic.Uint32 // the buffer of status words
	watched  atomic.Bool   // somebody looks at it

	// The pump's. Move changes them while nothing is in flight and nobody writes.
	dev      gpu.Device
	memory   *memory
	programs *Programs
	beside   gpu.Device // programs are built on it; nil if there is none
	lastEnd  time.Time  // end of the wave before
	lease    lease

	// turn is held by whoever uses the device, its programs and the lease: the
	// pump, or a Launch that runs its wave itself. It is taken without mu, or
	// tried with it.
	turn      sync.Mutex
	submitted []*flight // on the device, oldest first; guarded by turn
	// collecting is held while results of batches are written; taken without mu.
	collecting sync.Mutex
	pump       pump
	settling   chan *flight
	stopped    chan struct{} // closed when the settler has ended

	// owners has, for each slot of the pool, the batch it came from. It is
	// written by whoever reserved the slot, before it is published.
	owners []owner

	mu      sync.Mutex
	limits  deviceLimits
	pool    *ring.Pool // status words of pages in flight are the settler's
	pages   []pageInfo
	first   int // (queue, priority) pairs that own at least one page
	flights []*flight
	idle    []*flight
	freed   sync.Cond // a flight's report was handed out, or the engine moved or closed
	writers int       // goroutines writing slots to staging
	written sync.Cond // one of them is done
	room    chan struct{}
	flying  int       // flights started and not settled
	landed  sync.Cond // one of them was
	moving  bool
	// rebuilding is set while Move allocates on the other device.
	rebuilding bool
	closed     bool

	queues    map[string]*queue
	options   map[string]QueueOptions // of queues that were configured
	windows   windows
	batches   []*batch // submitted and not finished, by number
	free      []uint32 // numbers of batches not in use
	pending   int
	serial    uint64
	epoch     atomic.Uint64 // changes with mu held
	deadlines deadlines
	calls     []call
}

// pageInfo is what the engine knows about a page besides the pool.
type pageInfo struct {
	steps    uint32    // the most loop steps a slot of it takes
	opcodes  OpcodeSet // of its slots
	results  bool      // a slot of it wants its result
	resident bool      // the device has its slots; the pump's while the page is in flight
	asked    bool      // a slot of it yielded or was requeued in its last wave
}

// owner says which slot of which batch a pool slot is.
type owner struct {
	batch uint32 // number of the batch
	index uint32 // position in the batch
}

// New allocates the engine's memory on a device. The engine does not own the
// device: close the engine first, then the device.
func New(dev gpu.Device, cfg Config) (*Engine, error) {
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
		catalog:  cfg.Catalog,
		pump:     pump{wake: make(chan struct{}, 1)},
		settling: make(chan *flight, cfg.InFlight),
		stopped:  make(chan struct{}),
		pool:     pool,
		owners:   make([]owner, cfg.Pages*ring.PageSlots),
		pages:    make([]pageInfo, cfg.Pages),
		queues:   make(map[string]*queue),
		options:  make(map[string]QueueOptions),
		windows:  newWindows(cfg.MaxQueues),
	}
	if e.catalog == nil {
		e.catalog = BuiltIn()
	}
	e.epoch.Store(uint64(e.now().UnixMicro()))
	e.promote = promotionConfig(e.catalog)
	e.freed.L, e.written.L, e.landed.L = &e.mu, &e.mu, &e.mu
	e.submitted = make([]*flight, 0, cfg.InFlight)
	for i := range cfg.InFlight {
		f := newFlight(e, i)
		e.flights = append(e.flights, f)
		e.idle = append(e.idle, f)
	}
	if err := e.attach(dev); err != nil {
		return nil, err
	}
	go e.runPump()
	go e.runSettler()
	return e, nil
}

// attach allocates the engine's memory on a device.
func (e *Engine) attach(dev gpu.Device) error {
	var m *memory
	err := dev.Do(func() (err error) {
		m, err = newMemoryFor(dev, e.cfg.Pages, int(e.cfg.HeapWords), PrintRecords, e.cfg.InFlight)
		return err
	})
	if err != nil {
		return err
	}
	if err := e.attachPrograms(dev); err != nil {
		return errors.Join(err, dev.Do(func() error { m.delete(); return nil }))
	}
	e.dev, e.memory = dev, m
	e.limits = deviceLimitsOf(dev)
	e.bytes.Store(m.bytes())
	e.statuses.Store(m.buffers[ring.BindStatus].Buffer)
	e.lastEnd = time.Time{}
	for i := range e.pages {
		e.pages[i].resident = false
	}
	for _, f := range e.flights {
		f.queries = [2]gpu.Query{}
	}
	e.attachLease()
	return nil
}

// Close waits for the waves in flight and frees the engine's memory on the
// device. Pending work is lost. Reports that were not handed out can still be taken.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		<-e.stopped
		return nil
	}
	e.closed = true
	e.freed.Broadcast()
	e.madeRoom()
	for e.writers > 0 {
		e.written.Wait()
	}
	e.mu.Unlock()
	e.pump.close()
	<-e.stopped
	e.turn.Lock()
	defer e.turn.Unlock()
	lease := e.lease.close() // before the device's thread is used
	programs := e.programs.Close()
	closeBeside(e.beside)
	return errors.Join(lease, programs, e.dev.Do(func() error {
		for _, f := range e.flights {
			for _, q := range f.queries {
				e.dev.DeleteQuery(q)
			}
		}
		e.memory.delete()
		return nil
	}))
}

// Resident is the bytes of device memory the engine's buffers take.
func (e *Engine) Resident() uint64 { return e.bytes.Load() }

// Pending is the number of a queue's slots that are submitted and not finished.
func (e *Engine) Pending(name string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if q := e.queues[name]; q != nil {
		return q.pending
	}
	return 0
}

// now is the clock of deadlines and rates.
func (e *Engine) now() time.Time {
	if e.cfg.Now != nil {
		return e.cfg.Now()
	}
	return time.Now()
}
