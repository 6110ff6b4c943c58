package megakernel

import (
	"time"

	"ringmaster/ring"
)

// queue is one work queue: its tenant window, its batches that wait for pages,
// and its pages.
type queue struct {
	name     string
	tenant   uint32 // number of the window in the low bits, its generation above
	window   int    // number of the window
	base     uint32 // first word of the window in the heap
	length   uint32 // words of the window
	sequence uint32 // sequence of the next slot submitted
	pending  int    // slots submitted and not finished
	flights  int    // waves in flight
	writing  int    // goroutines writing slots of it to staging
	owned    [ring.Priorities]int
	epoch    uint64    // of its window's contents
	used     time.Time // when a batch or a transfer came last, or a batch ended
	moved    time.Time // when a transfer came last
	released bool      // its window goes to another queue once its waves are settled

	// waiting are the batches whose open segment has slots of a priority that
	// are in no page yet, in the order in which the segments were opened.
	waiting [ring.Priorities]fifo
	pages   ring.Queue

	// What ran last, for a wave whose kernel is not ready: the pump's.
	kernel   Kernel
	cold     Kernel
	geometry Geometry

	promotion promotion

	ending   int           // batches withdrawn and not finished
	finished []BatchResult // finished outside a wave, for the next report
	quota    bucket

	allocated allocations
	options   QueueOptions
	stats     QueueStats
}

// open puts the slots of b's open segment in line.
func (q *queue) open(b *batch) {
	for p := range b.class {
		if b.class[p].next < b.class[p].end {
			q.waiting[p].push(b)
		}
	}
}

// fifo is a queue of batches that reuses its memory.
type fifo struct {
	items []*batch
	head  int
}

func (f *fifo) push(b *batch) {
	if f.head > 0 && f.head == len(f.items) {
		f.items, f.head = f.items[:0], 0
	}
	f.items = append(f.items, b)
}

func (f *fifo) front() *batch {
	if f.head == len(f.items) {
		return nil
	}
	return f.items[f.head]
}

// removeEnded takes the batches out that were withdrawn, wherever they stand.
func (f *fifo) removeEnded() {
	kept := f.items[:f.head]
	for _, b := range f.items[f.head:] {
		if !b.ended {
			kept = append(kept, b)
		}
	}
	clear(f.items[len(kept):])
	f.items = kept
	if f.head == len(f.items) {
		f.items, f.head = f.items[:0], 0
	}
}

func (f *fifo) pop() {
	f.items[f.head] = nil
	f.head++
	if f.head == len(f.items) {
		f.items, f.head = f.items[:0], 0
	} else if f.head > 1024 && f.head > len(f.items)/2 {
		n := copy(f.items, f.items[f.head:])
		clear(f.items[n:])
		f.items, f.head = f.items[:n], 0
	}
}
