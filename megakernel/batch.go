package megakernel

import (
	"errors"
	"fmt"
	"time"

	"ringmaster/ring"
)

// Errors of Submit. They mean that nothing of the batch was taken.
var (
	// ErrBatch says that a batch can never run as it is.
	ErrBatch = errors.New("batch is malformed")
	// ErrBacklog says that too many slots are pending; later there may be room.
	ErrBacklog = errors.New("too many slots are pending")
	// ErrQueues says that the windows are in use by other queues; later one may
	// be free.
	ErrQueues = errors.New("no window is free for another queue")
)

// Batch is work submitted together. The engine reads opcode, priority and arguments of
// its slots, and writes tenant and sequence itself. Slots run in any order, those of
// one priority mostly in the order of the batch; but what stands after a fence runs
// after everything before it.
type Batch struct {
	ID          string      // names the batch in the report, and for Cancel
	Tag         uint64      // returned in the report, not looked at
	Slots       []ring.Slot // belong to the engine from Submit until the batch is reported; an allocation of their own
	WantResults bool        // ask for the result word of every slot
	Deadline    time.Time   // slots in no wave by then are dropped; zero: none
	Epoch       uint64      // of the window that it depends on, as Upload says; every slot is dropped with ErrHeapLost if it is another by now; 0: none

	// Done, if not nil, is called once, when the batch is finished. It runs on a
	// goroutine of the engine, which it must not hold up, and may call Submit. It is
	// called before the report of the wave that finished the batch is handed out.
	Done func(*BatchResult)
}

// BatchResult is a finished batch. Every slot is executed, faulted or dropped.
type BatchResult struct {
	ID       string
	Tag      uint64
	Sequence uint32 // of the first slot, as prints have it; those of the others follow
	Executed uint32
	Faulted  uint32
	Dropped  uint32      // slots that did not run because of Err
	Faults   []SlotFault // of every faulted slot, in the order in which they were collected
	Results  []uint32    // one per slot if the batch asked for them, 0 for a faulted or dropped slot
	Err      error       // why slots were dropped: ErrCanceled, ErrDeadline or ErrHeapLost; nil if none was
}

// Reasons why slots of a batch are dropped.
var (
	// ErrCanceled says that Cancel or Release withdrew the rest of a batch.
	ErrCanceled = errors.New("batch was canceled")
	// ErrDeadline says that a batch's deadline passed before all its slots ran.
	ErrDeadline = errors.New("deadline of the batch passed")
	// ErrHeapLost says that the device was lost and with it the window's
	// contents, which the batch may depend on.
	ErrHeapLost = errors.New("heap lost")
)

// SlotFault is a slot of a batch that ended in a fault.
type SlotFault struct {
	Index uint32 // position in the batch
	Code  ring.FaultCode
}

// batch is a batch that is under way. Only its current segment, up to and including
// the next fence, is open: the slots of that segment are in pages or wait for one.
type batch struct {
	Batch
	queue       *queue
	result      BatchResult
	number      uint32   // index in the engine's table of batches
	sequence    uint32   // sequence of the first slot
	segmentEnd  int      // slots before it are finished or in the open segment
	outstanding int      // slots of the open segment that are not terminal
	uniform     bool     // the open segment has one priority: order is not used
	order       []uint32 // slots of the open segment by priority, in their order
	class       [ring.Priorities]class

	opcodes OpcodeSet // of its slots
	parts   OpcodeSet // of the parts of its packed slots
	steps   uint32    // the most loop steps one of them takes
	moved   bool      // it has run again after a loss
	serial  uint64    // number among all batches of the engine
	due     int       // place in the heap of deadlines, from 1 on; 0: in none
	ended   bool      // withdrawn: its slots in pages and behind are dropped

	taken    []positions           // where slots of the open segment are or were
	fewTaken [2]positions          // memory of taken, if it is enough
	place    [ring.Priorities]link // in the queue's lines
	namesake link                  // among batches of the same id and queue
}

// positions are some of a page that follow each other.
type positions struct {
	index int // of the pool
	n     int
}

// class is the part of a segment's order that has one priority and is in no page yet.
type class struct{ next, end int }

// check refuses a batch whose structure the engine cannot represent, notes what
// waves have to know about it, and opens its first segment. Opcodes and operands are
// checked by the device, which answers with a fault; only slots that ask for more
// steps or parts than possible are refused here.
func (b *batch) check(c *Catalog, maxSlots int) error {
	if len(b.Slots) == 0 || len(b.Slots) > maxSlots {
		return fmt.Errorf("megakernel: batch %q: %d slots, want 1..%d: %w", b.ID, len(b.Slots), maxSlots, ErrBatch)
	}
	var count [ring.Priorities]int // of the first segment
	end := 0
	for i := range b.Slots {
		s := &b.Slots[i]
		if s.Priority >= ring.Priorities {
			return fmt.Errorf("megakernel: batch %q: slot %d has priority %d, want below %d: %w", b.ID, i, s.Priority, ring.Priorities, ErrBatch)
		}
		if end == 0 {
			count[s.Priority]++
			if Opcode(s.Opcode) == OpFence {
				end = i + 1
			}
		}
		if s.Opcode >= ring.OpcodeBins {
			continue
		}
		b.opcodes |= 1 << s.Opcode
		if 1<<s.Opcode&ownSteps != 0 {
			if err := c.checkLong(s); err != nil {
				return fmt.Errorf("megakernel: batch %q: slot %d: %w: %w", b.ID, i, err, ErrBatch)
			}
			b.steps = max(b.steps, c.Steps(s))
			if Opcode(s.Opcode) == OpPacked {
				b.parts |= partsOf(s)
			}
		}
	}
	for _, op := range (b.opcodes &^ ownSteps).Opcodes() {
		b.steps = max(b.steps, c.Steps(&ring.Slot{Opcode: uint32(op)}))
	}
	if end == 0 {
		end = len(b.Slots)
	}
	b.open(0, end, &count)
	return nil
}

// ownSteps are the opcodes of which each slot has a number of steps of its own.
const ownSteps OpcodeSet = 1<<OpCopy | 1<<OpPacked | (1<<ring.OpcodeBins - 1<<firstUser)

// checkLong refuses a packed slot that does not fit and an operator's opcode over its
// budget. Anything else that is wrong with a slot ends in a fault.
func (c *Catalog) checkLong(s *ring.Slot) error {
	if Opcode(s.Opcode) == OpCopy || !c.Has(Opcode(s.Opcode)) {
		return nil
	}
	return c.CheckSlot(s)
}

// openSegment opens the segment after the current one. It reports false at the
// end of the batch.
func (b *batch) openSegment() bool {
	start := b.segmentEnd
	if start == len(b.Slots) {
		return false
	}
	var count [ring.Priorities]int
	end := start
	for end < len(b.Slots) {
		s := &b.Slots[end]
		count[s.Priority]++
		end++
		if Opcode(s.Opcode) == OpFence {
			break
		}
	}
	b.open(start, end, &count)
	return true
}

// open makes a range of slots the open segment and sorts it by priority, keeping
// its order. count has its slots by priority.
func (b *batch) open(start, end int, count *[ring.Priorities]int) {
	n := end - start
	b.segmentEnd = end
	b.outstanding = n
	b.taken = b.fewTaken[:0]
	b.class = [ring.Priorities]class{}
	first := b.Slots[start].Priority
	if b.uniform = count[first] == n; b.uniform {
		b.class[first] = class{start, end}
		return
	}
	if cap(b.order) < n {
		b.order = make([]uint32, n)
	}
	b.order = b.order[:n]
	at := 0
	var next [ring.Priorities]int
	for p := range b.class {
		next[p] = at
		b.class[p] = class{at, at + count[p]}
		at += count[p]
	}
	for i := start; i < end; i++ {
		p := b.Slots[i].Priority
		b.order[next[p]] = uint32(i)
		next[p]++
	}
}

// waiting is the number of slots of the open segment that are in no page.
func (b *batch) waiting() int {
	n := 0
	for p := range b.class {
		n += b.class[p].end - b.class[p].next
	}
	return n
}
