// SPDX-License-Identifier: Apache-2.0
// Memory: the default allocator, the caller's, options structs, and a bump arena.
#ifndef SMR_BASE_ALLOC_H
#define SMR_BASE_ALLOC_H

#include "base/error.h"
#include "base/lean.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  // Of every block an allocator returns and of every tensor: a cache line; where memory is scarce
  // and there are neither lines nor vectors, the widest element.
  SMR_ALIGNMENT = SMR_LEAN(64, 8),
  // Asked for at once; a model of 100 nodes takes about five. The buffer of a bare-metal program is
  // one region already.
  SMR_REGION_BYTES = SMR_LEAN(16 * 1024, 0),
};

/// `given` copied, or the default allocator (malloc, 64-aligned) when it is NULL.
samara_allocator smr_allocator(const samara_allocator *given);

/// `size_bytes` bytes, uninitialised; NULL when there are none. Size 0 gives a block too.
void *smr_allocate(const samara_allocator *allocator, size_t size_bytes);
/// `count * size_bytes` bytes, zeroed; NULL when there are none or the product overflows.
void *smr_allocate_zeroed(const samara_allocator *allocator, size_t count, size_t size_bytes);
/// NULL is a no-op.
void smr_release(const samara_allocator *allocator, void *pointer);

/// Fails with OUT_OF_MEMORY; SIZE_MAX: more than the address space has.
samara_status smr_no_memory(samara_error *error, size_t size_bytes);

/// Read an options struct, which begins with its size_t struct_size, into `own` of `own_size`
/// bytes: what a caller built with an older header lacks is zero. NULL gives zeros. BAD_ARGUMENT
/// when struct_size is not set, or when a newer caller sets a field that this version does not
/// know.
samara_status smr_options_read(const void *given, void *own, size_t own_size, const char *what,
                               samara_error *error);

/// A block that is handed out from the front and released as a whole. With `base` NULL nothing is
/// handed out and the bytes are only counted, so one piece of code can measure and then fill.
struct smr_bump {
  uint8_t *base;  // SMR_ALIGNMENT-aligned, or NULL to measure
  size_t capacity;
  size_t used;
  bool overflow;  // a sum did not fit, or the capacity was too small
};

/// `count * size_bytes` bytes aligned to 8, or NULL: while measuring, when count is 0, on overflow.
void *smr_bump_take(struct smr_bump *bump, size_t count, size_t size_bytes);

#endif
