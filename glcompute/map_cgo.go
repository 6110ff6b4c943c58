//go:build cgo && linux

package glcompute

/*
#cgo noescape shim_map_store
#cgo nocallback shim_map_store
#cgo noescape shim_map_stream
#cgo nocallback shim_map_stream
#cgo noescape shim_map_load
#cgo nocallback shim_map_load
#cgo nocallback shim_map_store_word
#cgo nocallback shim_map_load_word
#include "map_shim.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"
)

// mapping is a buffer that stays mapped. Its lock is held for reading while
// somebody copies, so that unmapping waits for them.
type mapping struct {
	mu     sync.RWMutex
	handle uintptr // of a shim_map, 0 once unmapped
	size   int

	streams   bool         // a device apart from the host's processors reads it
	streaming atomic.Int32 // large stores under way
}

// A store of at least this size goes past the caches, if no more than this many are
// under way: a single core is limited by its own cache misses, many by the memory.
const (
	streamBytes   = 4 << 10
	streamWriters = 4
)

// mapBound maps the buffer bound to a target; mapBufferRange is the address of
// the GL function. It is nil if the driver refuses.
func mapBound(mapBufferRange uintptr, target uint32, size int, access uint32) *mapping {
	if mapBufferRange == 0 {
		return nil
	}
	h := uintptr(C.shim_map_buffer(C.uintptr_t(mapBufferRange), C.uint(target), C.ptrdiff_t(size), C.uint(access)))
	if h == 0 {
		return nil
	}
	return &mapping{handle: h, size: size}
}

// close waits for the copies under way and lets no other begin.
func (m *mapping) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	C.shim_map_forget(C.uintptr_t(m.handle))
	m.handle = 0
}

// check panics for a range outside the mapping, as an index outside a slice does.
func (m *mapping) check(buffer Buffer, offset, n int) {
	if offset < 0 || n > m.size-offset {
		panic(fmt.Sprintf("OpenGL: bytes %d to %d of mapped buffer %d, which has %d", offset, offset+n, buffer, m.size))
	}
}

func checkWord(buffer Buffer, offset int) {
	if offset%4 != 0 {
		panic(fmt.Sprintf("OpenGL: word at byte %d of mapped buffer %d: want a multiple of 4", offset, buffer))
	}
}

// StoreMapped copies data to a byte offset of a mapped buffer. It may be called
// from any goroutine, also while a function runs in Do; a buffer that was deleted,
// or is none of NewMapped, takes nothing. A range outside the buffer panics.
func (d *Device) StoreMapped(buffer Buffer, offset int, data []byte) {
	m := d.objects.mapping(buffer)
	if m == nil || len(data) == 0 {
		return
	}
	m.check(buffer, offset, len(data))
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.handle == 0 {
		return
	}
	if m.streams && len(data) >= streamBytes {
		defer m.streaming.Add(-1)
		if m.streaming.Add(1) <= streamWriters {
			C.shim_map_stream(C.uintptr_t(m.handle), C.size_t(offset), unsafe.Pointer(&data[0]), C.size_t(len(data)))
			return
		}
	}
	C.shim_map_store(C.uintptr_t(m.handle), C.size_t(offset), unsafe.Pointer(&data[0]), C.size_t(len(data)))
}

// LoadMapped fills dst from a byte offset of a mapped buffer; otherwise like
// StoreMapped. What the device wrote is there after CommandBarrier and a fence
// behind it, or once LoadWord has seen a word that the kernel wrote afterwards.
func (d *Device) LoadMapped(buffer Buffer, offset int, dst []byte) {
	m := d.objects.mapping(buffer)
	if m == nil || len(dst) == 0 {
		return
	}
	m.check(buffer, offset, len(dst))
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.handle != 0 {
		C.shim_map_load(C.uintptr_t(m.handle), C.size_t(offset), unsafe.Pointer(&dst[0]), C.size_t(len(dst)))
	}
}

// StoreWord stores a word at a byte offset, a multiple of 4, after everything that
// this goroutine stored before. Otherwise like StoreMapped.
func (d *Device) StoreWord(buffer Buffer, offset int, value uint32) {
	m := d.objects.mapping(buffer)
	if m == nil {
		return
	}
	m.check(buffer, offset, 4)
	checkWord(buffer, offset)
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.handle != 0 {
		C.shim_map_store_word(C.uintptr_t(m.handle), C.size_t(offset), C.uint32_t(value))
	}
}

// LoadWord loads a word before everything that this goroutine loads after it; 0
// from a buffer that was deleted. Otherwise like StoreMapped.
func (d *Device) LoadWord(buffer Buffer, offset int) uint32 {
	m := d.objects.mapping(buffer)
	if m == nil {
		return 0
	}
	m.check(buffer, offset, 4)
	checkWord(buffer, offset)
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.handle == 0 {
		return 0
	}
	return uint32(C.shim_map_load_word(C.uintptr_t(m.handle), C.size_t(offset)))
}
