package megakernel

import (
	"slices"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/ring"
)

// Ticket names a launch that Start began. It is a value; the zero Ticket names
// none.
type Ticket struct {
	index      int32
	generation uint64
}

// flight is one of the places that a wave in flight takes. It owns what the
// wave needs of its own: a control block and a schedule on the device, and
// the host's memory for what comes back. Pages of a flight are in no other.
//
// A flight goes from hand to hand: Start fills it, the pump submits it and waits for
// its fence, the settler takes over its results, and Poll or Wait hands out its
// report. Only the one whose turn it is touches it. A Launch with nothing else under
// way does all of this itself.
type flight struct {
	index      int
	generation uint64        // odd while in use
	settled    bool          // report and err are final; guarded by Engine.mu
	ready      chan struct{} // closed when settled; nil if nobody waits; guarded by Engine.mu

	begin    time.Time // of Start
	queue    *queue
	steps    uint32    // the most loop steps a slot takes
	opcodes  OpcodeSet // of the slots
	mode     LaunchMode
	leased   bool      // the resident kernel ran it
	here     bool      // its Launch runs it, not the pump
	hot      OpcodeSet // those that a fused kernel may have; 0: the interpreter runs it
	picked   Picked
	chained  Picked // the interpreter behind a fused kernel
	geometry Geometry
	wave     Wave
	cold     Wave // of the chained dispatch
	report   Report
	err      error

	schedule []ring.Entry // in the order in which the wave takes them
	entries  []ring.Entry // the same by page
	results  bool         // a slot wants its result
	statuses []ring.Status
	words    []uint32
	control  []ring.Control
	tallies  []tally

	encoder encoder // for what Start moves into pages

	submit    func() error // submitted on the device's thread
	hurry     func() error // the same, and stays with it
	fetched   bool         // hurry saw it done
	fetch     func() error
	abandon   func() error
	fence     gpu.Fence
	queries   [2]gpu.Query
	submitted time.Time
	ended     time.Time
}

// tally is what a wave did for one batch, a run of its slots at a time.
type tally struct {
	batch             *batch
	executed, faulted uint32
}

func newFlight(e *Engine, index int) *flight {
	f := &flight{
		index:    index,
		schedule: make([]ring.Entry, 0, e.cfg.Pages),
		control:  make([]ring.Control, 1),
		encoder:  encoder{gather: make([]ring.Slot, 0, ring.PageSlots)},
	}
	// The closures are made once for all waves, so that a launch allocates none.
	f.submit = func() error { return e.submitWave(f) }
	f.hurry = func() error { return e.hurryWave(f) }
	f.fetch = func() error { return e.fetchWave(f) }
	f.abandon = func() error { e.abandonWave(f); return nil }
	return f
}

// reset makes a flight ready for the next wave.
func (f *flight) reset(begin time.Time, order *Order) {
	f.generation++
	f.settled = false
	f.begin = begin
	f.queue = nil
	f.err = nil
	f.report = Report{Launch: order.Launch, Decision: order.Decision, Queue: order.Queue, Recommended: order.Geometry}
	f.schedule = f.schedule[:0]
	f.entries = f.entries[:0]
	f.results = false
	f.steps, f.opcodes, f.hot = 0, 0, 0
	f.mode, f.leased, f.here = order.Mode, false, false
	f.tallies = f.tallies[:0]
}

// ticket names the flight's current use.
func (f *flight) ticket() Ticket { return Ticket{index: int32(f.index), generation: f.generation} }

// sort fills entries, and makes room for what comes back.
func (f *flight) sort() {
	f.entries = append(f.entries[:0], f.schedule...)
	slices.Sort(f.entries) // the page is in the high bits
	n := len(f.entries) * ring.PageSlots
	if cap(f.statuses) < n {
		f.statuses = make([]ring.Status, n)
	}
	f.statuses = f.statuses[:n]
	if f.results && cap(f.words) < n {
		f.words = make([]uint32, n)
	}
	f.words = f.words[:min(n, cap(f.words))]
}

// runs calls each for every run of consecutive pages of the flight, with the
// first page, the number of pages and the position of the first in entries.
func (f *flight) runs(each func(first, n, position int)) {
	for i := 0; i < len(f.entries); {
		first, n := f.entries[i].Page(), 1
		for i+n < len(f.entries) && f.entries[i+n].Page() == first+uint32(n) {
			n++
		}
		each(int(first), n, i)
		i += n
	}
}
