// Persistently mapped buffers. The address of the mapped memory stays in this
// file; Go holds a shim_map by the integer value of its own address and says
// where in it to copy.

#ifndef GLCOMPUTE_MAP_SHIM_H
#define GLCOMPUTE_MAP_SHIM_H

#include <stddef.h>
#include <stdint.h>

// shim_map_buffer maps size bytes of the buffer bound to target with
// glMapBufferRange at that address, zeroes them, and returns 0 if the driver
// does not map it or memory has run out.
uintptr_t shim_map_buffer(uintptr_t map_buffer_range, unsigned target, ptrdiff_t size, unsigned access);

// shim_map_forget frees what shim_map_buffer made; unmapping is the caller's.
void shim_map_forget(uintptr_t map);

// The callers keep offset and n inside the mapping.
void shim_map_store(uintptr_t map, size_t offset, const void *src, size_t n);

// shim_map_stream stores past the caches where the processor can.
void shim_map_stream(uintptr_t map, size_t offset, const void *src, size_t n);

void shim_map_load(uintptr_t map, size_t offset, void *dst, size_t n);
void shim_map_store_word(uintptr_t map, size_t offset, uint32_t value);
uint32_t shim_map_load_word(uintptr_t map, size_t offset);

#endif
