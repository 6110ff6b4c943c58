package ledger

import (
	"container/list"
	"fmt"
	"time"

	"ringmaster/ring"
)

// Batch is work submitted together. The ledger reads opcode and priority of its slots, and
// writes tenant and sequence itself. Slots run in any order, those of one priority mostly
// in the order of the batch; but what stands after a fence runs after everything before it.
type Batch struct {
	ID          string      // names the batch in its result, and for Cancel
	Tag         uint64      // returned in the result, not looked at
	Slots       []ring.Slot // belong to the ledger from Submit until the batch is reported; an allocation of their own
	Runs        []Run       // slots that follow those; they and their words belong to the ledger too, which only reads them
	WantResults bool        // ask for the result word of every slot
	Deadline    time.Time   // slots in no wave by then are dropped; zero: none
	Epoch       uint64      // of the window that it depends on; every slot is dropped with ErrHeapLost if it is another by now; 0: none
}

// Result is a finished batch. Every slot is executed, faulted or dropped.
type Result struct {
	ID       string
	Tag      uint64
	Sequence uint32 // of the first slot, as prints have it; those of the others follow
	Executed uint32
	Faulted  uint32
	Dropped  uint32      // slots that did not run because of Err
	Faults   []SlotFault // of every faulted slot, in the order in which they were collected
	Results  []uint32    // one per slot if the batch asked for them, 0 for a faulted or dropped slot
	Slots    []ring.Slot // the batch's, which are the caller's again
	Err      error       // why slots were dropped: ErrCanceled, ErrDeadline, ErrForbidden or ErrHeapLost; nil if none was
}

// SlotFault is a slot of a batch that ended in a fault.
type SlotFault struct {
	Index uint32 // position in the batch
	Code  ring.FaultCode
}

// Profile is what the ledger has to know of a batch's slots and cannot read from them.
type Profile struct {
	Opcodes    uint64 // of its slots, a bit each
	Parts      uint64 // of what is packed in its slots
	Steps      uint32 // the most loop steps one of them takes
	Repeatable bool   // it may run again on a heap of zeros, because it reads nothing there
}

// Entry is a batch in the books.
//
// Only one segment of it is open, which ends with the next fence: slots before the segment
// are terminal, slots behind segmentEnd are in no page. Of the open segment's slots each is
// terminal, in a page (taken says where), or waits for one (class says which), and
// outstanding counts those that are not terminal. So a batch is finished when outstanding
// is 0 and segmentEnd is its end, and a fence needs nothing on the device but that the next
// segment is opened after the last slot of this one has been settled.
type Entry struct {
	Batch
	profile Profile
	length  int   // slots
	ends    []int // of Runs, in the batch
	queue   *queue
	result  Result
	number  uint32 // index in the ledger's table of entries
	serial  uint64 // number among all batches, in the order of their submission
	// The pending slots of a queue are the sum of outstanding and of length-segmentEnd over
	// its batches: whoever lowers one of them lowers pending by as much.
	segmentEnd  int  // slots before it are finished or in the open segment
	outstanding int  // slots of the open segment that are not terminal
	uniform     bool // the open segment has one priority: order is not used
	order       []uint32
	class       [ring.Priorities]class

	repeated  bool // it has run again after a loss
	withdrawn bool // its slots in pages and behind are dropped
	due       int  // place in the heap of deadlines, from 1 on; 0: in none

	taken    []positions                    // where slots of the open segment are or were
	fewTaken [2]positions                   // memory of taken, if it is enough
	place    [ring.Priorities]*list.Element // in the queue's lines
}

// positions are some of a page that follow each other.
type positions struct {
	index int // of the pool
	n     int
}

// class is the part of a segment's order that has one priority and is in no page yet.
type class struct{ next, end int }

// Check refuses a batch that no ledger of this configuration takes. Opcodes and operands
// are checked by the device, which answers with a fault.
func (l *Ledger) Check(work *Batch) error {
	for i := range work.Runs {
		if err := work.Runs[i].check(l.cfg.MaxBatchSlots); err != nil {
			return fmt.Errorf("batch %q: run %d: %w: %w", work.ID, i, err, ErrBatch)
		}
	}
	if n := work.Len(); n == 0 || n > l.cfg.MaxBatchSlots {
		return fmt.Errorf("batch %q: %d slots, want 1..%d: %w", work.ID, n, l.cfg.MaxBatchSlots, ErrBatch)
	}
	for i := range work.Slots {
		if p := work.Slots[i].Priority; p >= ring.Priorities {
			return fmt.Errorf("batch %q: slot %d has priority %d, want below %d: %w", work.ID, i, p, ring.Priorities, ErrBatch)
		}
	}
	return nil
}

// NewEntry opens the first segment of a batch that has passed Check.
func (l *Ledger) NewEntry(work Batch, p Profile) (*Entry, error) {
	if !l.cfg.Fits(p.Opcodes, p.Steps) {
		return nil, fmt.Errorf("batch %q: its opcodes together take more loop iterations a slot than a dispatch has; submit them in batches of their own: %w",
			work.ID, ErrBatch)
	}
	b := &Entry{Batch: work, profile: p, result: Result{ID: work.ID, Tag: work.Tag}}
	if work.WantResults {
		b.result.Results = make([]uint32, work.Len())
	}
	b.index()
	b.openSegment(l.cfg.Fence)
	return b, nil
}

// openSegment opens the segment after the current one. It reports false at the end of the
// batch.
func (b *Entry) openSegment(fence uint32) bool {
	start := b.segmentEnd
	if start == b.length {
		return false
	}
	end, count := b.segment(start, fence)
	b.open(start, end, &count)
	return true
}

// open makes a range of slots the open segment and sorts it by priority, keeping its
// order. count has its slots by priority. A segment of one priority, which most are, needs
// no order: its slots are written to staging straight from the batch, or made there.
func (b *Entry) open(start, end int, count *[ring.Priorities]int) {
	n := end - start
	b.segmentEnd = end
	b.outstanding = n
	b.taken = b.fewTaken[:0]
	b.class = [ring.Priorities]class{}
	first := b.priority(start)
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
		p := b.priority(i)
		b.order[next[p]] = uint32(i)
		next[p]++
	}
}

// waiting is the number of slots of the open segment that are in no page.
func (b *Entry) waiting() int {
	n := 0
	for p := range b.class {
		n += b.class[p].end - b.class[p].next
	}
	return n
}
