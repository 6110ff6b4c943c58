package ledger

import (
	"fmt"
	"time"

	"ringmaster/ring"
)

// Extent is a run of positions of one page that one batch's slots go to.
type Extent struct {
	Index int // of the first position in the pool
	N     int // positions
	entry *Entry
	from  int // position in the batch's order, or in the batch if its segment is uniform
}

// Page is the page of an extent.
func (x *Extent) Page() uint32 { return uint32(x.Index >> ring.PageShift) }

// Submit takes a batch for a queue, which its first batch creates, and reserves positions
// for it. It appends them to dst: if there are any, their slots have to be written, see
// Slots, and then published. A queue that cannot have a window, a batch over a bound, and
// one that its queue must not submit are refused, and nothing has changed.
func (l *Ledger) Submit(now time.Time, dst []Extent, name string, b *Entry) ([]Extent, error) {
	q, err := l.admit(now, name, b)
	if err != nil {
		return dst, err
	}
	l.register(q, b)
	if b.Epoch != 0 && b.Epoch != q.epoch {
		// The heap that it depends on is gone: it ends as if it had come before the loss.
		b.segmentEnd, b.outstanding = 0, 0
		l.dropRest(b, ErrHeapLost)
		l.finish(now, b)
		return dst, nil
	}
	before := len(dst)
	for p := range uint32(ring.Priorities) {
		if q.waiting[p].Len() == 0 {
			dst = l.reserve(dst, q, b, p, b.length)
		}
	}
	q.enqueue(b)
	if len(dst) > before {
		q.writing++
	}
	return dst, nil
}

// admit decides whether a batch is taken and for which queue.
func (l *Ledger) admit(now time.Time, name string, b *Entry) (*queue, error) {
	if l.pending+b.length > l.cfg.MaxPending {
		return nil, fmt.Errorf("batch %q: %d slots pending and %d more, the limit is %d: %w",
			b.ID, l.pending, b.length, l.cfg.MaxPending, ErrBacklog)
	}
	q, err := l.open(now, name)
	if err != nil {
		return nil, err
	}
	return q, q.admits(b)
}

// register enters an admitted batch in the books: from here on it is reported once. Its
// slots get the next sequence numbers of the queue, which prints name.
func (l *Ledger) register(q *queue, b *Entry) {
	if n := len(l.free); n > 0 {
		b.number = l.free[n-1]
		l.free = l.free[:n-1]
		l.entries[b.number] = b
	} else {
		b.number = uint32(len(l.entries))
		l.entries = append(l.entries, b)
	}
	b.queue = q
	q.know(b)
	b.serial = l.serial
	l.serial++
	b.result.Sequence = q.sequence
	q.sequence += uint32(b.length)
	q.pending += b.length
	l.pending += b.length
	if !b.Deadline.IsZero() {
		l.deadlines.push(b)
	}
}

// Reserve finds positions for slots of the wave's queue that wait for pages, until as many
// of each priority as the wave may take could be scheduled, and appends them to dst. If
// there are any, their slots have to be written and published.
func (l *Ledger) Reserve(dst []Extent, w *Wave) []Extent {
	q, before := w.queue, len(dst)
	for p := range uint32(ring.Priorities) {
		for room := w.depth - q.pages.Waiting(l.pool, p); ; {
			front := q.waiting[p].Front()
			if front == nil {
				break
			}
			b := front.Value.(*Entry)
			next := b.class[p].next
			dst = l.reserve(dst, q, b, p, room)
			room -= b.class[p].next - next
			if b.class[p].next < b.class[p].end {
				break
			}
			q.waiting[p].Remove(front)
		}
	}
	if len(dst) > before {
		q.writing++
	}
	return dst
}

// reserve finds positions for at most limit of a batch's slots of a priority that are in no
// page, as far as there are pages. The batch remembers them, so that Cancel finds its slots
// without looking at others. The page remembers what a wave has to know of its slots: their
// opcodes, the most steps, and whether one wants its result.
func (l *Ledger) reserve(dst []Extent, q *queue, b *Entry, priority uint32, limit int) []Extent {
	c := &b.class[priority]
	for limit > 0 && c.next < c.end {
		number, ok := l.openPage(q, priority, b)
		if !ok {
			break
		}
		index, n := l.pool.Reserve(number, min(c.end-c.next, limit))
		p := &l.pages[number]
		p.steps = max(p.steps, b.profile.Steps)
		p.opcodes |= b.profile.Opcodes
		p.results = p.results || b.WantResults
		dst = append(dst, Extent{Index: index, N: n, entry: b, from: c.next})
		b.taken = append(b.taken, positions{index, n})
		c.next += n
		limit -= n
	}
	return dst
}

// openPage is a page of a priority that takes slots of a batch: the queue's youngest, if it
// has room and was in no wave yet, or a new one.
//
// Whatever the others do, a queue is given its first page of a priority: more than that
// come only from what is left when every queue there can be has had a page of each. With
// Config.Pages of at least a page for each (queue, priority) pair, no queue's backlog keeps
// another from running.
func (l *Ledger) openPage(q *queue, priority uint32, b *Entry) (uint32, bool) {
	if number, ok := q.pages.Last(priority); ok && l.pool.Open(number) && l.joins(b, number) {
		return number, true
	}
	if q.owned[priority] > 0 {
		promised := ring.Priorities*l.cfg.Windows - l.first
		if l.pool.Free() <= promised {
			return 0, false
		}
	}
	number, ok := l.pool.Alloc(priority)
	if !ok {
		return 0, false
	}
	if q.owned[priority]++; q.owned[priority] == 1 {
		l.first++
	}
	q.pages.Push(l.pool, number)
	l.pages[number] = page{}
	return number, true
}

// joins reports whether a batch's slots can stand in a page beside those it has.
func (l *Ledger) joins(b *Entry, number uint32) bool {
	p := &l.pages[number]
	return l.cfg.Fits(p.opcodes|b.profile.Opcodes, max(p.steps, b.profile.Steps))
}

// closePage frees a page without live slots that is in no queue.
func (l *Ledger) closePage(q *queue, number uint32) error {
	priority := l.pool.Priority(number)
	if err := l.pool.Release(number); err != nil {
		return err
	}
	if q.owned[priority]--; q.owned[priority] == 0 {
		l.first--
	}
	return nil
}

// Slots are the slots of an extent, with tenant and sequence, to be written to its
// positions. They are in the batch or, if its order is another or they are of runs, in gather,
// which needs room for a page. Whoever reserved an extent calls it once before publishing,
// beside whatever else goes on.
func (l *Ledger) Slots(x *Extent, gather []ring.Slot) []ring.Slot {
	b := x.entry
	owners := l.owners[x.Index : x.Index+x.N]
	if b.uniform {
		for i := range owners {
			owners[i] = owner{entry: b.number, index: uint32(x.from + i)}
		}
		return b.slots(x.from, x.N, gather)
	}
	gather = gather[:x.N]
	for i, index := range b.order[x.from : x.from+x.N] {
		owners[i] = owner{entry: b.number, index: index}
		if s := b.slot(int(index), &gather[i]); s != &gather[i] {
			gather[i] = *s
		}
	}
	return gather
}

// Publish makes the slots of extents that one call reserved ready for a wave, and drops
// those of batches that were withdrawn while they were written.
func (l *Ledger) Publish(now time.Time, extents []Extent) {
	if len(extents) == 0 {
		return
	}
	extents[0].entry.queue.writing--
	for i := range extents {
		x := &extents[i]
		b := x.entry
		l.pool.Publish(x.Index, x.N)
		if !b.withdrawn {
			continue
		}
		l.dropAt(b, positions{x.Index, x.N})
		if l.pool.Idle(x.Page()) {
			l.closeIdle(b.queue)
		}
		if b.outstanding == 0 {
			l.finish(now, b)
		}
	}
}
