package ring

import (
	"errors"
	"fmt"
	"math/bits"
)

// Errors of a pool.
var (
	// ErrFull says that a page has no room for another slot.
	ErrFull = errors.New("page is full")
	// ErrSealed says that a page is in a schedule and takes no more slots.
	ErrSealed = errors.New("page is sealed")
	// ErrTransition says that a slot cannot go from its state to the next.
	ErrTransition = errors.New("illegal transition")
	// ErrBusy says that a page still holds slots that are not terminal.
	ErrBusy = errors.New("page still holds work")
)

// page is what the host knows about a page besides its slots.
type page struct {
	priority uint32
	filled   int // slots appended, they come first
	live     int // slots not terminal
	inUse    bool
	sealed   bool
}

// Pool is a fixed number of pages and the host's image of their slots and
// status words. Slot i of page p is element p*PageSlots+i of both arrays.
type Pool struct {
	slots  []Slot
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
		slots:  make([]Slot, pages*PageSlots),
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

// Pages is the number of pages, Free how many of them are free.
func (p *Pool) Pages() int { return len(p.pages) }

// Free is the number of free pages.
func (p *Pool) Free() int { return p.nfree }

// Slots is the image of n pages from first on, for an upload. The caller does
// not change it.
func (p *Pool) Slots(first, n int) []Slot {
	return p.slots[first*PageSlots : (first+n)*PageSlots]
}

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

// Append publishes a slot at the end of a page and returns its index in the
// pool. The page must have the slot's priority, room, and not be sealed.
func (p *Pool) Append(number uint32, s *Slot) (int, error) {
	pg := &p.pages[number]
	switch {
	case !pg.inUse || pg.priority != s.Priority:
		return 0, fmt.Errorf("ring: page %d takes no slot of priority %d", number, s.Priority)
	case pg.sealed:
		return 0, fmt.Errorf("ring: page %d: %w", number, ErrSealed)
	case pg.filled == PageSlots:
		return 0, fmt.Errorf("ring: page %d: %w", number, ErrFull)
	}
	index := int(number)*PageSlots + pg.filled
	p.slots[index] = *s
	p.status[index] = NewStatus(Published)
	pg.filled++
	pg.live++
	return index, nil
}

// Priority is the priority of a page's slots.
func (p *Pool) Priority(number uint32) uint32 { return p.pages[number].priority }

// Filled is how many slots a page holds, Live how many of them are not terminal.
func (p *Pool) Filled(number uint32) int { return p.pages[number].filled }

// Live is the number of a page's slots that are not terminal.
func (p *Pool) Live(number uint32) int { return p.pages[number].live }

// Open reports whether a page still takes slots.
func (p *Pool) Open(number uint32) bool {
	pg := &p.pages[number]
	return pg.inUse && !pg.sealed && pg.filled < PageSlots
}

// Slot is the slot at an index of the pool.
func (p *Pool) Slot(index int) *Slot { return &p.slots[index] }

// Status is the status word at an index of the pool.
func (p *Pool) Status(index int) Status { return p.status[index] }

// Collect takes over the status word that the device left for a slot. A slot
// the device did not finish ages by one wave; one that yielded or was
// requeued is published again. The host's image is unchanged on an error,
// which means that the device wrote something it must not.
func (p *Pool) Collect(index int, device Status) (Status, error) {
	before := p.status[index]
	if device == before {
		if before.State() == Published {
			p.status[index] = before.Aged()
		}
		return p.status[index], nil
	}
	next := device.State()
	if !before.State().CanBecome(next) {
		return before, fmt.Errorf("ring: slot %d: %s became %s: %w", index, before.State(), next, ErrTransition)
	}
	switch next {
	case Done, Fault:
		p.pages[index>>PageShift].live--
	case Yielded, Requeued:
		device = device.With(Published).Aged()
	}
	p.status[index] = device
	return device, nil
}

// Release empties a page whose slots are all terminal and frees it.
func (p *Pool) Release(number uint32) error {
	pg := &p.pages[number]
	if !pg.inUse {
		return fmt.Errorf("ring: page %d is free already", number)
	}
	if pg.live > 0 {
		return fmt.Errorf("ring: page %d: %d slots: %w", number, pg.live, ErrBusy)
	}
	base := int(number) * PageSlots
	clear(p.slots[base : base+pg.filled])
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
		if !p.status[base+count].State().Terminal() {
			live++
		}
		count++
	}
	return count, live
}
