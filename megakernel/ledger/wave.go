package ledger

import (
	"fmt"
	"slices"
	"time"

	"ringmaster/ring"
)

// Wave is the slots of one launch and what became of them. Between Begin and Settle or
// Return its pages are in no other wave. The memory of a Wave serves one launch after
// another.
type Wave struct {
	Schedule []ring.Entry // in the order in which the wave takes them
	Pages    []ring.Entry // those of Schedule by page
	Slots    int          // to run
	Opcodes  uint64       // of the slots
	Steps    uint32       // the most loop steps a slot takes
	Results  bool         // a slot wants its result
	Limited  bool         // the queue's rate allows no slot now

	// Statuses and Words are for what the device leaves: a page of each for every element
	// of Pages, words only if Results is set.
	Statuses []ring.Status
	Words    []uint32

	Executed uint32 // slots that reached done
	Faulted  uint32 // slots that ended in a fault

	ledger  *Ledger
	queue   *queue
	depth   int      // most slots
	entries []*Entry // of the ledger, as it was when the wave was planned: those of slots in a wave do not change
	tallies []tally
}

// tally is what a wave did for one batch, a run of its slots at a time.
type tally struct {
	entry             *Entry
	executed, faulted uint32
	faults            []SlotFault
}

// Window is the window of the wave's queue.
func (w *Wave) Window() Window { return w.queue.window }

// Pending is the number of slots of the wave's queue that are submitted and not finished.
func (w *Wave) Pending() int { return w.queue.pending }

// Begin makes w the next wave of a queue, of at most depth slots; 0 is as many as there
// are. Settle or Return ends it.
func (l *Ledger) Begin(now time.Time, w *Wave, name string, depth int) error {
	q := l.queues[name]
	if q == nil {
		return ErrQueue
	}
	*w = Wave{
		ledger: l, queue: q,
		Schedule: w.Schedule[:0], Pages: w.Pages[:0], Statuses: w.Statuses[:0], Words: w.Words[:0], tallies: w.tallies[:0],
	}
	q.waves++
	if depth == 0 || depth > len(l.owners) {
		depth = len(l.owners)
	}
	w.depth = q.bucket.allowance(now, depth)
	w.Limited = w.depth == 0 && q.pending > 0
	return nil
}

// Plan schedules what is published of the wave's queue: by deficit round robin over the
// priorities, see ring.Queue. Pages that somebody is writing to are left to a later wave;
// if there is nothing else, later is true, and Plan is to be called again when they are
// published.
func (l *Ledger) Plan(w *Wave) (later bool) {
	q := w.queue
	if w.depth == 0 {
		return false
	}
	w.Schedule, w.Slots = q.pages.Plan(w.Schedule[:0], l.pool, w.depth, l.cfg.AgeThreshold)
	if w.Slots == 0 {
		return q.writing > 0
	}
	l.trim(w)
	q.bucket.spend(w.Slots)
	w.entries = l.entries
	w.Pages = append(w.Pages[:0], w.Schedule...)
	slices.Sort(w.Pages) // the page is in the high bits
	n := len(w.Pages) * ring.PageSlots
	w.Statuses = slices.Grow(w.Statuses[:0], n)[:n]
	if w.Results {
		w.Words = slices.Grow(w.Words[:0], n)[:n]
	}
	return false
}

// trim takes the pages out of a planned wave that do not fit beside those ahead of them in
// the schedule, and puts them back in front, as if the plan had left them out. At least the
// first page stays: its slots were checked to fit together when they joined it.
func (l *Ledger) trim(w *Wave) {
	var back []ring.Entry
	kept := w.Schedule[:0]
	for _, entry := range w.Schedule {
		p := &l.pages[entry.Page()]
		steps, opcodes := max(w.Steps, p.steps), w.Opcodes|p.opcodes
		if !l.cfg.Fits(opcodes, steps) {
			back = append(back, entry)
			w.Slots -= l.live(entry)
			continue
		}
		w.Steps, w.Opcodes = steps, opcodes
		w.Results = w.Results || p.results
		kept = append(kept, entry)
	}
	w.Schedule = kept
	for i := len(back) - 1; i >= 0; i-- {
		w.queue.pages.Undo(l.pool, back[i].Page(), l.live(back[i]))
	}
}

// live is the number of an entry's slots that are to run.
func (l *Ledger) live(entry ring.Entry) (n int) {
	for _, s := range l.pool.Statuses(int(entry.Page()), 1)[:entry.Count()] {
		if s.State() == ring.Published {
			n++
		}
	}
	return n
}

// Each calls visit for every slot that the wave is to run, with its place in Statuses and
// Words. A slot is visit's until it returns. Like Collect it may run beside other calls.
func (w *Wave) Each(visit func(at int, s *ring.Slot, status ring.Status)) {
	l := w.ledger
	var made ring.Slot
	for position, entry := range w.Pages {
		base := int(entry.Page()) * ring.PageSlots
		for i, status := range l.pool.Statuses(int(entry.Page()), 1)[:entry.Count()] {
			if status.State() == ring.Published {
				o := l.owners[base+i]
				visit(position*ring.PageSlots+i, w.entries[o.entry].slot(int(o.index), &made), status)
			}
		}
	}
}

// CopyStatuses fills Statuses with the words as they were before the wave.
func (w *Wave) CopyStatuses() {
	for position, entry := range w.Pages {
		copy(w.Statuses[position*ring.PageSlots:], w.ledger.pool.Statuses(int(entry.Page()), 1))
	}
}

// Collect takes in what the device left of a wave: Statuses, Words and the counts of its
// control block. If they contradict each other it returns an error, and nothing has
// changed: the wave is to be returned. Otherwise Settle follows.
func (w *Wave) Collect(c *ring.Control) error {
	if err := w.verify(c); err != nil {
		return err
	}
	for position, entry := range w.Pages {
		if !w.collectWhole(position, entry) {
			w.collectPage(position, entry)
		}
	}
	return nil
}

// verify compares the control block with the status words: every slot that was attempted
// is accounted for, and nothing else changed. Both come from the device by different ways,
// so that a copy which is stale, torn or from another wave does not agree by chance. It
// changes nothing: after an error the wave is as if it had not run.
func (w *Wave) verify(c *ring.Control) error {
	var executed, faulted, again uint32
	for i, entry := range w.Pages {
		before := w.ledger.pool.Statuses(int(entry.Page()), 1)[:entry.Count()]
		after := w.Statuses[i*ring.PageSlots:][:len(before)]
		for j, n := 0, 0; j < len(before); j += n {
			n = alike(before[j:], after[j:])
			from, to := before[j].State(), after[j].State()
			switch {
			case from == to:
			case from == ring.Published && to == ring.Done:
				executed += uint32(n)
			case from == ring.Published && to == ring.Fault:
				faulted += uint32(n)
			case from == ring.Published && (to == ring.Yielded || to == ring.Requeued):
				again += uint32(n)
			default:
				return fmt.Errorf("slot %d: %s became %s: %w", int(entry.Page())*ring.PageSlots+j, from, to, ErrDevice)
			}
		}
	}
	if executed != c.Executed || faulted != c.Faulted || again != c.Again {
		return fmt.Errorf("%d slots are done, %d faulted and %d go round again, the device counted %d, %d and %d: %w",
			executed, faulted, again, c.Executed, c.Faulted, c.Again, ErrDevice)
	}
	w.Executed, w.Faulted = executed, faulted
	return nil
}

// alike is how many slots from the first on were and are as the first: mostly all of a page.
func alike(before, after []ring.Status) int {
	n := 1
	for after = after[:len(before)]; n < len(before) && before[n] == before[0] && after[n] == after[0]; n++ {
	}
	return n
}

// collectWhole does what collectPage does for a page of one batch all of whose slots ran and have
// the same history, as most pages are, in a third of the time. It reports false, and has changed nothing, for any other.
func (w *Wave) collectWhole(position int, entry ring.Entry) bool {
	l := w.ledger
	n, at, base := entry.Count(), position*ring.PageSlots, int(entry.Page())*ring.PageSlots
	before, after, owners := l.pool.Statuses(int(entry.Page()), 1)[:n], w.Statuses[at:at+n], l.owners[base:base+n]
	number := owners[0].entry
	if before[0].State() != ring.Published || after[0] != before[0].Attempted().With(ring.Done) || alike(before, after) < n {
		return false
	}
	for j := range owners {
		if owners[j].entry != number {
			return false
		}
	}
	l.pool.CollectDone(base, after)
	l.pages[entry.Page()].again = false
	t := tally{entry: w.entries[number], executed: uint32(n)}
	if t.entry.WantResults {
		for j := range owners {
			t.entry.result.Results[owners[j].index] = w.Words[at+j]
		}
	}
	w.tally(&t)
	return true
}

// collectPage takes in the status words of one page: states go to the pool, results to
// their places in the batch, and counts and faults to the wave's tallies, because another
// wave of the same batch may be collected at the same time. Settle adds the tallies up.
func (w *Wave) collectPage(position int, entry ring.Entry) {
	l := w.ledger
	at := position * ring.PageSlots
	base := int(entry.Page()) * ring.PageSlots
	before := l.pool.Statuses(int(entry.Page()), 1)
	p := &l.pages[entry.Page()]
	p.again = false
	var t tally
	number := ^uint32(0)
	for j := range entry.Count() {
		if before[j].State() != ring.Published {
			continue
		}
		after := w.Statuses[at+j]
		p.again = p.again || after.State() == ring.Yielded || after.State() == ring.Requeued
		status := l.pool.Collect(base+j, after) // verify has seen every state
		state := status.State()
		if state == ring.Published {
			continue
		}
		o := l.owners[base+j]
		if o.entry != number {
			w.tally(&t)
			number = o.entry
			t = tally{entry: w.entries[number]}
		}
		if state == ring.Fault {
			t.faulted++
			t.faults = append(t.faults, SlotFault{Index: o.index, Code: status.Fault()})
			continue
		}
		t.executed++
		if t.entry.WantResults {
			t.entry.result.Results[o.index] = w.Words[at+j]
		}
	}
	w.tally(&t)
}

// tally appends what was done for a batch, to the last of the wave's tallies if that is of
// the same batch.
func (w *Wave) tally(t *tally) {
	if t.executed+t.faulted == 0 {
		return
	}
	if n := len(w.tallies); n > 0 && w.tallies[n-1].entry == t.entry {
		last := &w.tallies[n-1]
		last.executed += t.executed
		last.faulted += t.faulted
		last.faults = append(last.faults, t.faults...)
		return
	}
	w.tallies = append(w.tallies, *t)
}
