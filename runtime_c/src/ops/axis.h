// SPDX-License-Identifier: Apache-2.0
// Work along one axis: [outer][n][inner] is outer * inner groups. The n elements of a group are
// `inner` apart.
#ifndef SMR_OPS_AXIS_H
#define SMR_OPS_AXIS_H

#include "ops/op.h"

enum { SMR_AXIS_COLUMNS = 256 };  // most groups of a span, so that their state stays in L1

struct smr_axis {
  size_t outer, n, inner;
  size_t group_count;   // groups per tile
  size_t column_limit;  // most groups handed out together
};

/// `axis` of `t` (checked, may be negative). Tiles hold a few thousand elements.
struct smr_axis smr_axis_of(const struct smr_tensor *t, int64_t axis);

/// Number of tiles over all groups; 0 if there are no elements.
size_t smr_axis_tiles(const struct smr_axis *axis);

/// `count` neighbouring groups of one outer index. Their first elements start at `offset`.
struct smr_axis_span {
  size_t group;   // index of the first group, counted over [outer][inner]
  size_t offset;  // of the first group's first element in [outer][n][inner]
  size_t count;   // at most SMR_AXIS_COLUMNS; 1 where inner is 1
};

/// Iterates over the groups of tiles [begin, end), span by span.
struct smr_axis_walk {
  size_t at, end;
};
struct smr_axis_walk smr_axis_start(const struct smr_axis *axis, size_t begin, size_t end);
/// The next span; false at the end.
bool smr_axis_next(const struct smr_axis *axis, struct smr_axis_walk *walk,
                   struct smr_axis_span *span);

/// Body of a run function that keeps no state between spans and cannot fail.
samara_status smr_axis_run(const struct smr_job *job, const struct smr_axis *axis, size_t begin,
                           size_t end,
                           void (*compute)(const struct smr_job *job,
                                           const struct smr_axis_span *span));

#endif
