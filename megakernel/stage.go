package megakernel

import (
	"fmt"
	"slices"

	"ringmaster/ring"
)

// scratch is memory that every launch uses again. What the driver reads or
// writes is allocated apart from anything that holds Go pointers, as cgo demands.
type scratch struct {
	schedule []ring.Entry
	pages    []uint32      // the scheduled pages, ascending
	statuses []ring.Status // what the device left, same index as in the pool
	results  []uint32
	control  []ring.Control // one
}

func newScratch(pages int) scratch {
	return scratch{
		schedule: make([]ring.Entry, 0, pages),
		pages:    make([]uint32, 0, pages),
		statuses: make([]ring.Status, pages*ring.PageSlots),
		results:  make([]uint32, pages*ring.PageSlots),
		control:  make([]ring.Control, 1),
	}
}

// stage moves a queue's waiting slots into pages, at most depth of each
// priority, which is as many as one launch can take of it. Called with both
// mutexes held.
func (e *Engine) stage(q *queue, depth int) error {
	for p := range uint32(ring.Priorities) {
		live := q.pages.Live(e.pool, p)
		for live < depth {
			b := q.waiting[p].front()
			if b == nil {
				break
			}
			number, ok := e.openPage(q, p)
			if !ok {
				break
			}
			n, err := e.fill(q, b, number, depth-live)
			if err != nil {
				return err
			}
			live += n
			if b.class[p].next == b.class[p].end {
				q.waiting[p].pop()
			}
		}
	}
	return nil
}

// openPage is a page of a priority that takes slots. A queue is always given
// its first page of a priority, and more only from what is left when every
// queue there can be has had its first ones, so no queue's backlog keeps
// another from running.
func (e *Engine) openPage(q *queue, priority uint32) (uint32, bool) {
	if number, ok := q.pages.Last(priority); ok && e.pool.Open(number) {
		return number, true
	}
	if q.pages.Pages(priority) > 0 {
		promised := ring.Priorities*e.cfg.MaxQueues - e.first
		if e.pool.Free() <= promised {
			return 0, false
		}
	}
	number, ok := e.pool.Alloc(priority)
	if !ok {
		return 0, false
	}
	if q.pages.Pages(priority) == 0 {
		e.first++
	}
	q.pages.Push(priority, number)
	e.steps[number] = 0
	e.resident[number] = false
	return number, true
}

// fill appends a batch's next slots to a page, at most limit of them, and
// returns how many there was room for.
func (e *Engine) fill(q *queue, b *batch, number uint32, limit int) (int, error) {
	n := 0
	class := &b.class[e.pool.Priority(number)]
	for n < limit && class.next < class.end && e.pool.Open(number) {
		index := b.order[class.next]
		s := &b.Slots[index]
		s.Tenant = q.tenant
		s.Sequence = b.sequence + index
		at, err := e.pool.Append(number, s)
		if err != nil {
			return n, fmt.Errorf("megakernel: batch %q: %w", b.ID, err)
		}
		e.owners[at] = owner{batch: b.number, index: index}
		e.steps[number] = max(e.steps[number], builtIn.Steps(s))
		class.next++
		n++
	}
	return n, nil
}

// plan schedules the queue's next wave into scratch and returns its number of
// slots and the most loop steps one of them takes.
func (e *Engine) plan(q *queue, depth int) (slots int, steps uint32) {
	s := &e.scratch
	s.schedule, slots = q.pages.Plan(s.schedule[:0], e.pool, depth)
	s.pages = s.pages[:0]
	for _, entry := range s.schedule {
		s.pages = append(s.pages, entry.Page())
		steps = max(steps, e.steps[entry.Page()])
	}
	slices.Sort(s.pages)
	return slots, steps
}

// runs calls each for every run of consecutive page numbers in pages, which
// are ascending, with its first page and its length.
func runs(pages []uint32, each func(first, n int)) {
	for len(pages) > 0 {
		n := 1
		for n < len(pages) && pages[n] == pages[0]+uint32(n) {
			n++
		}
		each(int(pages[0]), n)
		pages = pages[n:]
	}
}
