// SPDX-License-Identifier: Apache-2.0
// What elementwise operators share: how work is cut, and walking over broadcast operands.
#ifndef SMR_OPS_ELEMENTWISE_H
#define SMR_OPS_ELEMENTWISE_H

#include "kernels/f16_convert/f16_convert.h"
#include "ops/op.h"

enum {
  SMR_GRAIN = 8192,        // elements of a tile: microseconds of work, and a share of L1
  SMR_WIDEN_CHUNK = 1024,  // elements converted to float32 at a time
  SMR_BROADCAST_OPERANDS = 3,
};

/// Tiles that cover n elements.
static inline size_t smr_grain_tiles(size_t n) { return n / SMR_GRAIN + (n % SMR_GRAIN != 0); }

/// First element beyond tile `end` of n elements; the first of tile `begin` is begin * SMR_GRAIN.
static inline size_t smr_grain_end(size_t n, size_t end) {
  return end < n / SMR_GRAIN + 1 && end * SMR_GRAIN < n ? end * SMR_GRAIN : n;
}

/// Operands broadcast to an output: axes that all of them run through alike are merged, so the last
/// one is as long as can be. Operands and output are dense.
struct smr_broadcast {
  uint32_t operands, rank;  // rank >= 1
  int64_t dims[SAMARA_MAX_RANK];
  int64_t strides[SMR_BROADCAST_OPERANDS][SAMARA_MAX_RANK];  // elements; along the last axis 0 or 1
};

/// `operands` broadcast to `out`, which has their common dims (checked).
void smr_broadcast_make(struct smr_broadcast *b, const struct smr_tensor *out,
                        const struct smr_tensor *const *operands, uint32_t count);

/// Step of operand `k` along the last axis: 0 or 1.
static inline size_t smr_broadcast_step(const struct smr_broadcast *b, uint32_t k) {
  return (size_t)b->strides[k][b->rank - 1];
}

/// A position among the output's elements.
struct smr_broadcast_cursor {
  size_t left;  // elements to go
  int64_t index[SAMARA_MAX_RANK];
  size_t offset[SMR_BROADCAST_OPERANDS];
};

/// Put the cursor on output element `begin`, to stop at `end`.
void smr_broadcast_start(const struct smr_broadcast *b, struct smr_broadcast_cursor *cursor,
                         size_t begin, size_t end);

/// The next at most `most` elements of the output that lie in one run along the last axis: how many
/// (0 at the end), and in `offsets` where each operand's start.
size_t smr_broadcast_next(const struct smr_broadcast *b, struct smr_broadcast_cursor *cursor,
                          size_t most, size_t *offsets);

#endif
