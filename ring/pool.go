package ring

import (
	"errors"
	"fmt"
	"math/bits"
)

// ErrBusy says that a page still holds slots that are not terminal.
var ErrBusy = errors.New("page still holds work")

// page is what the host knows about a page besides its slots' states.
type page struct {
	priority uint32
	filled   int    // positions taken, they come first
	live     int    // slots published and not terminal
	writing  int    // positions reserved and not published
	since    uint32 // the queue's clock when it was pushed or came back
	inUse    bool
	sealed   bool // it was scheduled once and takes no more slots
	flying   bool // it is in a wave
}

// Pool is a fixed number of pages and the host's image of their status words.
// Slot i of page p has index p*PageSlots+i. The pool does not hold the slots
// themselves: whoever reserves positions writes the slots to where the device finds
// them, and then publishes.
type Pool struct {
	status []Status
	pages  []page
	free   []uint64 // bit p set: page p is free
	nfree  int
	low    int // no word of free below this one has a bit set
}

// NewPool returns a pool of 1..MaxPages free pages.
func NewPool(pages int) (*Pool, error) {
	if pages < 1 || pages > MaxPages {
		return nil, fmt.Errorf("ring: a pool of %d pages, want 1..%d", pages, MaxPages)
	}
	p := &Pool{
		status: make([]Status, pages*PageSlots),
		pages:  make([]page, pages),
		free:   make([]uint64, (pages+63)/64),
		nfree:  pages,
	}
	for i := range pages {
		p.free[i/64] |= 1 << (i % 64)
	}
	return p, nil
}

// Pages is the number of pages.
func (p *Pool) Pages() int { return len(p.pages) }

// Free is the number of free pages.
func (p *Pool) Free() int { return p.nfree }

// Statuses is the image of n pages' status words from first on, for an
// upload. The caller does not change it.
func (p *Pool) Statuses(first, n int) []Status {
	return p.status[first*PageSlots : (first+n)*PageSlots]
}

// Alloc takes the free page with the lowest number, so that pages taken one
// after the other mostly lie side by side and move in one transfer.
func (p *Pool) Alloc(priority uint32) (uint32, bool) {
	if priority >= Priorities || p.nfree == 0 {
		return 0, false
	}
	for p.free[p.low] == 0 {
		p.low++
	}
	n := p.low*64 + bits.TrailingZeros64(p.free[p.low])
	p.free[p.low] &= p.free[p.low] - 1
	p.nfree--
	p.pages[n] = page{priority: priority, inUse: true}
	return uint32(n), true
}

// Reserve takes up to n positions at the end of a page and returns the index
// of the first and how many they are, 0 if the page is full, sealed or free.
// Until they are published the page is not scheduled.
func (p *Pool) Reserve(number uint32, n int) (index, taken int) {
	pg := &p.pages[number]
	if !pg.inUse || pg.sealed {
		return 0, 0
	}
	index = int(number)*PageSlots + pg.filled
	taken = min(n, PageSlots-pg.filled)
	pg.filled += taken
	pg.writing += taken
	return index, taken
}

// Publish makes n reserved positions from index on, which are of one page,
// slots to run. Their contents have been written.
func (p *Pool) Publish(index, n int) {
	pg := &p.pages[index>>PageShift]
	pg.writing -= n
	pg.live += n
	for i := range p.status[index : index+n] {
		p.status[index+i] = NewStatus(Published)
	}
}

// Priority is the priority of a page's slots.
func (p *Pool) Priority(number uint32) uint32 { return p.pages[number].priority }

// Filled is how many positions of a page are taken.
func (p *Pool) Filled(number uint32) int { return p.pages[number].filled }

// Live is the number of a page's slots that are published and not terminal.
func (p *Pool) Live(number uint32) int { return p.pages[number].live }

// Open reports whether a page still takes slots.
func (p *Pool) Open(number uint32) bool {
	pg := &p.pages[number]
	return pg.inUse && !pg.sealed && pg.filled < PageSlots
}

// Flying reports whether a page is in a wave.
func (p *Pool) Flying(number uint32) bool { return p.pages[number].flying }

// Idle reports whether a page has slots and all of them are terminal or dropped.
func (p *Pool) Idle(number uint32) bool {
	pg := &p.pages[number]
	return pg.filled > 0 && pg.live+pg.writing == 0
}

// ready reports whether a page can be scheduled.
func (p *Pool) ready(number uint32) bool {
	pg := &p.pages[number]
	return pg.writing == 0 && pg.live > 0
}

// Status is the status word at an index of the pool.
func (p *Pool) Status(index int) Status { return p.status[index] }

// Collect takes over the status word that the device left for a slot that was published, and
// gives the slot's status from then on: one that the device did not finish is published. The
// caller has seen that the device wrote nothing else than it may.
func (p *Pool) Collect(index int, device Status) Status {
	switch device.State() {
	case Done, Fault:
		p.pages[index>>PageShift].live--
		p.status[index] = device
	case Yielded, Requeued:
		p.status[index] = device.With(Published)
	}
	return p.status[index]
}

// CollectDone takes over the status words of slots from an index on that are of one page, were
// published and are done after one attempt more.
func (p *Pool) CollectDone(index int, done []Status) {
	p.pages[index>>PageShift].live -= len(done)
	copy(p.status[index:], done)
}

// Drop withdraws a published slot that is in no wave: it will not run.
func (p *Pool) Drop(index int) {
	p.status[index] = NewStatus(Empty)
	p.pages[index>>PageShift].live--
}

// Release empties a page whose slots are all terminal and frees it.
func (p *Pool) Release(number uint32) error {
	pg := &p.pages[number]
	if !pg.inUse {
		return fmt.Errorf("ring: page %d is free already", number)
	}
	if pg.live+pg.writing > 0 {
		return fmt.Errorf("ring: page %d: %d slots: %w", number, pg.live+pg.writing, ErrBusy)
	}
	base := int(number) * PageSlots
	clear(p.status[base : base+pg.filled])
	*pg = page{}
	word := int(number) / 64
	p.free[word] |= 1 << (number % 64)
	p.low = min(p.low, word)
	p.nfree++
	return nil
}

// prefix is the number of leading slots of a page that hold at most want
// slots which are not terminal, and how many they do hold.
func (p *Pool) prefix(number uint32, want int) (count, live int) {
	pg := &p.pages[number]
	if pg.live <= want {
		return pg.filled, pg.live
	}
	base := int(number) * PageSlots
	for count < pg.filled && live < want {
		if p.status[base+count].State() == Published {
			live++
		}
		count++
	}
	return count, live
}
