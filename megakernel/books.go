package megakernel

import (
	"errors"
	"fmt"

	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/ledger"
	"ringmaster/megakernel/memory"
	"ringmaster/ring"
)

// What the engine's callers need of the ledger.
type (
	// Batch is work submitted together.
	Batch = ledger.Batch
	// Run is slots of a batch that differ in nothing but their arguments.
	Run = ledger.Run
	// Arg is an argument of a run.
	Arg = ledger.Arg
	// BatchResult is a finished batch.
	BatchResult = ledger.Result
	// SlotFault is a slot of a batch that ended in a fault.
	SlotFault = ledger.SlotFault
	// QueueOptions bound what a queue may do.
	QueueOptions = ledger.QueueOptions
	// QueueSnapshot is one queue of Stats.
	QueueSnapshot = ledger.QueueSnapshot
)

// Errors of the ledger; see there.
var (
	ErrBatch     = ledger.ErrBatch
	ErrBacklog   = ledger.ErrBacklog
	ErrQueues    = ledger.ErrQueues
	ErrQuota     = ledger.ErrQuota
	ErrForbidden = ledger.ErrForbidden
	ErrCanceled  = ledger.ErrCanceled
	ErrDeadline  = ledger.ErrDeadline
	ErrHeapLost  = ledger.ErrHeapLost
	ErrQueue     = ledger.ErrQueue
	ErrWindow    = ledger.ErrWindow
	ErrDevice    = ledger.ErrDevice
)

// Errors of an engine.
var (
	// ErrTooLarge says that a ring, a heap or a schedule does not fit the
	// device's storage blocks; a smaller Config does.
	ErrTooLarge = memory.ErrTooLarge
	// ErrMoving says that Move is under way; later there may be a device.
	ErrMoving = errors.New("engine is moving to another device")
	// ErrClosed says that the engine has been closed.
	ErrClosed = errors.New("engine is closed")
	// ErrInFlight says that as many waves as allowed are in flight.
	ErrInFlight = errors.New("enough waves are in flight")
	// ErrTicket says that a ticket names no launch, or one whose report was
	// handed out already.
	ErrTicket = errors.New("no such launch")
)

// ledgerConfig is the ledger's part of the configuration.
func (e *Engine) ledgerConfig() ledger.Config {
	c := &e.cfg
	return ledger.Config{
		Pages: c.Pages, Windows: c.MaxQueues, WindowWords: c.WindowWords, WindowHold: c.WindowHold,
		MaxPending: c.MaxPending, MaxBatchSlots: c.MaxBatchSlots, AgeThreshold: c.AgeThreshold, Queue: c.Queue,
		Fence: uint32(kernel.OpFence), Epoch: uint64(e.now().UnixMicro()), Fits: e.fits,
	}
}

// fits reports whether slots of some opcodes and steps can be one row of a wave within the
// loop budget: invocations of a vector run in lockstep, so the loops of different
// operators' opcodes add up (see Catalog.RowCost). The built-in opcodes always fit.
func (e *Engine) fits(opcodes uint64, steps uint32) bool {
	if opcodes>>kernel.FirstUser == 0 {
		return true
	}
	return e.catalog.RowCost(kernel.Kernel{Kind: kernel.Interpreter}, kernel.OpcodeSet(opcodes), steps) < e.cfg.LoopBudget
}

// profileSlot adds a slot of an opcode whose slots differ in steps or parts.
func profileSlot(c *kernel.Catalog, p *ledger.Profile, s *ring.Slot) error {
	op := kernel.Opcode(s.Opcode)
	if op != kernel.OpCopy && c.Has(op) {
		if err := c.CheckSlot(s); err != nil {
			return err
		}
	}
	p.Steps = max(p.Steps, c.Steps(s))
	if op == kernel.OpPacked {
		p.Parts |= uint64(kernel.PartsOf(s))
	}
	return nil
}

// profile is what the ledger has to know of a batch's slots. It refuses a packed slot that
// does not fit and an operator's opcode over its budget; anything else that is wrong with
// a slot ends in a fault.
func profile(c *kernel.Catalog, work *Batch) (p ledger.Profile, err error) {
	unknown := false
	meet := func(opcode uint32) (varies bool) {
		if opcode >= ring.OpcodeBins {
			unknown = true
			return false
		}
		p.Opcodes |= 1 << opcode
		return kernel.OpcodeSet(1)<<opcode&kernel.Varying != 0
	}
	for i := range work.Slots {
		if s := &work.Slots[i]; meet(s.Opcode) {
			if err := profileSlot(c, &p, s); err != nil {
				return p, fmt.Errorf("batch %q: slot %d: %w: %w", work.ID, i, err, ErrBatch)
			}
		}
	}
	for i := range work.Runs {
		run := &work.Runs[i]
		if !meet(run.Opcode) {
			continue
		}
		var s ring.Slot
		for j := range run.Count {
			run.Slot(j, &s)
			if err := profileSlot(c, &p, &s); err != nil {
				return p, fmt.Errorf("batch %q: run %d, slot %d: %w: %w", work.ID, i, j, err, ErrBatch)
			}
		}
	}
	p.Repeatable = !unknown
	for _, op := range kernel.OpcodeSet(p.Opcodes).Opcodes() {
		one := [1]ring.Slot{{Opcode: uint32(op)}}
		if !kernel.Varying.Has(op) {
			p.Steps = max(p.Steps, c.Steps(&one[0]))
		}
		p.Repeatable = p.Repeatable && c.SelfContained(one[:])
	}
	return p, nil
}
