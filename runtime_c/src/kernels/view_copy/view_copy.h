// SPDX-License-Identifier: Apache-2.0
// Copies a strided view of a tensor to a dense one: transpose, slice, expand and tile.
#ifndef SMR_KERNELS_VIEW_COPY_H
#define SMR_KERNELS_VIEW_COPY_H

#include <stddef.h>
#include <stdint.h>

enum { SMR_VIEW_MAX_RANK = 16 };  // tile splits each of 8 axes in two

/// What to copy. The destination is dense and row-major. Its element [i0, i1, ...] comes from
/// `offset_bytes + sum(i * stride_bytes)` in the source. A stride of 0 repeats, a negative one
/// reverses. Dims may be 0.
struct smr_view {
  size_t element_bytes;  // 1, 2, 4 or 8
  uint32_t rank;
  size_t dims[SMR_VIEW_MAX_RANK];
  ptrdiff_t stride_bytes[SMR_VIEW_MAX_RANK];
};

enum smr_view_kind {
  SMR_VIEW_ROWS,       // the last axis is contiguous in the source too
  SMR_VIEW_FILL,       // one element is repeated along the last axis
  SMR_VIEW_GATHER,     // elements of the last axis are strided
  SMR_VIEW_TRANSPOSE,  // another axis is contiguous: 2-D blocks
};

/// How to copy: unit axes dropped, neighbours merged, short rows treated as wide elements.
struct smr_view_plan {
  enum smr_view_kind kind;
  const char *kernel;    // static string for profiles
  size_t element_bytes;  // 1, 2, 4, 8 or 16
  size_t n;              // last axis
  ptrdiff_t step_bytes;  // of the source along the last axis
  size_t chunk, chunks;  // of the last axis, or of the contiguous axis when transposing
  size_t across;         // extent of the contiguous source axis when transposing
  size_t across_bytes;   // of the destination along that axis
  uint32_t outer_rank;
  size_t outer_dims[SMR_VIEW_MAX_RANK];
  size_t outer_dst[SMR_VIEW_MAX_RANK];     // bytes
  ptrdiff_t outer_src[SMR_VIEW_MAX_RANK];  // bytes
  size_t units, tile_units;
  size_t tiles;  // length of the range to divide; 0: nothing to copy
};

void smr_view_plan_make(const struct smr_view *view, struct smr_view_plan *plan);

/// Copy tiles [begin, end). `src` is the source of view element [0, 0, ...]. Disjoint ranges may
/// run concurrently. Source and destination must not overlap; no alignment is needed.
void smr_view_copy(const struct smr_view_plan *plan, const void *src, void *dst, size_t begin,
                   size_t end);

#endif
