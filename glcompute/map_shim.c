//go:build cgo && linux

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "map_shim.h"

typedef struct {
	unsigned char *base;
} shim_map;

// write_fence makes earlier stores visible to the device before later ones. The
// driver may hand out write-combining memory, whose stores x86 does not order
// by themselves.
static void write_fence(void) {
#if defined(__x86_64__)
	__builtin_ia32_sfence();
#endif
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

uintptr_t shim_map_buffer(uintptr_t map_buffer_range, unsigned target, ptrdiff_t size, unsigned access) {
	shim_map *m = malloc(sizeof *m);
	if (m == NULL) {
		return 0;
	}
	m->base = ((void *(*)(unsigned, ptrdiff_t, ptrdiff_t, unsigned))map_buffer_range)(target, 0, size, access);
	if (m->base == NULL) {
		free(m);
		return 0;
	}
	memset(m->base, 0, (size_t)size);
	write_fence();
	return (uintptr_t)m;
}

void shim_map_forget(uintptr_t map) { free((shim_map *)map); }

void shim_map_store(uintptr_t map, size_t offset, const void *src, size_t n) {
	memcpy(((shim_map *)map)->base + offset, src, n);
	write_fence();
}

#if defined(__x86_64__)
// stream copies 64 bytes from each half of a range in turn, past the caches: one
// core fills memory 1.5 times as fast that way, because it does not read first
// what it is about to overwrite. dst is a multiple of 16.
static void stream(unsigned char *dst, const unsigned char *src, size_t n) {
	size_t half = n / 128 * 64;
	for (size_t i = 0; i < half; i += 64) {
		for (size_t part = i;; part += half) {
			__m128i a = _mm_loadu_si128((const __m128i *)(src + part));
			__m128i b = _mm_loadu_si128((const __m128i *)(src + part + 16));
			__m128i c = _mm_loadu_si128((const __m128i *)(src + part + 32));
			__m128i d = _mm_loadu_si128((const __m128i *)(src + part + 48));
			_mm_stream_si128((__m128i *)(dst + part), a);
			_mm_stream_si128((__m128i *)(dst + part + 16), b);
			_mm_stream_si128((__m128i *)(dst + part + 32), c);
			_mm_stream_si128((__m128i *)(dst + part + 48), d);
			if (part >= half) {
				break;
			}
		}
	}
	memcpy(dst + 2 * half, src + 2 * half, n - 2 * half);
}
#endif

void shim_map_stream(uintptr_t map, size_t offset, const void *src, size_t n) {
	unsigned char *dst = ((shim_map *)map)->base + offset;
#if defined(__x86_64__)
	if ((uintptr_t)dst % 16 == 0) {
		stream(dst, src, n);
		write_fence();
		return;
	}
#endif
	memcpy(dst, src, n);
	write_fence();
}

void shim_map_load(uintptr_t map, size_t offset, void *dst, size_t n) {
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	memcpy(dst, ((shim_map *)map)->base + offset, n);
}

void shim_map_store_word(uintptr_t map, size_t offset, uint32_t value) {
	write_fence();
	__atomic_store_n((uint32_t *)(((shim_map *)map)->base + offset), value, __ATOMIC_RELEASE);
#if defined(__x86_64__)
	__builtin_ia32_sfence(); // do not leave the word in a write-combining buffer
#endif
}

uint32_t shim_map_load_word(uintptr_t map, size_t offset) {
	return __atomic_load_n((uint32_t *)(((shim_map *)map)->base + offset), __ATOMIC_ACQUIRE);
}
