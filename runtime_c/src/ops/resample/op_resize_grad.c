// SPDX-License-Identifier: Apache-2.0
// resize_grad: the adjoint of resize, one row of dx at a time.
//
// The prologue inverts the taps of each axis. A row is then a weighted sum of rows of dy, reduced
// along its width: the same steps and kernels as in resize. Each element is summed by one thread in
// a fixed order.
#include "base/fp.h"

#include "base/checked.h"
#include "kernels/f32_resize/f32_resize.h"
#include "ops/check/check.h"
#include "ops/deadline.h"
#include "ops/matmul/linear.h"
#include "ops/move/move.h"
#include "ops/resample/resize_attrs.h"
#include "ops/table/attrs.h"

struct resize_grad_state {
  struct smr_units units;                         // rows of dx: (batch, depth, height)
  struct smr_resize_spec specs[SMR_RESIZE_AXES];  // of resize: `in` is dx's extent, `out` is dy's
  size_t offsets[SMR_RESIZE_AXES][4];             // in scratch, of first, count, offset, weights
  const struct smr_f32_resize_kernels *kernels;
  uint32_t skip;  // missing leading axes
};

static samara_status resize_grad_check(const struct smr_job *job) {
  SMR_TRY(smr_move_check(job));
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "input", SMR_DTYPES_FLOAT));
  return smr_resize_check_attrs(job);
}

static samara_status resize_grad_reserve(struct smr_job *job, uint32_t axis) {
  struct resize_grad_state *state = (struct resize_grad_state *)job->state;
  const struct smr_resize_spec *spec = &state->specs[axis];
  const size_t in = (size_t)spec->in, weights = smr_resize_adjoint_weights(spec);
  const size_t own = smr_resize_adjoint_scratch(spec);
  if (own > job->thread_scratch_bytes) job->thread_scratch_bytes = own;
  if (weights == 0 && spec->out != 0)
    SMR_FAIL(job->error, LIMIT, "resize_grad: the tables of weights do not fit memory");
  SMR_TRY(smr_scratch_take(job, in, sizeof(int32_t), &state->offsets[axis][0]));
  SMR_TRY(smr_scratch_take(job, in, sizeof(int32_t), &state->offsets[axis][1]));
  SMR_TRY(smr_scratch_take(job, in, sizeof(size_t), &state->offsets[axis][2]));
  return smr_scratch_take(job, weights, sizeof(float), &state->offsets[axis][3]);
}

static samara_status resize_grad_prepare(struct smr_job *job) {
  struct resize_grad_state *state = (struct resize_grad_state *)job->state;
  const struct smr_tensor *dy = job->inputs[0], *dx = job->outputs[0];
  *state = (struct resize_grad_state){.skip = SMR_RESIZE_AXES + 2u - dy->rank,
                                      .kernels = smr_f32_resize_kernels(job->isa)};
  job->scratch_bytes = job->thread_scratch_bytes = job->tiles = 0;
  job->kernel = state->kernels->name;
  if (smr_numel(dx) == 0) return SAMARA_OK;
  for (uint32_t i = 0; i < SMR_RESIZE_AXES; i++) {
    const uint32_t axis = i - state->skip + 1;
    if (i < state->skip)
      smr_resize_spec_absent(job, &state->specs[i]);
    else
      smr_resize_spec(job, axis - 1, dx->dims[axis], dy->dims[axis], &state->specs[i]);
    SMR_TRY(resize_grad_reserve(job, i));
  }
  const size_t channels = (size_t)dx->dims[dx->rank - 1];
  const size_t row = (size_t)state->specs[2].out * channels * sizeof(float);
  if (row > job->thread_scratch_bytes) job->thread_scratch_bytes = row;
  const size_t rows = (size_t)dx->dims[0] * (size_t)(state->specs[0].in * state->specs[1].in);
  // A row of dx reads about as many elements of dy as there are per row.
  state->units = smr_units_make(job, rows, (size_t)smr_numel(dy) * sizeof(float) / rows + row);
  return SAMARA_OK;
}

static struct smr_resize_adjoint resize_grad_axis(const struct smr_job *job, uint32_t axis) {
  const struct resize_grad_state *state = (const struct resize_grad_state *)job->state;
  const size_t *offsets = state->offsets[axis];
  char *scratch = (char *)job->scratch;
  return (struct smr_resize_adjoint){.first = (int32_t *)(void *)(scratch + offsets[0]),
                                     .count = (int32_t *)(void *)(scratch + offsets[1]),
                                     .offset = (size_t *)(void *)(scratch + offsets[2]),
                                     .weights = (float *)(void *)(scratch + offsets[3])};
}

static samara_status resize_grad_prologue(const struct smr_job *job, void *thread_scratch) {
  const struct resize_grad_state *state = (const struct resize_grad_state *)job->state;
  struct smr_deadline_watch watch = {.job = job};
  for (uint32_t i = 0; i < SMR_RESIZE_AXES && job->tiles > 0; i++) {
    const struct smr_resize_adjoint adjoint = resize_grad_axis(job, i);
    const struct smr_resize_spec *spec = &state->specs[i];
    if (i < state->skip) {  // missing axis: identity
      adjoint.first[0] = 0;
      adjoint.count[0] = 1;
      adjoint.offset[0] = 0;
      adjoint.weights[0] = 1.0f;
      continue;
    }
    smr_resize_adjoint_begin(spec, &adjoint);
    for (int64_t o = 0; o < spec->out; o++) {
      SMR_TRY(smr_deadline_step(&watch, smr_resize_reach(spec)));
      smr_resize_adjoint_extend(spec, &adjoint, o, thread_scratch);
    }
    smr_resize_adjoint_place(spec, &adjoint);
    for (int64_t o = 0; o < spec->out; o++) {
      SMR_TRY(smr_deadline_step(&watch, smr_resize_reach(spec)));
      smr_resize_adjoint_fill(spec, &adjoint, o, thread_scratch);
    }
  }
  return SAMARA_OK;
}

// Reduce a blended row of dy along its width.
static samara_status resize_grad_width(struct smr_deadline_watch *watch,
                                       const struct smr_resize_adjoint *width, const float *row,
                                       char *out) {
  const struct resize_grad_state *state = (const struct resize_grad_state *)watch->job->state;
  const struct smr_tensor *dx = watch->job->outputs[0];
  const size_t channels = (size_t)dx->dims[dx->rank - 1], element = smr_dtype_bytes(dx->dtype);
  const smr_f32_resize_row kernel = state->kernels->row[dx->dtype == SAMARA_FLOAT16];
  for (size_t p = 0; p < (size_t)state->specs[2].in; p++, out += channels * element) {
    const struct smr_resize_axis one = {.first = width->first + p,
                                        .count = width->count + p,
                                        .weights = width->weights + width->offset[p]};
    if (width->count[p] == 0) {
      memset(out, 0, channels * element);
      continue;
    }
    SMR_TRY(smr_deadline_step(watch, (size_t)width->count[p] * channels));
    kernel(1, channels, &one, row, channels, out, channels);
  }
  return SAMARA_OK;
}

static samara_status resize_grad_row(struct smr_deadline_watch *watch,
                                     const struct smr_resize_adjoint *axes, size_t unit,
                                     float *blended) {
  const struct smr_job *job = watch->job;
  const struct resize_grad_state *state = (const struct resize_grad_state *)job->state;
  const struct smr_tensor *dy = job->inputs[0], *dx = job->outputs[0];
  const struct smr_resize_spec *specs = state->specs;
  const bool half = dy->dtype == SAMARA_FLOAT16;
  const size_t element = smr_dtype_bytes(dy->dtype), channels = (size_t)dx->dims[dx->rank - 1];
  const size_t height = unit % (size_t)specs[1].in;
  const size_t depth = unit / (size_t)specs[1].in % (size_t)specs[0].in;
  const size_t n = unit / (size_t)specs[1].in / (size_t)specs[0].in;
  const size_t out_bytes = (size_t)specs[2].in * channels * element;
  char *out = (char *)dx->data + unit * out_bytes;
  const size_t row = (size_t)specs[2].out * channels;
  const struct smr_resize_rows rows = {
      .count = {(size_t)axes[0].count[depth], (size_t)axes[1].count[height]},
      .stride_bytes = {(size_t)specs[1].out * row * element, row * element},
      .weights = {axes[0].weights + axes[0].offset[depth],
                  axes[1].weights + axes[1].offset[height]},
      .x = (const char *)dy->data +
           (((n * (size_t)specs[0].out + (size_t)axes[0].first[depth]) * (size_t)specs[1].out) +
            (size_t)axes[1].first[height]) *
               row * element};
  if (rows.count[0] == 0 || rows.count[1] == 0) {
    memset(out, 0, out_bytes);
    return SAMARA_OK;
  }
  const bool alone = rows.count[0] == 1 && rows.count[1] == 1 && rows.weights[0][0] == 1.0f &&
                     rows.weights[1][0] == 1.0f;
  if (alone && !half) return resize_grad_width(watch, &axes[2], (const float *)rows.x, out);
  SMR_TRY(smr_deadline_step(watch, rows.count[0] * rows.count[1] * row));
  state->kernels->blend[half](row, &rows, blended);
  return resize_grad_width(watch, &axes[2], blended, out);
}

static samara_status resize_grad_run(const struct smr_job *job, size_t begin, size_t end,
                                     void *thread_scratch) {
  const struct resize_grad_state *state = (const struct resize_grad_state *)job->state;
  if (begin == end) return begin == 0 ? resize_grad_prologue(job, thread_scratch) : SAMARA_OK;
  struct smr_resize_adjoint axes[SMR_RESIZE_AXES];
  for (uint32_t i = 0; i < SMR_RESIZE_AXES; i++) axes[i] = resize_grad_axis(job, i);
  struct smr_deadline_watch watch = {.job = job};  // each row may sum all rows of dy
  const size_t last = smr_units_begin(&state->units, end);
  for (size_t unit = smr_units_begin(&state->units, begin); unit < last; unit++)
    SMR_TRY(resize_grad_row(&watch, axes, unit, (float *)thread_scratch));
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_resize_grad_funcs = {
    .check = resize_grad_check,
    .prepare = resize_grad_prepare,
    .run = resize_grad_run,
    .state_bytes = sizeof(struct resize_grad_state)};
