package ledger

import (
	"errors"
	"time"

	"ringmaster/ring"
)

// Errors of Check, NewEntry and Submit. They mean that nothing of the batch was taken.
var (
	// ErrBatch says that a batch can never run as it is.
	ErrBatch = errors.New("batch is malformed")
	// ErrBacklog says that too many slots are pending; later there may be room.
	ErrBacklog = errors.New("too many slots are pending")
	// ErrQueues says that the windows are in use by other queues; later one may
	// be free.
	ErrQueues = errors.New("no window is free for another queue")
	// ErrQuota says that a queue has as many slots pending as its quota allows;
	// later there may be room.
	ErrQuota = errors.New("the queue's quota is used up")
	// ErrForbidden says that a batch holds an opcode its queue must not use. It is also
	// why slots are dropped whose opcode a narrower mask forbids.
	ErrForbidden = errors.New("opcode is not allowed for the queue")
)

// Other reasons why slots of a batch are dropped.
var (
	// ErrCanceled says that Cancel withdrew the rest of a batch.
	ErrCanceled = errors.New("batch was canceled")
	// ErrDeadline says that a batch's deadline passed before all its slots ran.
	ErrDeadline = errors.New("deadline of the batch passed")
	// ErrHeapLost says that the window's contents, on which the batch may depend, are gone.
	ErrHeapLost = errors.New("heap lost")
)

// Other errors.
var (
	// ErrQueue says that nothing was ever submitted or written to a queue.
	ErrQueue = errors.New("unknown queue")
	// ErrWindow says that a range of words leaves the queue's window.
	ErrWindow = errors.New("outside the window")
	// ErrDevice says that what the device left behind contradicts itself.
	ErrDevice = errors.New("device memory is inconsistent")
)

// Config sizes a ledger. Nothing in it changes after New.
type Config struct {
	Pages         int           // pages of ring.PageSlots slots; at least ring.Priorities for each window
	Windows       int           // parts of the heap, and so queues at a time; 1..MaxWindows
	WindowWords   uint32        // words of a window
	WindowHold    time.Duration // how long a window that is written to is not given to another queue
	MaxPending    int           // slots submitted and not finished, over all queues
	MaxBatchSlots int           // slots of one batch
	AgeThreshold  uint32        // waves of a queue after which a page that was in none of them is aged
	Queue         QueueOptions  // of queues that were not configured
	Fence         uint32        // the opcode that ends a segment
	Epoch         uint64        // of the windows given out first

	// Fits reports whether slots of some opcodes, with at most some loop steps each, can
	// be in one wave; nil: all can. Slots of one batch that passed it always can.
	Fits func(opcodes uint64, steps uint32) bool
}

// Ledger is the books. See the package comment for who may call what.
type Ledger struct {
	cfg    Config
	pool   *ring.Pool
	pages  []page
	owners []owner // of each slot of the pool; written by whoever reserved it
	first  int     // (queue, priority) pairs that own at least one page

	queues     map[string]*queue
	options    map[string]QueueOptions // of queues that were configured
	generation []uint32                // how often each window was given out
	given      int                     // windows below have been given out
	reused     []Window                // given to another queue and not cleared yet
	epoch      uint64

	entries   []*Entry // submitted and not finished, by number
	free      []uint32 // numbers of entries not in use
	serial    uint64
	pending   int
	deadlines deadlines
	ended     []string // queues whose batches ended outside Settle, see Ended
	settling  *queue   // the queue of the wave that Settle is at
}

// page is what the ledger knows about a page besides the pool.
type page struct {
	opcodes uint64 // of its slots
	steps   uint32 // the most loop steps a slot of it takes
	results bool   // a slot of it wants its result
	again   bool   // a slot of it yielded or was requeued in its last wave
}

// owner says which slot of which batch a pool slot is.
type owner struct {
	entry uint32 // number of the entry
	index uint32 // position in the batch
}

// New makes an empty ledger. The configuration is one that works, but for Pages.
func New(cfg Config) (*Ledger, error) {
	pool, err := ring.NewPool(cfg.Pages)
	if err != nil {
		return nil, err
	}
	if cfg.Fits == nil {
		cfg.Fits = func(uint64, uint32) bool { return true }
	}
	return &Ledger{
		cfg:        cfg,
		pool:       pool,
		pages:      make([]page, cfg.Pages),
		owners:     make([]owner, cfg.Pages*ring.PageSlots),
		queues:     make(map[string]*queue),
		options:    make(map[string]QueueOptions),
		generation: make([]uint32, cfg.Windows),
		epoch:      cfg.Epoch,
	}, nil
}

// Pending is the number of a queue's slots that are submitted and not finished.
func (l *Ledger) Pending(name string) int {
	if q := l.queues[name]; q != nil {
		return q.pending
	}
	return 0
}

// Statuses is the image of n pages' status words from first on, for an upload. The caller
// does not change it. The words of pages in a wave change with Collect only.
func (l *Ledger) Statuses(first, n int) []ring.Status { return l.pool.Statuses(first, n) }
