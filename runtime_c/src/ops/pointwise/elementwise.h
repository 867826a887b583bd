// SPDX-License-Identifier: Apache-2.0
// What elementwise operators share: tiles, and iterating over broadcast operands.
#ifndef SMR_OPS_ELEMENTWISE_H
#define SMR_OPS_ELEMENTWISE_H

#include "kernels/f16_convert/f16_convert.h"
#include "ops/op.h"

enum {
  SMR_GRAIN = 8192,        // elements per tile: microseconds of work, and a share of L1
  SMR_WIDEN_CHUNK = 1024,  // elements converted to float32 at a time
  SMR_BROADCAST_OPERANDS = 3,
};

/// Tiles that cover n elements.
static inline size_t smr_grain_tiles(size_t n) { return n / SMR_GRAIN + (n % SMR_GRAIN != 0); }

/// End of tiles [..., end) in n elements. Tile `begin` starts at element begin * SMR_GRAIN.
static inline size_t smr_grain_end(size_t n, size_t end) {
  return end < n / SMR_GRAIN + 1 && end * SMR_GRAIN < n ? end * SMR_GRAIN : n;
}

/// Operands broadcast to an output. Axes are merged where all operands allow it, so the last axis
/// is as long as possible. Operands and output are dense.
struct smr_broadcast {
  uint32_t operands, rank;  // rank >= 1
  int64_t dims[SAMARA_MAX_RANK];
  int64_t strides[SMR_BROADCAST_OPERANDS][SAMARA_MAX_RANK];  // in elements; 0 or 1 along the last
                                                             // axis
};

/// Broadcast `operands` to `out`, which has their common dims (checked).
void smr_broadcast_make(struct smr_broadcast *b, const struct smr_tensor *out,
                        const struct smr_tensor *const *operands, uint32_t count);

/// Step of operand `k` along the last axis: 0 or 1.
static inline size_t smr_broadcast_step(const struct smr_broadcast *b, uint32_t k) {
  return (size_t)b->strides[k][b->rank - 1];
}

/// A position in the output.
struct smr_broadcast_cursor {
  size_t left;  // elements left
  int64_t index[SAMARA_MAX_RANK];
  size_t offset[SMR_BROADCAST_OPERANDS];
};

/// Set the cursor to output element `begin`, to end at `end`.
void smr_broadcast_start(const struct smr_broadcast *b, struct smr_broadcast_cursor *cursor,
                         size_t begin, size_t end);

/// Returns how many of the next elements of the output (at most `most`; 0 at the end) form one run
/// along the last axis. `offsets` receives the start in each operand.
size_t smr_broadcast_next(const struct smr_broadcast *b, struct smr_broadcast_cursor *cursor,
                          size_t most, size_t *offsets);

#endif
