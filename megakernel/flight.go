package megakernel

import (
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/ledger"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/program"
	"ringmaster/ring"
)

// Ticket names a launch that Start began. It is a value; the zero Ticket names none.
type Ticket struct {
	index      int32
	generation uint64
}

// flight is one of the places that a wave in flight takes. It owns what the wave needs of
// its own: a control block and a schedule on the device, and the host's memory for what
// comes back.
//
// A flight goes from hand to hand: Start fills it, the pump submits it and waits for its
// fence, the settler takes over its results, and Wait hands out its report. Only its holder
// touches it. A Launch that runs its wave inline is pump and settler of it.
type flight struct {
	index int

	// Guarded by Engine.mu.
	generation uint64        // odd while in use
	settled    bool          // report and err are final
	ready      chan struct{} // closed when settled; nil if nobody waits

	begin   time.Time   // of Start
	wave    ledger.Wave // its slots
	staging staging     // what Start moves into pages
	mode    LaunchMode
	hot     kernel.OpcodeSet // those that a fused kernel may have; 0: the interpreter runs it
	warm    kernel.OpcodeSet // those that one would have, if the order asked for it
	inline  bool             // its Launch runs it, with deviceMu held, not the pump
	leased  bool             // the resident kernel ran it

	notLeased string // why it did not, if the order asked for it

	program     program.Picked
	coldProgram program.Picked // the interpreter behind a fused kernel
	geometry    policy.Geometry
	params      kernel.Wave
	coldParams  kernel.Wave // of the chained dispatch
	control     []ring.Control
	report      Report
	err         error

	// What is run on the device's thread. The closures are made once for all waves, so
	// that a launch allocates none.
	submit, submitAndSpin, fetch, abandon func() error

	fetched   bool // submitAndSpin saw it done
	fence     gpu.Fence
	queries   [2]gpu.Query
	submitted time.Time
}

func newFlight(e *Engine, index int) *flight {
	f := &flight{index: index, control: make([]ring.Control, 1)}
	f.submit = func() error { return e.exec.submitWave(f) }
	f.submitAndSpin = func() error { return e.exec.submitAndSpin(f) }
	f.fetch = func() error { return e.exec.fetchWave(f) }
	f.abandon = func() error { e.exec.abandonWave(f); return nil }
	return f
}

// reset makes a flight ready for the next wave.
func (f *flight) reset(begin time.Time, order *Order) {
	f.generation++
	f.settled = false
	f.begin = begin
	f.err = nil
	f.report = Report{Launch: order.Launch, Decision: order.Decision, Queue: order.Queue, Recommended: order.Geometry}
	f.hot, f.warm, f.mode, f.leased, f.inline, f.notLeased = 0, 0, order.Mode, false, false, ""
}

// ticket names the flight's current use.
func (f *flight) ticket() Ticket { return Ticket{index: int32(f.index), generation: f.generation} }

// runs calls each for every run of consecutive pages of the wave, with the first page, the
// number of pages and the position of the first in the wave's pages.
func (f *flight) runs(each func(first, n, position int)) {
	pages := f.wave.Pages
	for i := 0; i < len(pages); {
		first, n := pages[i].Page(), 1
		for i+n < len(pages) && pages[i+n].Page() == first+uint32(n) {
			n++
		}
		each(int(first), n, i)
		i += n
	}
}
