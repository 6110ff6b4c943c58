package ring

import "structs"

// Sizes of the layout.
const (
	SlotWords  = 16            // words of a slot
	SlotBytes  = SlotWords * 4 // bytes of a slot
	ArgWords   = 12            // argument words of a slot
	WordBytes  = 4             // bytes of a word; words are little endian
	PageShift  = 8             // log2 of PageSlots
	PageSlots  = 1 << PageShift
	Priorities = 5  // priority classes, 0 is the most urgent
	OpcodeBins = 64 // opcodes counted one by one in a control block
)

// Priority classes of a slot.
const (
	PriorityCritical = iota
	PriorityHigh
	PriorityNormal
	PriorityLow
	PriorityIdle
)

// Slot is one unit of work as the device reads it: four vectors of four
// words. Unused arguments are zero. Tenant and Sequence are written by the
// engine, never taken from a payload.
type Slot struct {
	_        structs.HostLayout
	Opcode   uint32           // what to do
	Tenant   uint32           // whose window the operands address
	Priority uint32           // 0..Priorities-1
	Sequence uint32           // running number within its queue, wraps
	Args     [ArgWords]uint32 // operands, meaning by opcode
}

// Control is the control block of one wave. The host zeroes it before the
// dispatch and reads it after. A wave of a kernel without the bodies of all
// opcodes is two dispatches: the first puts the slots it has no body for on
// the cold list, the second drains that list and adds to the same totals.
type Control struct {
	_            structs.HostLayout
	Ticket       uint32             // positions claimed by tickets, besides each workgroup's first chunk
	Executed     uint32             // slots that reached done
	Faulted      uint32             // slots that ended in a fault
	Unreached    uint32             // slots seen but left published, they need more steps than StepBudget
	Again        uint32             // slots attempted that go round again: yielded and requeued
	Chunks       uint32             // chunks claimed that had at least one position
	LocalSize    uint32             // echo: invocations per workgroup the device ran
	Groups       uint32             // echo: workgroups the device ran
	Chunk        uint32             // echo: positions of one chunk
	ClaimBudget  uint32             // echo: most chunks one workgroup may claim
	StepBudget   uint32             // echo: most loop steps one slot may take
	Cold         uint32             // slots on the cold list
	ColdTicket   uint32             // positions of the cold list claimed by tickets
	ColdDispatch [3]uint32          // workgroups for the second dispatch, as an indirect dispatch reads them
	OpcodeCounts [OpcodeBins]uint32 // slots executed by opcode, index = opcode
}

// ColdDispatchOffset is the byte offset of Control.ColdDispatch.
const ColdDispatchOffset = 13 * WordBytes

// ControlWords is the size of a control block in words.
const ControlWords = 16 + OpcodeBins

// Entry is one element of a wave's schedule: the first Count slots of a page.
type Entry uint32

// Bits of an Entry.
const (
	EntryCountBits = PageShift + 1 // a count is 1..PageSlots
	EntryCountMask = 1<<EntryCountBits - 1
	MaxPages       = 1 << 22 // pages an entry can name; 2^30 positions leave ticket arithmetic room
)

// NewEntry packs a page below MaxPages and a count of 1..PageSlots.
func NewEntry(page uint32, count int) Entry {
	return Entry(page<<EntryCountBits | uint32(count))
}

// Page is the page whose slots are scheduled.
func (e Entry) Page() uint32 { return uint32(e) >> EntryCountBits }

// Count is how many of the page's first slots are scheduled.
func (e Entry) Count() int { return int(e & EntryCountMask) }

// Binding points of the storage blocks.
const (
	BindControl = iota
	BindSlots
	BindStatus
	BindResults
	BindSchedule // the schedule; for the second dispatch of a wave, its cold list
	BindHeap
	BindCold
	BindPrint
	Bindings // number of binding points
)
