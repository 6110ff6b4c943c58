package ring

// deque is a double-ended queue of page numbers that reuses its memory.
type deque struct {
	items []uint32
	head  int // items before it are gone
}

// pages are the numbers, oldest first. The caller does not keep them.
func (d *deque) pages() []uint32 { return d.items[d.head:] }

func (d *deque) back() (number uint32, ok bool) {
	if d.head == len(d.items) {
		return 0, false
	}
	return d.items[len(d.items)-1], true
}

func (d *deque) pushBack(number uint32) {
	if len(d.items) == cap(d.items) && d.head > 0 {
		d.items = d.items[:copy(d.items, d.items[d.head:])]
		d.head = 0
	}
	d.items = append(d.items, number)
}

func (d *deque) pushFront(number uint32) {
	if d.head == 0 {
		// Room for as many again, so that the cost of moving is shared.
		n := len(d.items)
		d.head = n + 1
		d.items = append(d.items, make([]uint32, d.head)...)
		copy(d.items[d.head:], d.items[:n])
	}
	d.head--
	d.items[d.head] = number
}

// filter keeps the pages for which keep holds, in their order.
func (d *deque) filter(keep func(number uint32) bool) {
	for d.head < len(d.items) && !keep(d.items[d.head]) {
		d.head++
	}
	kept := d.head
	for _, number := range d.items[d.head:] {
		if keep(number) {
			d.items[kept] = number
			kept++
		}
	}
	d.items = d.items[:kept]
	if d.head == kept {
		d.items, d.head = d.items[:0], 0
	}
}
