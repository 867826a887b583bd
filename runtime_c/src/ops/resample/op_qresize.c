// SPDX-License-Identifier: Apache-2.0
// qresize: one output row at a time, first interpolated along the height, then along the width.
#include "base/fp.h"

#include "base/checked.h"
#include "kernels/i8_resize/i8_resize.h"
#include "ops/check/check.h"
#include "ops/deadline.h"
#include "ops/move/move.h"
#include "ops/quantize/rescale.h"

#include <inttypes.h>

struct qresize_state {
  struct smr_units units;  // rows of output pixels
  const struct smr_i8_resize *kernels;
  struct smr_i8_resize_end end;
  int32_t x_zero;
  size_t rows;  // per output image; 1 with one spatial axis
  int64_t in_height, in_width, out_width;
  size_t channels;
};

// Taps are int32 tensors, one per spatial axis (one or two), with an entry per output pixel.
static samara_status qresize_check(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  SMR_TRY(smr_expect_rank(job, x, "input", 3, 4));
  SMR_TRY(smr_expect_rank(job, y, "output", x->rank, x->rank));
  const uint32_t spatial = x->rank - 2u;
  if ((smr_optional_input(job, 2) != NULL) != (spatial == 2))
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: x has %u spatial axes, expected one tensor of taps for each", job->op->name,
             (unsigned)spatial);
  for (uint32_t i = 1; i <= spatial; i++) {
    const struct smr_tensor *taps = job->inputs[i];
    SMR_TRY(smr_expect_dtype(job, taps, i == 1 ? "taps_0" : "taps_1", SMR_DTYPE_I32));
    if (y->dims[i] != taps->dims[0])
      SMR_FAIL(job->error, BAD_SHAPE,
               "%s: spatial axis %u of the output has extent %" PRId64
               ", there are taps for %" PRId64,
               job->op->name, (unsigned)i - 1, y->dims[i], taps->dims[0]);
  }
  return smr_rescale_check(job, SMR_ATTR_GROUP(job, qresize, int8_output));
}

static samara_status qresize_prepare(struct smr_job *job) {
  struct qresize_state *state = (struct qresize_state *)job->state;
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  const struct smr_rescale rescale =
      smr_rescale_read(job, SMR_ATTR_GROUP(job, qresize, int8_output));
  const uint32_t width = x->rank - 2u;  // axis of the width
  const bool flat = width == 1;
  // 2^-11 per axis, exact. The product with the ratio may round if subnormal.
  const float unit = flat ? 0x1p-11f : 0x1p-22f;
  *state =
      (struct qresize_state){.kernels = smr_i8_resize_config(job->isa),
                             .end = {rescale.ratio * unit, rescale.zero, rescale.lo, rescale.hi},
                             .x_zero = rescale.x_zero,
                             .rows = flat ? 1 : (size_t)y->dims[1],
                             .in_height = flat ? 1 : x->dims[1],
                             .in_width = x->dims[width],
                             .out_width = y->dims[width],
                             .channels = (size_t)x->dims[width + 1]};
  job->kernel = state->kernels->name;
  job->tiles = 0;
  if (smr_numel(y) == 0) return SAMARA_OK;
  // At most the elements of the input, or none if it is empty.
  const size_t row = smr_numel(x) == 0 ? 0 : (size_t)state->in_width * state->channels;
  if (!smr_mul_size(row, sizeof(int32_t), &job->thread_scratch_bytes))
    SMR_FAIL(job->error, LIMIT, "qresize: a row of sums does not fit memory");
  state->units = smr_units_make(job, (size_t)y->dims[0] * state->rows,
                                (size_t)state->out_width * state->channels);
  return SAMARA_OK;
}

// The tap at `at` must have indices below `extent` and a weight up to 1.
static samara_status qresize_check_taps(const struct smr_job *job, uint32_t axis, const int32_t *at,
                                        size_t count, int64_t extent) {
  for (size_t i = 0; i < count; i++) {
    const int32_t *tap = at + 3 * i;
    const bool inside = tap[0] >= 0 && tap[0] < extent && tap[1] >= 0 && tap[1] < extent;
    if (inside && tap[2] >= 0 && tap[2] <= SMR_I8_RESIZE_ONE) continue;
    SMR_FAIL(job->error, BAD_DATA,
             "%s: taps_%u holds (%" PRId32 ", %" PRId32 ", %" PRId32
             "), expected two indices below %" PRId64 " and a weight up to %d",
             job->op->name, (unsigned)axis, tap[0], tap[1], tap[2], extent, (int)SMR_I8_RESIZE_ONE);
  }
  return SAMARA_OK;
}

// Row `unit` of output pixels. `sums` holds a row of input width.
static samara_status qresize_row(const struct smr_job *job, size_t unit, const int32_t *across,
                                 int32_t *sums) {
  const struct qresize_state *state = (const struct qresize_state *)job->state;
  const struct smr_tensor *x = job->inputs[0];
  const size_t in_row = (size_t)state->in_width * state->channels;
  const size_t image = unit / state->rows * (size_t)state->in_height;
  const int8_t *in = (const int8_t *)x->data;
  if (x->rank == 3) {
    state->kernels->centre(in_row, in + image * in_row, state->x_zero, sums);
  } else {
    const int32_t *tap = (const int32_t *)job->inputs[1]->data + 3 * (unit % state->rows);
    SMR_TRY(qresize_check_taps(job, 0, tap, 1, state->in_height));
    state->kernels->blend(in_row, in + (image + (size_t)tap[0]) * in_row,
                          in + (image + (size_t)tap[1]) * in_row, tap[2], state->x_zero, sums);
  }
  const size_t out_row = (size_t)state->out_width * state->channels;
  state->kernels->row((size_t)state->out_width, state->channels, across, sums, &state->end,
                      (int8_t *)job->outputs[0]->data + unit * out_row);
  return SAMARA_OK;
}

static samara_status qresize_run(const struct smr_job *job, size_t begin, size_t end,
                                 void *thread_scratch) {
  const struct qresize_state *state = (const struct qresize_state *)job->state;
  const uint32_t axis = job->inputs[0]->rank - 3u;  // index of the height axis
  const int32_t *across = (const int32_t *)job->inputs[axis + 1]->data;
  const size_t last = smr_units_begin(&state->units, end);
  size_t unit = smr_units_begin(&state->units, begin);
  if (unit >= last) return SAMARA_OK;
  SMR_TRY(qresize_check_taps(job, axis, across, (size_t)state->out_width, state->in_width));
  const size_t work = (size_t)(state->in_width + state->out_width) * state->channels;
  struct smr_deadline_watch watch = {.job = job};
  for (; unit < last; unit++) {
    SMR_TRY(smr_deadline_step(&watch, work));
    SMR_TRY(qresize_row(job, unit, across, (int32_t *)thread_scratch));
  }
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_qresize_funcs = {.check = qresize_check,
                                                  .prepare = qresize_prepare,
                                                  .run = qresize_run,
                                                  .state_bytes = sizeof(struct qresize_state)};
