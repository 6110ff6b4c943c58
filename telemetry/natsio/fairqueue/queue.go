package fairqueue

import "sync"

// Bounds are how much may wait, of all tenants together. A tenant has a quarter of what the others
// leave, and one item in any case, as long as there is room at all.
type Bounds struct{ Items, Bytes int }

// Queue holds what waits. It is safe for concurrent use; the zero value is not ready, see New.
type Queue[T any] struct {
	bounds Bounds

	mu     sync.Mutex
	lines  map[string]*line[T]
	turns  []*line[T] // those with items, the next first
	under  Bounds     // what waits
	served bool       // somebody calls Next
}

// line is what waits of one tenant, in order of arrival.
type line[T any] struct {
	tenant string
	items  []sized[T]
	bytes  int
}

type sized[T any] struct {
	item  T
	bytes int
}

// New returns an empty queue.
func New[T any](b Bounds) *Queue[T] { return &Queue[T]{bounds: b, lines: make(map[string]*line[T])} }

// Put adds an item of a tenant, unless ok is false: then the tenant's share is used up. wake says that
// nobody serves the queue, and that the caller is to have somebody call Next until it finds nothing.
func (q *Queue[T]) Put(tenant string, item T, bytes int) (wake, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[tenant]
	if l == nil {
		l = &line[T]{tenant: tenant}
	}
	if !fits(1, len(l.items), q.under.Items, q.bounds.Items) || !fits(bytes, l.bytes, q.under.Bytes, q.bounds.Bytes) {
		return false, false
	}
	if len(l.items) == 0 {
		q.lines[tenant] = l
		q.turns = append(q.turns, l)
	}
	l.items = append(l.items, sized[T]{item, bytes})
	l.bytes += bytes
	q.under.Items++
	q.under.Bytes += bytes
	wake = !q.served
	q.served = true
	return wake, true
}

// fits reports whether more may wait of a tenant that has own of all that waits.
func fits(more, own, all, bound int) bool {
	if all+more > bound {
		return false
	}
	return own == 0 || own+more <= (bound-(all-own))/4
}

// Next takes the oldest item of the tenant whose turn it is. If nothing waits, ok is false, and the next
// Put asks for somebody who serves.
func (q *Queue[T]) Next() (item T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.turns) == 0 {
		q.served, q.turns = false, nil
		return item, false
	}
	l := q.turns[0]
	q.turns[0] = nil
	q.turns = q.turns[1:]
	first := l.items[0]
	l.items[0] = sized[T]{}
	l.items = l.items[1:]
	l.bytes -= first.bytes
	q.under.Items--
	q.under.Bytes -= first.bytes
	if len(l.items) > 0 {
		q.turns = append(q.turns, l)
	} else {
		delete(q.lines, l.tenant)
	}
	return first.item, true
}

// Len is how many items wait.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.under.Items
}
