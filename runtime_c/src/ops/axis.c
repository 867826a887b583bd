// SPDX-License-Identifier: Apache-2.0
// Work along one axis.
#include "base/fp.h"

#include "ops/axis.h"

#include "ops/check/check.h"

enum {
  AXIS_GRAIN = 8192,  // elements per tile
  AXIS_LEAST = 16,    // fewest neighbouring groups per tile: fills vectors and cache lines
};

struct smr_axis smr_axis_of(const struct smr_tensor *t, int64_t axis) {
  const uint32_t at = (uint32_t)(axis < 0 ? axis + (int64_t)t->rank : axis);
  struct smr_axis a = {.outer = (size_t)smr_product(t->dims, at),
                       .n = (size_t)t->dims[at],
                       .inner = (size_t)smr_product(t->dims + at + 1, t->rank - at - 1u),
                       .column_limit = SMR_AXIS_COLUMNS};
  a.group_count = a.n && a.n < AXIS_GRAIN ? AXIS_GRAIN / a.n : 1;
  if (a.inner > 1) a.group_count = (a.group_count + AXIS_LEAST - 1) / AXIS_LEAST * AXIS_LEAST;
  return a;
}

size_t smr_axis_tiles(const struct smr_axis *axis) {
  const size_t groups = axis->n ? axis->outer * axis->inner : 0;
  return groups / axis->group_count + (groups % axis->group_count != 0);
}

struct smr_axis_walk smr_axis_start(const struct smr_axis *axis, size_t begin, size_t end) {
  const size_t groups = axis->outer * axis->inner;
  const size_t last = end * axis->group_count;
  return (struct smr_axis_walk){.at = begin * axis->group_count,
                                .end = last < groups ? last : groups};
}

bool smr_axis_next(const struct smr_axis *axis, struct smr_axis_walk *walk,
                   struct smr_axis_span *span) {
  if (walk->at >= walk->end) return false;
  const size_t outer = walk->at / axis->inner, inner = walk->at % axis->inner;
  size_t count = axis->inner - inner;
  if (count > walk->end - walk->at) count = walk->end - walk->at;
  if (count > axis->column_limit) count = axis->column_limit;
  *span = (struct smr_axis_span){
      .group = walk->at, .offset = outer * axis->n * axis->inner + inner, .count = count};
  walk->at += count;
  return true;
}

samara_status smr_axis_run(const struct smr_job *job, const struct smr_axis *axis, size_t begin,
                           size_t end,
                           void (*compute)(const struct smr_job *job,
                                           const struct smr_axis_span *span)) {
  struct smr_axis_walk walk = smr_axis_start(axis, begin, end);
  struct smr_axis_span span;
  while (smr_axis_next(axis, &walk, &span)) compute(job, &span);
  return SAMARA_OK;
}
