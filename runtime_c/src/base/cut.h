// SPDX-License-Identifier: Apache-2.0
// Dividing work into parts: their number, and the start of each.
#ifndef SMR_BASE_CUT_H
#define SMR_BASE_CUT_H

#include <stddef.h>

/// a / b, rounded up.
static inline size_t smr_ceil_div(size_t a, size_t b) { return a / b + (a % b != 0); }

/// Start of part i of `all` elements in `parts` parts of nearly equal size.
static inline size_t smr_cut(size_t all, size_t parts, size_t i) {
  const size_t rest = all % parts;
  return all / parts * i + (i < rest ? i : rest);
}

/// `tiles` in `count` blocks of `each`; the last may have fewer.
struct smr_tile_blocks {
  size_t tiles, each, count;
};

/// `most` blocks or fewer, as equal as possible. Requires tiles > 0 and most > 0.
static inline struct smr_tile_blocks smr_tile_blocks_make(size_t tiles, size_t most) {
  const size_t each = smr_ceil_div(tiles, most);
  return (struct smr_tile_blocks){tiles, each, smr_ceil_div(tiles, each)};
}

/// Divide blocks further. They hold `units` units in all, the same number each. Aims at `wanted`
/// units, as near as equal blocks allow. Returns the new number of units.
static inline size_t smr_tile_blocks_share(struct smr_tile_blocks *blocks, size_t units,
                                           size_t wanted) {
  if (units == 0 || units >= wanted) return units;
  const size_t per_block = units / blocks->count;
  *blocks = smr_tile_blocks_make(blocks->tiles, smr_ceil_div(wanted, per_block));
  return per_block * blocks->count;
}

#endif
