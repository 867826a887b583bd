// SPDX-License-Identifier: Apache-2.0
// Cutting work into parts: how many there are, and where each begins.
#ifndef SMR_BASE_CUT_H
#define SMR_BASE_CUT_H

#include <stddef.h>

/// a / b, rounded up.
static inline size_t smr_ceil_div(size_t a, size_t b) { return a / b + (a % b != 0); }

/// Start of part i when `all` things are cut into `parts` of nearly equal size.
static inline size_t smr_cut(size_t all, size_t parts, size_t i) {
  const size_t rest = all % parts;
  return all / parts * i + (i < rest ? i : rest);
}

/// `tiles` in `count` blocks of `each`; the last may have fewer.
struct smr_tile_blocks {
  size_t tiles, each, count;
};

/// Blocks as even as they can be: `most` of them, or fewer. Needs tiles, and most > 0.
static inline struct smr_tile_blocks smr_tile_blocks_make(size_t tiles, size_t most) {
  const size_t each = smr_ceil_div(tiles, most);
  return (struct smr_tile_blocks){tiles, each, smr_ceil_div(tiles, each)};
}

/// Cut blocks that have as many units each, `units` in all, further: into `wanted` units, or as
/// near to them as even blocks come. Returns how many there are then.
static inline size_t smr_tile_blocks_share(struct smr_tile_blocks *blocks, size_t units,
                                           size_t wanted) {
  if (units == 0 || units >= wanted) return units;
  const size_t per_block = units / blocks->count;
  *blocks = smr_tile_blocks_make(blocks->tiles, smr_ceil_div(wanted, per_block));
  return per_block * blocks->count;
}

#endif
