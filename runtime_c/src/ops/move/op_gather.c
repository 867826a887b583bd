// SPDX-License-Identifier: Apache-2.0
// gather, gather_elements and gather_nd: copies blocks selected by index tensors, and checks the
// indices.
#include "base/fp.h"

#include "ops/check/check.h"
#include "ops/move/move.h"
#include "ops/table/attrs.h"

struct gather_state {
  struct smr_units units;
  bool wrap;           // negative indices count from the end
  uint32_t axis;       // of gather, gather_elements; number of batch axes of gather_nd
  size_t outer_bytes;  // gather: bytes of the input per outer index; gather_nd: per batch entry
  size_t block_bytes;  // bytes that one index selects
  size_t per_outer;    // indices per outer index
  size_t strides[SAMARA_MAX_RANK];  // of the input, in bytes
};

// Units are (outer index, index); each copies a block.
static samara_status gather_prepare(struct smr_job *job) {
  struct gather_state *state = (struct gather_state *)job->state;
  const struct smr_tensor *x = job->inputs[0], *indices = job->inputs[1], *y = job->outputs[0];
  *state = (struct gather_state){.axis = smr_move_axis(SMR_ATTR(job, gather, axis)->i, x->rank),
                                 .wrap = SMR_ATTR(job, gather, wrap)->i != 0};
  state->block_bytes = smr_extent(x, state->axis + 1, x->rank) * smr_dtype_bytes(x->dtype);
  state->outer_bytes = state->block_bytes * (size_t)x->dims[state->axis];
  state->per_outer = (size_t)smr_numel(indices);
  const size_t count = smr_numel(y) > 0 ? smr_extent(x, 0, state->axis) * state->per_outer : 0;
  state->units = smr_units_make(job, count, state->block_bytes);
  job->kernel = "gather";
  return SAMARA_OK;
}

static samara_status gather_run(const struct smr_job *job, size_t begin, size_t end,
                                void *scratch) {
  (void)scratch;
  const struct gather_state *state = (const struct gather_state *)job->state;
  const struct smr_tensor *x = job->inputs[0];
  const size_t last = smr_units_begin(&state->units, end), block = state->block_bytes;
  size_t picks[SMR_MOVE_INDICES];
  for (size_t unit = smr_units_begin(&state->units, begin), n; unit < last; unit += n) {
    const size_t position = unit % state->per_outer;
    n = state->per_outer - position < last - unit ? state->per_outer - position : last - unit;
    if (n > SMR_MOVE_INDICES) n = SMR_MOVE_INDICES;
    SMR_TRY(smr_move_indices(job, job->inputs[1], position, n, x->dims[state->axis], state->wrap,
                             picks));
    smr_move_pick(n, picks, (const char *)x->data + unit / state->per_outer * state->outer_bytes,
                  block, 0, block, (char *)job->outputs[0]->data + unit * block);
  }
  return SAMARA_OK;
}

// Units are rows of the output along its last axis.
static samara_status gather_elements_prepare(struct smr_job *job) {
  struct gather_state *state = (struct gather_state *)job->state;
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  *state =
      (struct gather_state){.axis = smr_move_axis(SMR_ATTR(job, gather_elements, axis)->i, x->rank),
                            .wrap = SMR_ATTR(job, gather_elements, wrap)->i != 0,
                            .block_bytes = smr_dtype_bytes(x->dtype),
                            .per_outer = (size_t)y->dims[y->rank - 1]};
  smr_dense_strides(x, state->strides);
  const size_t rows = smr_numel(y) > 0 ? smr_extent(y, 0, y->rank - 1u) : 0;
  state->units = smr_units_make(job, rows, state->per_outer * state->block_bytes);
  job->kernel = "gather_elements";
  return SAMARA_OK;
}

static samara_status gather_elements_run(const struct smr_job *job, size_t begin, size_t end,
                                         void *scratch) {
  (void)scratch;
  const struct gather_state *state = (const struct gather_state *)job->state;
  const struct smr_tensor *x = job->inputs[0], *indices = job->inputs[1];
  const uint32_t last_axis = indices->rank - 1u;
  const size_t step = state->axis == last_axis ? 0 : state->block_bytes;
  const size_t last = smr_units_begin(&state->units, end);
  for (size_t row = smr_units_begin(&state->units, begin); row < last; row++) {
    const char *src = (const char *)x->data;
    size_t rest = row;
    for (uint32_t i = last_axis; i-- > 0;) {
      if (i != state->axis) src += rest % (size_t)indices->dims[i] * state->strides[i];
      rest /= (size_t)indices->dims[i];
    }
    for (size_t j = 0; j < state->per_outer; j += SMR_MOVE_INDICES) {
      const size_t position = row * state->per_outer + j, rest_of_row = state->per_outer - j;
      const size_t n = rest_of_row < SMR_MOVE_INDICES ? rest_of_row : SMR_MOVE_INDICES;
      size_t picks[SMR_MOVE_INDICES];
      SMR_TRY(
          smr_move_indices(job, indices, position, n, x->dims[state->axis], state->wrap, picks));
      smr_move_pick(n, picks, src + j * step, state->strides[state->axis], step, state->block_bytes,
                    (char *)job->outputs[0]->data + position * state->block_bytes);
    }
  }
  return SAMARA_OK;
}

// Units are index tuples.
static samara_status gather_nd_prepare(struct smr_job *job) {
  struct gather_state *state = (struct gather_state *)job->state;
  const struct smr_tensor *x = job->inputs[0], *indices = job->inputs[1], *y = job->outputs[0];
  *state = (struct gather_state){.axis = (uint32_t)SMR_ATTR(job, gather_nd, batch_dims)->i,
                                 .wrap = SMR_ATTR(job, gather_nd, wrap)->i != 0};
  const uint32_t depth = (uint32_t)indices->dims[indices->rank - 1];
  smr_dense_strides(x, state->strides);
  state->block_bytes = smr_extent(x, state->axis + depth, x->rank) * smr_dtype_bytes(x->dtype);
  state->outer_bytes = smr_extent(x, state->axis, x->rank) * smr_dtype_bytes(x->dtype);
  state->per_outer = smr_extent(indices, state->axis, indices->rank - 1u);
  const size_t count = smr_numel(y) > 0 ? smr_extent(indices, 0, indices->rank - 1u) : 0;
  state->units = smr_units_make(job, count, state->block_bytes);
  job->kernel = "gather_nd";
  return SAMARA_OK;
}

static samara_status gather_nd_run(const struct smr_job *job, size_t begin, size_t end,
                                   void *scratch) {
  (void)scratch;
  const struct gather_state *state = (const struct gather_state *)job->state;
  const struct smr_tensor *x = job->inputs[0], *indices = job->inputs[1];
  const size_t depth = (size_t)indices->dims[indices->rank - 1];
  const size_t last = smr_units_begin(&state->units, end);
  for (size_t unit = smr_units_begin(&state->units, begin); unit < last; unit++) {
    const char *src = (const char *)x->data + unit / state->per_outer * state->outer_bytes;
    for (size_t i = 0; i < depth; i++) {
      const size_t position = unit * depth + i;
      size_t index;
      SMR_TRY(smr_move_index(job, smr_index_at(indices, position), position,
                             x->dims[state->axis + i], state->wrap, &index));
      src += index * state->strides[state->axis + i];
    }
    smr_copy_block((char *)job->outputs[0]->data + unit * state->block_bytes, src,
                   state->block_bytes);
  }
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_gather_funcs = {.check = smr_move_check,
                                                 .prepare = gather_prepare,
                                                 .run = gather_run,
                                                 .state_bytes = sizeof(struct gather_state),
                                                 .more_dtypes = SMR_DTYPES_MORE};
const struct smr_op_funcs smr_op_gather_elements_funcs = {
    .check = smr_move_check,
    .prepare = gather_elements_prepare,
    .run = gather_elements_run,
    .state_bytes = sizeof(struct gather_state),
    .more_dtypes = SMR_DTYPES_MORE};
const struct smr_op_funcs smr_op_gather_nd_funcs = {.check = smr_move_check,
                                                    .prepare = gather_nd_prepare,
                                                    .run = gather_nd_run,
                                                    .state_bytes = sizeof(struct gather_state),
                                                    .more_dtypes = SMR_DTYPES_MORE};
