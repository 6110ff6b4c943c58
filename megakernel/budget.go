package megakernel

import (
	"fmt"

	"ringmaster/ring"
)

// The loop budget of a dispatch bounds which opcodes may be together in a wave:
// invocations of a vector run in lockstep, so the loops of different operators'
// opcodes add up (see Catalog.RowCost). The built-in opcodes always fit. A batch whose
// opcodes do not fit together is refused; slots that do not fit a page get another
// one; and pages that do not fit a wave wait for the next.

// fits reports whether slots of some opcodes and steps can be one row of a
// wave within the loop budget.
func (e *Engine) fits(opcodes OpcodeSet, steps uint32) bool {
	if opcodes>>firstUser == 0 {
		return true
	}
	return e.catalog.RowCost(Kernel{Kind: Interpreter}, opcodes, steps) < e.cfg.LoopBudget
}

// checkBudget refuses a batch whose opcodes cannot be in one wave.
func (e *Engine) checkBudget(b *batch) error {
	if e.fits(b.opcodes, b.steps) {
		return nil
	}
	return fmt.Errorf("megakernel: batch %q: its opcodes together take up to %d loop iterations a slot, a dispatch has %d; submit them in batches of their own: %w",
		b.ID, e.catalog.RowCost(Kernel{Kind: Interpreter}, b.opcodes, b.steps), e.cfg.LoopBudget, ErrBatch)
}

// joins reports whether a batch's slots can stand in a page beside those it has.
func (e *Engine) joins(b *batch, number uint32) bool {
	page := &e.pages[number]
	return e.fits(page.opcodes|b.opcodes, max(page.steps, b.steps))
}

// trim takes the pages out of a planned wave that do not fit beside those
// before them, and puts them back in front. It returns the wave's number of
// slots. Called with mu held.
func (e *Engine) trim(f *flight, slots int) int {
	f.steps, f.opcodes = 0, 0
	var back []ring.Entry
	kept := f.schedule[:0]
	for _, entry := range f.schedule {
		page := &e.pages[entry.Page()]
		steps, opcodes := max(f.steps, page.steps), f.opcodes|page.opcodes
		if !e.fits(opcodes, steps) {
			back = append(back, entry)
			slots -= e.live(entry)
			continue
		}
		f.steps, f.opcodes = steps, opcodes
		f.results = f.results || page.results
		kept = append(kept, entry)
	}
	f.schedule = kept
	for i := len(back) - 1; i >= 0; i-- {
		f.queue.pages.Undo(e.pool, back[i].Page(), e.live(back[i]))
	}
	return slots
}

// live is the number of an entry's slots that are to run.
func (e *Engine) live(entry ring.Entry) (n int) {
	for _, s := range e.pool.Statuses(int(entry.Page()), 1)[:entry.Count()] {
		if s.State() == ring.Published {
			n++
		}
	}
	return n
}
