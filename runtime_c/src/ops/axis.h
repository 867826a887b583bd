// SPDX-License-Identifier: Apache-2.0
// Work along one axis: [outer][n][inner] seen as outer * inner groups of n elements, `inner` apart.
#ifndef SMR_OPS_AXIS_H
#define SMR_OPS_AXIS_H

#include "ops/op.h"

enum { SMR_AXIS_COLUMNS = 256 };  // groups of a span at most: their state stays in L1

struct smr_axis {
  size_t outer, n, inner;
  size_t group_count;   // groups of a tile
  size_t column_limit;  // groups handed out together at most
};

/// `axis` of `t` (checked, may be negative), with tiles of a few thousand elements.
struct smr_axis smr_axis_of(const struct smr_tensor *t, int64_t axis);

/// Tiles over all groups; 0 if there are no elements.
size_t smr_axis_tiles(const struct smr_axis *axis);

/// Neighbouring groups of one outer index: the first elements of `count` of them start at `offset`.
struct smr_axis_span {
  size_t group;   // index of the first, counted over [outer][inner]
  size_t offset;  // of its first element in [outer][n][inner]
  size_t count;   // at most SMR_AXIS_COLUMNS; 1 where inner is 1
};

/// Groups of tiles [begin, end), span by span.
struct smr_axis_walk {
  size_t at, end;
};
struct smr_axis_walk smr_axis_start(const struct smr_axis *axis, size_t begin, size_t end);
/// False when there are none left.
bool smr_axis_next(const struct smr_axis *axis, struct smr_axis_walk *walk,
                   struct smr_axis_span *span);

/// A run function's work where nothing is kept from span to span and nothing can fail.
samara_status smr_axis_run(const struct smr_job *job, const struct smr_axis *axis, size_t begin,
                           size_t end,
                           void (*compute)(const struct smr_job *job,
                                           const struct smr_axis_span *span));

#endif
