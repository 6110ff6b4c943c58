package megakernel

import (
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

// runSettler is the goroutine that takes over what waves left, one wave at a time, while
// the device runs the next.
func (e *Engine) runSettler() {
	defer close(e.settlers)
	for f := range e.settling {
		if f.err == nil {
			e.exec.load(f)
		}
		e.settle(f)
	}
}

// load copies what the device left to the flight's memory.
func (x *executor) load(f *flight) {
	if f.leased {
		return // it is there already
	}
	x.memory.LoadControl(f.index, f.control)
	f.runs(func(first, n, position int) {
		at := position * ring.PageSlots
		var words []uint32
		if f.wave.Results {
			words = f.wave.Words[at:]
		}
		x.memory.LoadPages(first, n, f.wave.Statuses[at:], words)
	})
}

// settle settles a wave whose results are loaded, or puts back one that failed. What
// belongs to the wave's pages alone is done before the lock is taken.
func (e *Engine) settle(f *flight) {
	c, report := &f.control[0], &f.report
	if f.err == nil {
		f.err = f.wave.Collect(c)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if f.err != nil {
		// Nothing is known of what the device has of these pages: their slots go up again.
		for _, entry := range f.wave.Pages {
			e.exec.uploaded[entry.Page()] = false
		}
		e.ledger.Return(e.now(), &f.wave)
		e.land(f, f.err)
		return
	}
	report.Applied = policy.Geometry{Width: c.LocalSize, Groups: c.Groups, Chunk: c.Chunk, Depth: report.Recommended.Depth}
	report.Executed, report.Faulted = f.wave.Executed, f.wave.Faulted
	report.Requeued = report.Scheduled - report.Executed - report.Faulted
	report.Opcodes = c.OpcodeCounts
	p := e.promotionOf(f)
	p.settle(e.catalog, &report.Opcodes)
	e.land(f, e.ledger.Settle(e.now(), &f.wave))
}
