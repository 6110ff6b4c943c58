package lease

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
)

// Errors of a lease.
var (
	// ErrUnavailable says that the device cannot keep a kernel resident: the
	// driver lacks what that needs, or the self-test failed.
	ErrUnavailable = errors.New("no lease on this device")
	// ErrSize says that a slot takes longer than a round of a lease may.
	ErrSize = errors.New("too much for a round of a lease")
	// ErrBroken says that a kernel ended in the middle of a round, so
	// that it is not known which of its slots ran. No kernel is started after that.
	ErrBroken = errors.New("a resident kernel ended within a round")
	// ErrWindow says that a window is not within the heap.
	ErrWindow = errors.New("outside the heap")
	// ErrClosed says that the lease was closed.
	ErrClosed = errors.New("the lease is closed")
)

// Bounds of a lease's duration.
const (
	DefaultDuration = 50 * time.Millisecond
	MaxDuration     = time.Second
	DefaultIdle     = 5 * time.Millisecond
)

// Config says on what a resident kernel works and for how long.
type Config struct {
	Heap       gpu.Buffer // the heap's buffer, which windows are cut from
	HeapBytes  int        // its size
	Print      gpu.Buffer // the print log's buffer, none for one of the lease's own that nobody reads
	PrintBytes int        // its size, as ring.PrintLogWords says

	Duration   time.Duration   // a kernel ends after it; 0: DefaultDuration; at most MaxDuration
	Idle       time.Duration   // a kernel without a round for so long ends; 0: DefaultIdle
	LoopBudget uint32          // loop iterations of one invocation in one dispatch; 0: kernel.DefaultLoopBudget
	Catalog    *kernel.Catalog // nil: kernel.BuiltIn

	// Program gives the linked program of a kernel, which stays until the lease is closed.
	// nil: the lease compiles one for itself.
	Program func(kernel.Kernel) (gpu.Program, error)
}

// Window is a tenant's part of the heap.
type Window struct {
	Tenant uint32
	Base   uint32 // first word
	Length uint32 // words
}

// Lease runs small submissions on a kernel that stays on the device between them,
// which saves the dispatch and the wait for it. A kernel is dispatched when a round
// comes and none is there, and ends by itself after a bounded number of turns or when
// no round comes. While it is there, the device's thread is busy with it, so whoever
// gives that thread other work calls End first. Methods may be called
// from any goroutine.
//
// A round is acknowledged as a whole, after it ran. When a kernel has ended and its
// dispatch is known to be over, the mailbox says whether the last round was
// acknowledged or never begun; in the second case the next kernel finds it there. So
// every slot runs once, whenever a kernel ends.
type Lease struct {
	dev      gpu.Device
	catalog  *kernel.Catalog
	shape    kernel.Kernel
	cfg      Config
	support  Support
	program  gpu.Program
	uniforms [len(uniformNames)]int32
	mailbox  gpu.Buffer

	print gpu.Buffer // the lease's own print log, none if there is none

	// mu lets one round or one end be under way at a time and guards the fields below.
	mu     sync.Mutex
	stats  Stats
	missed int           // of the rounds resubmitted, see timeRounds
	kernel *resident     // the one that is on the device or ended unnoticed, else nil
	number atomic.Uint32 // of the kernel started last
	tail   uint32        // of the round put into the mailbox last
	broken error         // why no kernel is started any more
	turns  uint32        // loop iterations of a kernel
	round  uint32        // of them, most of a round
	idle   uint32        // turns without a round after which a kernel ends

	slots    []ring.Slot // what the driver copies from and to
	records  []kernel.MailRecord
	outcomes []kernel.MailOutcome
	head     []uint32
}

// Open builds the resident kernel, tests it and measures how many turns a
// lease may take. The error says why the device has no lease; waves do the
// same work without one; it says so for good, unless gpu.Lost holds for it. Close the
// lease before the device and before the heap is deleted.
func Open(dev gpu.Device, traits *gpu.Traits, cfg Config) (*Lease, error) {
	if cfg.Duration == 0 {
		cfg.Duration = DefaultDuration
	}
	if cfg.Idle == 0 {
		cfg.Idle = DefaultIdle
	}
	if cfg.LoopBudget == 0 {
		cfg.LoopBudget = kernel.DefaultLoopBudget
	}
	if cfg.Catalog == nil {
		cfg.Catalog = kernel.BuiltIn()
	}
	if cfg.Duration < 0 || cfg.Duration > MaxDuration || cfg.Idle < 0 {
		return nil, fmt.Errorf("lease of %v, idle %v: want at most %v: %w", cfg.Duration, cfg.Idle, MaxDuration, ErrUnavailable)
	}
	if !traits.Mapped {
		return nil, fmt.Errorf("lease: the driver has no persistently mapped buffers (GL_ARB_buffer_storage): %w", ErrUnavailable)
	}
	l := &Lease{dev: dev, catalog: cfg.Catalog, shape: kernel.Kernel{Kind: kernel.Lease, Width: kernel.LeaseWidthFor(traits)}, cfg: cfg,
		slots: make([]ring.Slot, kernel.MailSlots), records: make([]kernel.MailRecord, kernel.MailSlots),
		outcomes: make([]kernel.MailOutcome, kernel.MailSlots), head: make([]uint32, kernel.MailCheck-kernel.MailTenant+1)}
	if err := l.allocate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := l.selfTest(); err != nil {
		l.Close()
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	l.stats = Stats{}
	return l, nil
}

// allocate makes the program and the mailbox.
func (l *Lease) allocate() error {
	if given := l.cfg.Program; given != nil {
		var err error
		if l.program, err = given(l.shape); err != nil {
			return err
		}
	}
	return l.dev.Do(func() (err error) {
		if l.cfg.Program == nil {
			if l.program, err = l.dev.CompileCompute(l.catalog.Source(l.shape)); err != nil {
				return fmt.Errorf("lease: kernel %s: %w", l.shape, err)
			}
		}
		for i, name := range uniformNames {
			l.uniforms[i] = l.dev.UniformLocation(l.program, name)
		}
		if l.mailbox, err = l.dev.NewMapped(kernel.MailBytes); err == nil && l.cfg.Print.Buffer == 0 {
			l.cfg.PrintBytes = int(ring.PrintLogWords(1)) * ring.WordBytes
			l.print, err = l.dev.NewBuffer(l.cfg.PrintBytes)
			l.cfg.Print = l.print
		}
		if err != nil {
			l.free()
		}
		return err
	})
}

// free deletes what allocate made. Called on the device's thread.
func (l *Lease) free() {
	if l.cfg.Program == nil {
		l.dev.DeleteProgram(l.program)
	}
	for _, buffer := range []gpu.Buffer{l.mailbox, l.print} {
		if buffer.Buffer != 0 {
			l.dev.DeleteBuffer(buffer)
		}
	}
}

// uniformNames are the shader's names of a resident kernel's parameters.
var uniformNames = [...]string{"lease_number", "lease_answered", "lease_turns", "lease_round", "lease_idle"}

// RoundCost is the most loop iterations of a round.
func (l *Lease) RoundCost() uint32 { return l.round }

// Kernel is the kernel that runs the rounds.
func (l *Lease) Kernel() kernel.Kernel { return l.shape }

// Support is what the self-test found.
func (l *Lease) Support() Support { return l.support }

// Do runs slots on a window. It writes what becomes of each to statuses, which have
// the state Published before, and to results; both have an element for each slot.
// Slots run in any order. Slots beyond kernel.MailSlots, or that do not fit the time of a
// round, run in further rounds. On an error the slots whose status is still published
// have not run, except after ErrBroken and after the loss of the device.
func (l *Lease) Do(w Window, slots []ring.Slot, statuses []ring.Status, results []uint32) error {
	if len(statuses) != len(slots) || len(results) != len(slots) {
		panic("lease: a lease needs a status and a result for each slot")
	}
	if end := uint64(w.Base) + uint64(w.Length); end > uint64(l.cfg.HeapBytes)/ring.WordBytes {
		return fmt.Errorf("lease: a window up to word %d of a heap of %d bytes: %w", end, l.cfg.HeapBytes, ErrWindow)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	first := true
	for len(slots) > 0 {
		n, round, err := l.fit(slots)
		if first && n < len(slots) {
			err = l.fitEach(slots) // so that no round has run when a later one cannot
		}
		first = false
		if err == nil {
			err = l.submit(w, slots[:n], statuses[:n], results[:n], round)
		}
		if err != nil {
			return fmt.Errorf("lease: %w", err)
		}
		slots, statuses, results = slots[n:], statuses[n:], results[n:]
	}
	return nil
}

// fitEach is the error of fit for a slot that no round can take, if there is one.
func (l *Lease) fitEach(slots []ring.Slot) error {
	for i := range slots {
		if _, _, err := l.fit(slots[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// round is what a round takes.
type round struct {
	opcodes kernel.OpcodeSet
	steps   uint32 // most of one of its slots
	cost    uint32 // loop iterations of the round
}

// fit is how many of the slots go into a round, and what that takes.
func (l *Lease) fit(slots []ring.Slot) (n int, r round, err error) {
	for n = min(len(slots), kernel.MailSlots); n > 0; n = fewer(n, int(l.shape.Width)) {
		r = round{}
		for i := range slots[:n] {
			r.opcodes |= 1 << slots[i].Opcode
			r.steps = max(r.steps, l.catalog.Steps(&slots[i]))
		}
		rows := (uint64(n) + uint64(l.shape.Width) - 1) / uint64(l.shape.Width)
		total := rows*uint64(l.catalog.RowCost(l.shape, r.opcodes, r.steps)) + 1
		if total <= uint64(l.round) {
			r.cost = uint32(total)
			return n, r, nil
		}
	}
	return 0, r, fmt.Errorf("a slot of opcode %s with %d steps: %w",
		l.catalog.Name(kernel.Opcode(slots[0].Opcode)), r.steps, ErrSize)
}

// fewer is a smaller number of slots, by a row if there are several, which is
// what a round's time depends on.
func fewer(n, width int) int {
	if n > width {
		return (n - 1) / width * width
	}
	return n / 2
}

// Stats are a lease's counts since it was opened, its self-test left out.
type Stats struct {
	Rounds      uint64 // rounds answered
	Starts      uint64 // kernels dispatched
	Resubmitted uint64 // rounds that one kernel ended without and the next one found
}

// Stats returns the counts. It waits for the round under way.
func (l *Lease) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}

// End makes the resident kernel end, if there is one, and waits for that. The
// device's thread is free then, until the next Do. The error is the device's.
func (l *Lease) End() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end()
}

func (l *Lease) end() error {
	k := l.kernel
	if k == nil {
		return nil
	}
	k.stop(l)
	return l.reap()
}

// Close ends the kernel and frees the lease's memory.
func (l *Lease) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(l.broken, ErrClosed) {
		return nil
	}
	err := l.end()
	l.broken = ErrClosed
	if gpu.Lost(err) {
		return err
	}
	return errors.Join(err, l.dev.Do(func() error {
		l.free()
		return nil
	}))
}
