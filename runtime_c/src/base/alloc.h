// SPDX-License-Identifier: Apache-2.0
// Memory: default and caller-supplied allocators, options structs, and a bump arena.
#ifndef SMR_BASE_ALLOC_H
#define SMR_BASE_ALLOC_H

#include "base/error.h"
#include "base/lean.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  // Alignment of every allocated block and every tensor: a cache line. On bare metal, without cache
  // lines and vectors: the widest element.
  SMR_ALIGNMENT = SMR_LEAN(64, 8),
  // Bytes requested at once. A model of 100 nodes takes about five requests. On bare metal the
  // caller's buffer is already one region.
  SMR_REGION_BYTES = SMR_LEAN(16 * 1024, 0),
};

/// A copy of `given`, or the default allocator (malloc, 64-aligned) if it is NULL.
samara_allocator smr_allocator(const samara_allocator *given);

/// `size_bytes` uninitialised bytes; NULL if there is no memory. Size 0 also gives a block.
void *smr_allocate(const samara_allocator *allocator, size_t size_bytes);
/// `count * size_bytes` zeroed bytes; NULL if there is no memory or the product overflows.
void *smr_allocate_zeroed(const samara_allocator *allocator, size_t count, size_t size_bytes);
/// `size_bytes` zeroed bytes, or NULL. From the default allocator on POSIX systems, memory that is
/// not written costs nothing; it is aligned as malloc's.
void *smr_allocate_lazily(const samara_allocator *allocator, size_t size_bytes);
/// NULL is a no-op.
void smr_release(const samara_allocator *allocator, void *pointer);

/// Fails with OUT_OF_MEMORY. SIZE_MAX: more than the address space.
samara_status smr_no_memory(samara_error *error, size_t size_bytes);

/// Read an options struct, which begins with its size_t struct_size, into `own` of `own_size`
/// bytes. Fields that an older caller's header lacks become zero. NULL gives zeros. BAD_ARGUMENT if
/// struct_size is not set, or if a newer caller sets a field that this version does not know.
samara_status smr_options_read(const void *given, void *own, size_t own_size, const char *what,
                               samara_error *error);

/// A block that is handed out from the front and released as a whole. If `base` is NULL, nothing is
/// handed out and bytes are only counted, so the same code can measure first and fill later.
struct smr_bump {
  uint8_t *base;  // SMR_ALIGNMENT-aligned, or NULL to measure
  size_t capacity;
  size_t used;
  bool overflow;  // a sum overflowed, or the capacity was too small
};

/// `count * size_bytes` bytes, 8-aligned. NULL while measuring, if count is 0, or on overflow.
void *smr_bump_take(struct smr_bump *bump, size_t count, size_t size_bytes);

#endif
