package megakernel

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/ledger"
)

// Engine runs batches on one device. All its methods may be called from any goroutine.
// Only Read, Write, Prints, Launch, Wait, Borrow, Move and Close wait for the device; what
// they and Start do on it happens in the order of the calls.
//
// Three goroutines belong to an engine: the pump, which uses the device's thread, the
// settler, which takes over the results of waves, and the clock, which ends batches at
// their deadlines. A Launch with nothing else under way does the work of pump and settler
// itself.
//
// Locks, in the order in which they are taken:
//
//	deviceMu   the executor: the device, its programs and the lease. Held by the pump, or by
//	           a Launch that runs its wave itself. Never taken with mu held, only tried.
//	mu         the ledger, the flights' places, and whether the engine moves or is closed.
//	pump.mu    the list of jobs.
//
// Fields without a lock have an owner instead: what belongs to a flight is its holder's
// (see flight), and a page's words in staging are those of whoever reserved them.
type Engine struct {
	// Set by New and never changed.
	cfg     Config
	catalog *kernel.Catalog
	flights []*flight
	hands   int // goroutines that may write one batch

	// Guarded by deviceMu.
	deviceMu  sync.Mutex
	exec      *executor
	submitted []*flight // on the device, oldest first

	pump     pump
	settling chan *flight  // from the pump to the settler
	settlers chan struct{} // closed when the settler has ended
	clock    clock

	// Guarded by mu.
	mu         sync.Mutex
	ledger     *ledger.Ledger
	promotions []promotion // by the number of the queue's window
	idle       []*flight   // places that are free
	handedOut  sync.Cond   // a flight's report was, or the engine moved or closed
	staging    []*staging  // under way, in any order
	stagings   uint64      // begun so far
	staged     sync.Cond   // one of them is published
	inFlight   int         // flights started and not settled
	settled    sync.Cond   // one of them was
	moving     bool        // Move is under way
	rebuilding bool        // and allocates on the other device
	closed     bool
}

// New allocates the engine's memory on a device. The engine does not own the device: close
// the engine first, then the device. The error wraps ErrTooLarge if the device's blocks are
// too small.
func New(dev gpu.Device, cfg Config) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if !gpu.LittleEndian() {
		return nil, errors.New("hosts with big-endian words are not supported")
	}
	if cfg.Catalog == nil {
		cfg.Catalog = kernel.BuiltIn()
	}
	e := &Engine{
		cfg: cfg, catalog: cfg.Catalog,
		pump: newPump(), clock: newClock(),
		settling: make(chan *flight, cfg.InFlight), settlers: make(chan struct{}),
		submitted:  make([]*flight, 0, cfg.InFlight),
		promotions: make([]promotion, cfg.MaxQueues),
		hands:      handsOf(runtime.GOMAXPROCS(0)),
	}
	var err error
	if e.ledger, err = ledger.New(e.ledgerConfig()); err != nil {
		return nil, err
	}
	e.handedOut.L, e.staged.L, e.settled.L = &e.mu, &e.mu, &e.mu
	for i := range cfg.InFlight {
		f := newFlight(e, i)
		e.flights = append(e.flights, f)
		e.idle = append(e.idle, f)
	}
	e.exec = newExecutor(e)
	if err := e.exec.attach(dev); err != nil {
		return nil, err
	}
	go e.runPump()
	go e.runSettler()
	go e.runClock()
	return e, nil
}

// Close waits for the waves in flight and frees the engine's memory on the device. Pending
// work is lost. Reports that were not handed out can still be taken. Config.Ended has
// returned for the last time before Close returns.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		<-e.settlers
		return nil
	}
	e.closed = true
	e.handedOut.Broadcast()
	for len(e.staging) > 0 {
		e.staged.Wait()
	}
	e.mu.Unlock()
	e.pump.close()
	<-e.settlers
	e.clock.close()
	e.deviceMu.Lock()
	defer e.deviceMu.Unlock()
	return e.exec.close()
}

// now is the clock of deadlines and rates.
func (e *Engine) now() time.Time {
	if e.cfg.Now != nil {
		return e.cfg.Now()
	}
	return time.Now()
}

// Pending is the number of a queue's slots that are submitted and not finished.
func (e *Engine) Pending(queue string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ledger.Pending(queue)
}

// Finished hands out the batches of a queue that ended outside of any launch, canceled or
// past their deadline, each once. If nobody asks, they come with the queue's next report.
func (e *Engine) Finished(queue string) []BatchResult {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ledger.Finished(queue)
}

// Cancel withdraws the batches of a queue that have an id: slots that are in no wave are
// dropped, those in a wave finish. It returns the number of batches and of the slots that
// were dropped at once; more may follow when a wave ends. The batches are reported once
// none of their slots is in flight.
func (e *Engine) Cancel(queue, id string) (batches, slots int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.lookAtClock()
	return e.ledger.Cancel(e.now(), queue, id)
}

// Configure gives a queue, there or still to come, other options. They hold for batches
// submitted and waves started from then on, also when the queue has lost its window in
// between. Batches that are pending and hold an opcode which the options forbid are
// withdrawn with ErrForbidden: their slots in no wave do not run. The error is ErrClosed,
// or says which option cannot work.
func (e *Engine) Configure(queue string, options QueueOptions) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return ErrClosed
	}
	defer e.lookAtClock()
	return e.ledger.Configure(e.now(), queue, options)
}

// Stats is a snapshot of an engine.
type Stats struct {
	InFlight int // waves started whose report was not handed out
	Building int // kernels asked for ahead or in vain that are not built yet
	ledger.Stats
}

// Stats takes a snapshot.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	programs := e.exec.programs.Store().Stats()
	return Stats{InFlight: len(e.flights) - len(e.idle), Building: programs.Waiting + programs.Building, Stats: e.ledger.Stats()}
}
