package megakernel

import (
	"container/heap"

	"ringmaster/ring"
)

// runSettler is the goroutine that takes over what waves left, one wave at a
// time, while the device runs the next.
func (e *Engine) runSettler() {
	defer close(e.stopped)
	for f := range e.settling {
		if f.err == nil {
			e.load(f)
		}
		e.takeOver(f)
	}
}

// takeOver settles a wave whose results are loaded, or puts back one that failed.
func (e *Engine) takeOver(f *flight) {
	if f.err == nil {
		f.err = e.verify(f)
	}
	if f.err != nil {
		e.putBack(f)
		return
	}
	e.settle(f)
}

// load copies what the device left to the flight's memory.
func (e *Engine) load(f *flight) {
	if f.leased {
		return // it is there already
	}
	e.memory.loadControl(f.index, f.control)
	f.runs(func(first, n, position int) {
		at := position * ring.PageSlots
		var words []uint32
		if f.results {
			words = f.words[at:]
		}
		e.memory.loadPages(first, n, f.statuses[at:], words)
	})
}

// putBack returns the pages of a wave that failed. Their slots are as they were
// before it, published, and will be uploaded again.
func (e *Engine) putBack(f *flight) {
	e.mu.Lock()
	e.putBackPages(f)
	f.queue.stats.FailedWaves++
	f.report.Executed, f.report.Faulted, f.report.Requeued = 0, 0, 0
	e.madeRoom()
	calls := e.takeCalls()
	e.land(f, f.err)
	e.mu.Unlock()
	for _, c := range calls {
		c.done(&c.result)
	}
}

// putBackPages returns a wave's pages to the fronts of their lines, without the slots of
// batches withdrawn meanwhile. Called with mu held.
func (e *Engine) putBackPages(f *flight) {
	for i := len(f.schedule) - 1; i >= 0; i-- {
		number := f.schedule[i].Page()
		e.pages[number].resident = false
		_ = e.putBackPage(f.queue, number, false) // without live slots it can be freed
	}
}

// putBackPage returns a page from a wave to its line, or frees it if nothing of it is
// left to run. Called with mu held.
func (e *Engine) putBackPage(q *queue, number uint32, behind bool) error {
	if q.ending > 0 {
		e.dropPage(number)
	}
	if e.pool.Live(number) == 0 {
		return e.closePage(q, number)
	}
	q.pages.Return(e.pool, number, behind)
	return nil
}

// settle takes over a wave's status words and results, finishes batches, opens
// the segments behind finished fences, and frees pages. What belongs to the
// flight's pages alone is done before the lock is taken.
func (e *Engine) settle(f *flight) {
	e.mu.Lock()
	batches := e.batches // elements of slots in flight do not change
	e.mu.Unlock()
	e.collecting.Lock() // a Launch that ran here settles beside the settler
	for i, entry := range f.entries {
		e.collectPage(f, batches, i, entry)
	}
	e.collecting.Unlock()

	e.mu.Lock()
	q, report := f.queue, &f.report
	for i := range f.tallies {
		t := &f.tallies[i]
		b := t.batch
		n := int(t.executed + t.faulted)
		b.result.Executed += t.executed
		b.result.Faulted += t.faulted
		b.outstanding -= n
		q.pending -= n
		e.pending -= n
	}
	// Two steps, because a batch may have several tallies.
	for i := range f.tallies {
		if b := f.tallies[i].batch; b.outstanding == 0 {
			e.advance(b)
		}
		f.tallies[i] = tally{}
	}
	q.stats.add(report)
	q.promotion.settle(e.promote, &report.Opcodes)
	report.Promotion = q.promotion.decision
	err := e.returnPages(f)
	e.madeRoom()
	calls := e.takeCalls()
	e.mu.Unlock()
	for _, c := range calls {
		c.done(&c.result)
	}
	e.mu.Lock()
	e.land(f, err)
	e.mu.Unlock()
}

// collectPage takes over the status words of one page of a wave.
func (e *Engine) collectPage(f *flight, batches []*batch, position int, entry ring.Entry) {
	at := position * ring.PageSlots
	base := int(entry.Page()) * ring.PageSlots
	before := e.pool.Statuses(int(entry.Page()), 1)
	page := &e.pages[entry.Page()]
	page.asked = false
	var t tally
	number := ^uint32(0)
	for j := range entry.Count() {
		if before[j].State() != ring.Published {
			continue
		}
		// verify has seen every state, so no transition is refused here.
		after := f.statuses[at+j]
		page.asked = page.asked || after.State() == ring.Yielded || after.State() == ring.Requeued
		status, _ := e.pool.Collect(base+j, after)
		state := status.State()
		if state == ring.Published {
			f.report.OldestAge = max(f.report.OldestAge, status.Age())
			continue
		}
		o := e.owners[base+j]
		if o.batch != number {
			f.tally(&t)
			number = o.batch
			t = tally{batch: batches[number]}
		}
		if state == ring.Fault {
			t.faulted++
			t.batch.result.Faults = append(t.batch.result.Faults, SlotFault{Index: o.index, Code: status.Fault()})
			continue
		}
		t.executed++
		if t.batch.WantResults {
			t.batch.result.Results[o.index] = f.words[at+j]
		}
	}
	f.tally(&t)
}

// tally appends what was done for a batch, to the last of its tallies if that
// was the same.
func (f *flight) tally(t *tally) {
	if t.executed+t.faulted == 0 {
		return
	}
	if n := len(f.tallies); n > 0 && f.tallies[n-1].batch == t.batch {
		f.tallies[n-1].executed += t.executed
		f.tallies[n-1].faulted += t.faulted
		return
	}
	f.tallies = append(f.tallies, *t)
}

// advance opens the next segment of a batch whose open one is finished, or
// finishes the batch. Called with mu held.
func (e *Engine) advance(b *batch) {
	if e.batches[b.number] != b {
		return // finished by an earlier tally
	}
	if !b.ended && b.openSegment() {
		b.queue.open(b)
		return
	}
	e.finish(b)
}

// finish takes a batch without slots under way off the books. Called with mu
// held.
func (e *Engine) finish(b *batch) {
	if b.due > 0 {
		heap.Remove(&e.deadlines, b.due-1)
	}
	b.queue.forget(b)
	e.batches[b.number] = nil
	e.free = append(e.free, b.number)
	if b.result.Dropped == 0 {
		b.result.Err = nil // withdrawn when all its slots were in waves
	}
	b.queue.finished = append(b.queue.finished, b.result)
	b.queue.used = e.now()
	if b.ended {
		b.queue.ending--
	}
	if b.Done != nil {
		e.calls = append(e.calls, call{b.Done, b.result})
	}
}

// call is a batch's Done to be called without locks.
type call struct {
	done   func(*BatchResult)
	result BatchResult
}

func (e *Engine) takeCalls() []call {
	calls := e.calls
	e.calls = nil
	return calls
}

// returnPages frees the finished pages of a wave and puts the others back.
// Called with mu held.
func (e *Engine) returnPages(f *flight) error {
	q := f.queue
	// From behind, so that pages put back in front keep their order.
	for i := len(f.schedule) - 1; i >= 0; i-- {
		number := f.schedule[i].Page()
		if err := e.putBackPage(q, number, e.pages[number].asked); err != nil {
			return err
		}
	}
	return nil
}
