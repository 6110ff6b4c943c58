//go:build cgo && linux

package glcompute

import (
	"sync"
	"sync/atomic"
)

// objects are the buffers and programs of a share group: what one context of it
// made, another may use and delete. It is guarded by its own lock, because the
// contexts live on threads of their own.
type objects struct {
	mu       sync.Mutex
	users    int            // contexts that are open
	buffers  map[Buffer]int // live buffers and their sizes in bytes
	programs map[Program]struct{}

	// deleted counts the buffers that were deleted, whose names new ones may get.
	deleted atomic.Uint64

	// mapped has the mapped ones of the buffers. A store looks its buffer up
	// without a lock: the map behind the pointer is never changed, only replaced.
	mapped atomic.Pointer[map[Buffer]*mapping]
}

func newObjects() *objects {
	o := &objects{buffers: map[Buffer]int{}, programs: map[Program]struct{}{}}
	o.mapped.Store(&map[Buffer]*mapping{})
	return o
}

// join counts another context of the group.
func (o *objects) join() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.users++
}

// leave reports whether the context that goes is the last one.
func (o *objects) leave() (last bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.users--
	return o.users == 0
}

func (o *objects) addBuffer(buffer Buffer, size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buffers[buffer] = size
}

// takeBuffer forgets a buffer and reports whether it was there.
func (o *objects) takeBuffer(buffer Buffer) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, live := o.buffers[buffer]
	delete(o.buffers, buffer)
	if live {
		o.deleted.Add(1)
	}
	return live
}

func (o *objects) addProgram(program Program) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.programs[program] = struct{}{}
}

// takeProgram forgets a program and reports whether it was there.
func (o *objects) takeProgram(program Program) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, live := o.programs[program]
	delete(o.programs, program)
	return live
}

// live lists what was made and not deleted.
func (o *objects) live() (buffers []Buffer, programs []Program) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for buffer := range o.buffers {
		buffers = append(buffers, buffer)
	}
	for program := range o.programs {
		programs = append(programs, program)
	}
	return buffers, programs
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
	next := make(map[Buffer]*mapping, len(old)+1)
	for k, v := range old {
		next[k] = v
	}
	if m == nil {
		delete(next, buffer)
	} else {
		next[buffer] = m
	}
	o.mapped.Store(&next)
	return before
}

// mapping is that of a mapped buffer, or nil.
func (o *objects) mapping(buffer Buffer) *mapping { return (*o.mapped.Load())[buffer] }
