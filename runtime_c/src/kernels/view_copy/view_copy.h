// SPDX-License-Identifier: Apache-2.0
// Copies a strided view of a tensor into a dense one: transpose, slice, expand and tile are this.
#ifndef SMR_KERNELS_VIEW_COPY_H
#define SMR_KERNELS_VIEW_COPY_H

#include <stddef.h>
#include <stdint.h>

enum { SMR_VIEW_MAX_RANK = 16 };  // tile splits each of 8 axes in two

/// What to copy. Element [i0, i1, ...] of the destination, which is dense and row-major, comes from
/// `offset_bytes + sum(i * stride_bytes)` of the source. A stride of 0 repeats, a negative one
/// reverses. Dims may be 0.
struct smr_view {
  size_t element_bytes;  // 1, 2, 4 or 8
  uint32_t rank;
  size_t dims[SMR_VIEW_MAX_RANK];
  ptrdiff_t stride_bytes[SMR_VIEW_MAX_RANK];
};

enum smr_view_kind {
  SMR_VIEW_ROWS,       // the last axis is contiguous in the source too
  SMR_VIEW_FILL,       // one element is repeated along it
  SMR_VIEW_GATHER,     // a step between its elements
  SMR_VIEW_TRANSPOSE,  // another axis is the contiguous one: 2-D blocks
};

/// How it is done: unit axes dropped, neighbours merged, short rows taken as wide elements.
struct smr_view_plan {
  enum smr_view_kind kind;
  const char *kernel;    // static string for profiles
  size_t element_bytes;  // 1, 2, 4, 8 or 16
  size_t n;              // last axis
  ptrdiff_t step_bytes;  // of the source along it
  size_t chunk, chunks;  // of the last axis, of the contiguous axis when transposing
  size_t across;         // extent of the contiguous source axis when transposing
  size_t across_bytes;   // of the destination along it
  uint32_t outer_rank;
  size_t outer_dims[SMR_VIEW_MAX_RANK];
  size_t outer_dst[SMR_VIEW_MAX_RANK];     // bytes
  ptrdiff_t outer_src[SMR_VIEW_MAX_RANK];  // bytes
  size_t units, tile_units;
  size_t tiles;  // length of the 1-D range to split; 0: nothing to copy
};

void smr_view_plan_make(const struct smr_view *view, struct smr_view_plan *plan);

/// Copy tiles [begin, end). `src` is the source's element [0, 0, ...] of the view. Disjoint ranges
/// may run at the same time. Source and destination must not overlap; no alignment is needed.
void smr_view_copy(const struct smr_view_plan *plan, const void *src, void *dst, size_t begin,
                   size_t end);

#endif
