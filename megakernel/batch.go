package megakernel

import (
	"errors"
	"fmt"

	"ringmaster/ring"
)

// Errors of Submit. They mean that nothing of the batch was taken.
var (
	// ErrBatch says that a batch can never run as it is.
	ErrBatch = errors.New("batch is malformed")
	// ErrBacklog says that too many slots are pending; later there may be room.
	ErrBacklog = errors.New("too many slots are pending")
	// ErrQueues says that every window is taken by another queue.
	ErrQueues = errors.New("no window is left for another queue")
)

// Batch is work submitted together. Of its slots the engine reads opcode,
// priority and arguments; tenant and sequence are its own to write. Slots run
// in any order, those of one priority mostly in theirs, except that a fence
// keeps apart what stands before and after it.
type Batch struct {
	ID          string      // names the batch in the report
	Tag         uint64      // returned in the report, not looked at
	Slots       []ring.Slot // belong to the engine from Submit until the batch is reported
	WantResults bool        // ask for the result word of every slot
}

// BatchResult is a finished batch. Every slot is either executed or faulted.
type BatchResult struct {
	ID       string
	Tag      uint64
	Executed uint32
	Faulted  uint32
	Faults   []SlotFault // of every faulted slot, in the order in which they were collected
	Results  []uint32    // one per slot if the batch asked for them, 0 for a faulted slot
}

// SlotFault is a slot of a batch that ended in a fault.
type SlotFault struct {
	Index uint32 // position in the batch
	Code  ring.FaultCode
}

// batch is a batch on its way. Only its current segment, up to and including
// the next fence, is open: its slots are in pages or wait for one.
type batch struct {
	Batch
	result      BatchResult
	number      uint32   // index in the engine's table of batches
	sequence    uint32   // sequence of the first slot
	segmentEnd  int      // slots before it are finished or in the open segment
	outstanding int      // slots of the open segment that are not terminal
	order       []uint32 // slots of the open segment by priority, in their order
	class       [ring.Priorities]struct {
		next, end int // what of order is of this priority and not in a page yet
	}
}

// checkBatch refuses a batch whose structure the engine cannot represent.
// Opcodes and operands are the device's to judge: it answers with a fault.
func checkBatch(b *Batch, maxSlots int) error {
	if len(b.Slots) == 0 || len(b.Slots) > maxSlots {
		return fmt.Errorf("megakernel: batch %q: %d slots, want 1..%d: %w", b.ID, len(b.Slots), maxSlots, ErrBatch)
	}
	for i := range b.Slots {
		if p := b.Slots[i].Priority; p >= ring.Priorities {
			return fmt.Errorf("megakernel: batch %q: slot %d has priority %d, want below %d: %w", b.ID, i, p, ring.Priorities, ErrBatch)
		}
	}
	return nil
}

// openSegment opens the segment after the current one and sorts its slots by
// priority, keeping their order. It reports false at the end of the batch.
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
	b.segmentEnd = end
	b.outstanding = end - start
	if cap(b.order) < end-start {
		b.order = make([]uint32, end-start)
	}
	b.order = b.order[:end-start]
	at := 0
	var next [ring.Priorities]int
	for p := range b.class {
		next[p] = at
		b.class[p].next = at
		at += count[p]
		b.class[p].end = at
	}
	for i := start; i < end; i++ {
		p := b.Slots[i].Priority
		b.order[next[p]] = uint32(i)
		next[p]++
	}
	return true
}

// settle takes over the final status of slot index. The segment is finished
// when outstanding reaches zero.
func (b *batch) settle(index uint32, status ring.Status, result uint32) {
	b.outstanding--
	if status.State() == ring.Fault {
		b.result.Faulted++
		b.result.Faults = append(b.result.Faults, SlotFault{Index: index, Code: status.Fault()})
		return
	}
	b.result.Executed++
	if b.WantResults {
		b.result.Results[index] = result
	}
}
