//go:build cgo && linux

package glcompute

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// objects are the buffers and programs of a share group: what one context of it
// made, another may use and delete. It is guarded by its own lock, because the
// contexts live on threads of their own.
type objects struct {
	mu       sync.Mutex
	users    int // contexts that are open
	buffers  map[Buffer]struct{}
	programs map[Program]struct{}

	// deleted counts the buffers that were deleted, whose names new ones may get.
	deleted atomic.Uint64

	// mapped has the mapped ones of the buffers. A store looks its buffer up
	// without a lock: the map behind the pointer is never changed, only replaced.
	mapped atomic.Pointer[map[Buffer]*mapping]
}

func newObjects() *objects {
	o := &objects{buffers: map[Buffer]struct{}{}, programs: map[Program]struct{}{}}
	o.mapped.Store(&map[Buffer]*mapping{})
	return o
}

// join counts a context that is opened, or closed if n is -1, and reports how many are open.
func (o *objects) join(n int) (users int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.users += n
	return o.users
}

// add notes an object in one of the sets of o.
func add[T comparable](o *objects, set map[T]struct{}, object T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	set[object] = struct{}{}
}

// take forgets an object in one of the sets of o, and reports whether it was there.
func take[T comparable](o *objects, set map[T]struct{}, object T) (live bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, live = set[object]
	delete(set, object)
	return live
}

// takeBuffer forgets a buffer, whose name may be another's next, and reports whether it was there.
func (o *objects) takeBuffer(buffer Buffer) (live bool) {
	if live = take(o, o.buffers, buffer); live {
		o.deleted.Add(1)
	}
	return live
}

// live lists what was made and not deleted.
func (o *objects) live() (buffers []Buffer, programs []Program) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.buffers)), slices.Collect(maps.Keys(o.programs))
}

// setMapping adds a buffer's mapping, or removes it if m is nil, and returns the
// one that was there.
func (o *objects) setMapping(buffer Buffer, m *mapping) (before *mapping) {
	o.mu.Lock()
	defer o.mu.Unlock()
	old := *o.mapped.Load()
	before = old[buffer]
	if m == nil && before == nil {
		return nil
	}
	next := maps.Clone(old)
	if next[buffer] = m; m == nil {
		delete(next, buffer)
	}
	o.mapped.Store(&next)
	return before
}

// mapping is that of a mapped buffer, or nil.
func (o *objects) mapping(buffer Buffer) *mapping { return (*o.mapped.Load())[buffer] }
