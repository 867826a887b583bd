// SPDX-License-Identifier: Apache-2.0
// Operators whose output is a strided view of their input: reshape, transpose, slice, expand, tile.
#include "base/fp.h"

#include <string.h>

#include "kernels/view_copy/view_copy.h"
#include "ops/check/check.h"
#include "ops/move/move.h"
#include "ops/table/attrs.h"

struct view_state {
  struct smr_view_plan plan;
  ptrdiff_t offset_bytes;  // of the view's first element in the input
};

static void view_finish(struct smr_job *job, const struct smr_view *view, ptrdiff_t offset_bytes) {
  struct view_state *state = (struct view_state *)job->state;
  smr_view_plan_make(view, &state->plan);
  state->offset_bytes = offset_bytes;
  job->tiles = state->plan.tiles;
  job->kernel = state->plan.kernel;
}

static samara_status view_run(const struct smr_job *job, size_t begin, size_t end, void *scratch) {
  (void)scratch;
  const struct view_state *state = (const struct view_state *)job->state;
  const char *src = (const char *)job->inputs[0]->data;
  smr_view_copy(&state->plan, src + state->offset_bytes, job->outputs[0]->data, begin, end);
  return SAMARA_OK;
}

static void view_add(struct smr_view *view, size_t dim, ptrdiff_t stride_bytes) {
  view->dims[view->rank] = dim;
  view->stride_bytes[view->rank++] = dim > 1 ? stride_bytes : 0;
}

// A reshape that is not done in place copies bytes. It does so without the code of views, which
// models without other views need not contain.
enum { RESHAPE_TILE_BYTES = 1 << 16 };

static samara_status reshape_prepare(struct smr_job *job) {
  const size_t bytes = job->inputs[0]->size_bytes;
  job->tiles = bytes / RESHAPE_TILE_BYTES + (bytes % RESHAPE_TILE_BYTES != 0);
  job->kernel = "copy";
  return SAMARA_OK;
}

static samara_status reshape_run(const struct smr_job *job, size_t begin, size_t end,
                                 void *scratch) {
  (void)scratch;
  const char *from = job->inputs[0]->data;
  char *to = job->outputs[0]->data;
  const size_t first = begin * RESHAPE_TILE_BYTES, bytes = job->inputs[0]->size_bytes;
  if (from == to || begin == end) return SAMARA_OK;
  memcpy(to + first, from + first, (end < job->tiles ? end * RESHAPE_TILE_BYTES : bytes) - first);
  return SAMARA_OK;
}

static samara_status transpose_prepare(struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  const int64_t *perm = SMR_ATTR(job, transpose, perm)->ints;
  size_t strides[SAMARA_MAX_RANK];
  smr_move_strides(x, strides);
  struct smr_view view = {.element_bytes = smr_dtype_bytes(x->dtype)};
  for (uint32_t i = 0; i < x->rank; i++)
    view_add(&view, (size_t)x->dims[perm[i]], (ptrdiff_t)strides[perm[i]]);
  view_finish(job, &view, 0);
  return SAMARA_OK;
}

static samara_status slice_prepare(struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  const int64_t *begin = SMR_ATTR(job, slice, begin)->ints,
                *step = SMR_ATTR(job, slice, step)->ints;
  size_t strides[SAMARA_MAX_RANK];
  smr_move_strides(x, strides);
  struct smr_view view = {.element_bytes = smr_dtype_bytes(x->dtype)};
  ptrdiff_t offset = 0;
  for (uint32_t i = 0; i < x->rank; i++) {
    // With extent 1 the step is never taken, and it might overflow.
    const bool taken = y->dims[i] > 1;
    view_add(&view, (size_t)y->dims[i], taken ? (ptrdiff_t)step[i] * (ptrdiff_t)strides[i] : 0);
    if (y->dims[i] > 0) offset += (ptrdiff_t)begin[i] * (ptrdiff_t)strides[i];
  }
  view_finish(job, &view, offset);
  return SAMARA_OK;
}

static samara_status expand_prepare(struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  size_t strides[SAMARA_MAX_RANK];
  smr_move_strides(x, strides);
  const uint32_t lead = (uint32_t)y->rank - x->rank;
  struct smr_view view = {.element_bytes = smr_dtype_bytes(x->dtype)};
  for (uint32_t i = 0; i < y->rank; i++) {
    const bool kept = i >= lead && x->dims[i - lead] != 1;
    view_add(&view, (size_t)y->dims[i], kept ? (ptrdiff_t)strides[i - lead] : 0);
  }
  view_finish(job, &view, 0);
  return SAMARA_OK;
}

// Each axis becomes two: the repeats, with stride 0 in the input, and the axis itself.
static samara_status tile_prepare(struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  const int64_t *repeats = SMR_ATTR(job, tile, repeats)->ints;
  size_t strides[SAMARA_MAX_RANK];
  smr_move_strides(x, strides);
  struct smr_view view = {.element_bytes = smr_dtype_bytes(x->dtype)};
  for (uint32_t i = 0; i < x->rank; i++) {
    view_add(&view, (size_t)repeats[i], 0);
    view_add(&view, (size_t)x->dims[i], (ptrdiff_t)strides[i]);
  }
  view_finish(job, &view, 0);
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_reshape_funcs = {
    .check = smr_move_check,
    .prepare = reshape_prepare,
    .run = reshape_run,
    .more_dtypes = SMR_DTYPES_MORE | SMR_DTYPES_PACKED};
const struct smr_op_funcs smr_op_transpose_funcs = {.check = smr_move_check,
                                                    .prepare = transpose_prepare,
                                                    .run = view_run,
                                                    .state_bytes = sizeof(struct view_state),
                                                    .more_dtypes = SMR_DTYPES_MORE};
const struct smr_op_funcs smr_op_slice_funcs = {.check = smr_move_check,
                                                .prepare = slice_prepare,
                                                .run = view_run,
                                                .state_bytes = sizeof(struct view_state),
                                                .more_dtypes = SMR_DTYPES_MORE};
const struct smr_op_funcs smr_op_expand_funcs = {.check = smr_move_check,
                                                 .prepare = expand_prepare,
                                                 .run = view_run,
                                                 .state_bytes = sizeof(struct view_state),
                                                 .more_dtypes = SMR_DTYPES_MORE};
const struct smr_op_funcs smr_op_tile_funcs = {.check = smr_move_check,
                                               .prepare = tile_prepare,
                                               .run = view_run,
                                               .state_bytes = sizeof(struct view_state),
                                               .more_dtypes = SMR_DTYPES_MORE};
