// SPDX-License-Identifier: Apache-2.0
// resize: [N, 1 to 3 spatial dims, C] sampled at other sizes, one output row at a time.
//
// The prologue writes the taps of each axis to scratch. Linear and cubic modes first blend rows
// over depth and height into one row of the input's width, then resize it along the width.
#include "base/fp.h"

#include "base/checked.h"
#include "kernels/f32_resize/f32_resize.h"
#include "ops/check/check.h"
#include "ops/deadline.h"
#include "ops/matmul/linear.h"
#include "ops/move/move.h"
#include "ops/resample/resize_attrs.h"
#include "ops/table/attrs.h"
#include "simd/common.h"
#include "simd/half.h"

#include <math.h>

// Writes a row of the output from the input row at `in`. `blended` holds an input row.
typedef samara_status (*resize_row)(struct smr_deadline_watch *watch,
                                    const struct smr_resize_axis *axes, size_t depth, size_t height,
                                    const char *in, char *out, float *blended);

struct resize_state {
  resize_row row;
  struct smr_units units;                         // output rows: (batch, depth, height)
  struct smr_resize_spec specs[SMR_RESIZE_AXES];  // depth, height, width; missing leading ones map
                                                  // 1 to 1
  size_t width[SMR_RESIZE_AXES];                  // weights per output
  size_t first_offset[SMR_RESIZE_AXES];           // of each axis' arrays in scratch, in bytes
  size_t count_offset[SMR_RESIZE_AXES];
  size_t weights_offset[SMR_RESIZE_AXES];
  const struct smr_f32_resize_kernels *kernels;
  size_t repeats_offset;  // nearest: in scratch, how often each pixel of a row is repeated
  uint32_t skip;          // missing leading axes
  float extrapolation;
};

// Checks the attributes, and that the mode supports the dtype.
static samara_status resize_check(const struct smr_job *job) {
  const bool nearest = SMR_ATTR(job, resize, mode)->i == SMR_RESIZE_NEAREST;
  SMR_TRY(smr_move_check(job));
  SMR_TRY(smr_expect_dtype(
      job, job->inputs[0], "input",
      nearest ? SMR_DTYPES_FLOAT | SMR_DTYPE_U8 | SMR_DTYPE_I8 | SMR_DTYPE_QS8 : SMR_DTYPES_FLOAT));
  return smr_resize_check_attrs(job);
}

static samara_status resize_reserve_axis(struct smr_job *job, uint32_t axis) {
  struct resize_state *state = (struct resize_state *)job->state;
  const struct smr_resize_spec *spec = &state->specs[axis];
  const size_t out = (size_t)spec->out;
  state->width[axis] = (size_t)smr_resize_width(spec);
  SMR_TRY(smr_scratch_take(job, out, 4, &state->first_offset[axis]));
  SMR_TRY(smr_scratch_take(job, out, 4, &state->count_offset[axis]));
  state->weights_offset[axis] = 0;
  if (spec->mode == SMR_RESIZE_NEAREST) return SAMARA_OK;
  size_t weights;
  if (!smr_mul_size(out, state->width[axis], &weights))
    SMR_FAIL(job->error, LIMIT, "resize: the tables of weights do not fit memory");
  if (state->width[axis] * sizeof(double) > job->thread_scratch_bytes)
    job->thread_scratch_bytes = state->width[axis] * sizeof(double);
  return smr_scratch_take(job, weights, 4, &state->weights_offset[axis]);
}

// Elements from the first to the last of an input row.
static size_t resize_row_elements(const struct smr_tensor *x, int64_t pixels) {
  return (size_t)(pixels - 1) * (size_t)x->pixel_stride + (size_t)x->dims[x->rank - 1];
}

static struct smr_resize_axis resize_axis(const struct smr_job *job, uint32_t axis) {
  const struct resize_state *state = (const struct resize_state *)job->state;
  const char *scratch = (const char *)job->scratch;
  return (struct smr_resize_axis){
      (const int32_t *)(const void *)(scratch + state->first_offset[axis]),
      (const int32_t *)(const void *)(scratch + state->count_offset[axis]),
      (const float *)(const void *)(scratch + state->weights_offset[axis]), state->width[axis]};
}

// Rows of single-element pixels: repeat each input element `times` times, or select by `first`.
#define RESIZE_PLANE(bits)                                                             \
  SMR_VECTORIZED static void resize_plane_##bits(                                      \
      size_t pixels, size_t times, const int32_t *first, const void *from, void *to) { \
    const uint##bits##_t *in = (const uint##bits##_t *)from;                           \
    uint##bits##_t *out = (uint##bits##_t *)to;                                        \
    if (times == 2)                                                                    \
      for (size_t i = 0; i < pixels / 2; i++) out[2 * i] = out[2 * i + 1] = in[i];     \
    else if (times > 2)                                                                \
      for (size_t i = 0; i < pixels / times; i++)                                      \
        for (size_t k = 0; k < times; k++) out[i * times + k] = in[i];                 \
    else                                                                               \
      for (size_t p = 0; p < pixels; p++) out[p] = in[first[p]];                       \
  }
RESIZE_PLANE(8)
RESIZE_PLANE(16)
RESIZE_PLANE(32)
#undef RESIZE_PLANE

// How often each input pixel is repeated, if that is the same for all and in order; otherwise 0.
static size_t resize_repeats(const struct smr_resize_axis *width, size_t in, size_t out) {
  const size_t times = in ? out / in : 0;
  if (times < 2 || times * in != out) return 0;
  for (size_t i = 0; i < in; i++)
    for (size_t k = 0; k < times; k++)
      if (width->count[i * times + k] == 0 || (size_t)width->first[i * times + k] != i) return 0;
  return times;
}

static samara_status resize_prologue(const struct smr_job *job, double *thread_scratch) {
  const struct resize_state *state = (const struct resize_state *)job->state;
  char *scratch = (char *)job->scratch;
  struct smr_deadline_watch watch = {.job = job};
  for (uint32_t i = 0; i < SMR_RESIZE_AXES && job->tiles > 0; i++) {
    int32_t *first = (int32_t *)(void *)(scratch + state->first_offset[i]);
    int32_t *count = (int32_t *)(void *)(scratch + state->count_offset[i]);
    float *weights = (float *)(void *)(scratch + state->weights_offset[i]);
    const size_t step = state->specs[i].mode == SMR_RESIZE_NEAREST ? 0 : state->width[i];
    for (int64_t o = 0; o < state->specs[i].out; o++) {
      if (i < state->skip) {  // missing axis: identity
        first[o] = 0;
        count[o] = 1;
        if (step > 0) weights[o] = 1.0f;
        continue;
      }
      SMR_TRY(smr_deadline_step(&watch, smr_resize_reach(&state->specs[i])));
      smr_resize_taps(&state->specs[i], o, &first[o], &count[o], weights + (size_t)o * step,
                      thread_scratch);
    }
  }
  if (job->tiles > 0 && state->specs[2].mode == SMR_RESIZE_NEAREST) {
    const struct smr_resize_axis width = resize_axis(job, 2);
    const size_t times =
        resize_repeats(&width, (size_t)state->specs[2].in, (size_t)state->specs[2].out);
    memcpy(scratch + state->repeats_offset, &times, sizeof times);
  }
  return SAMARA_OK;
}

// Fill the pixels of a row that lie outside the region; all of them if the row does.
static void resize_extrapolate(const struct smr_job *job, const struct smr_resize_axis *width,
                               bool all, char *out) {
  const struct resize_state *state = (const struct resize_state *)job->state;
  const struct smr_tensor *y = job->outputs[0];
  const size_t channels = (size_t)y->dims[y->rank - 1], element = smr_dtype_bytes(y->dtype);
  char value[16] = {0};  // large enough for smr_copy_block
  if (y->dtype == SAMARA_FLOAT32) {
    memcpy(value, &state->extrapolation, sizeof state->extrapolation);
  } else if (y->dtype == SAMARA_FLOAT16) {
    const uint16_t half = smr_f32_to_f16(state->extrapolation);
    memcpy(value, &half, sizeof half);
  } else if (fabsf(state->extrapolation) < 0x1p31f) {
    value[0] = (char)(int32_t)state->extrapolation;
  }
  for (size_t p = 0; p < (size_t)state->specs[2].out; p++) {
    if (!all && width->count[p] != 0) continue;
    char *pixel = out + p * (size_t)y->pixel_stride * element;
    for (size_t c = 0; c < channels; c++) smr_copy_block(pixel + c * element, value, element);
  }
}

// Address of the input row for (depth tap, height tap) of batch entry `n`.
static const char *resize_input_row(const struct smr_job *job, size_t n, size_t depth,
                                    size_t height) {
  const struct resize_state *state = (const struct resize_state *)job->state;
  const struct smr_tensor *x = job->inputs[0];
  const size_t row = (n * (size_t)state->specs[0].in + depth) * (size_t)state->specs[1].in + height;
  return (const char *)x->data +
         row * (size_t)state->specs[2].in * (size_t)x->pixel_stride * smr_dtype_bytes(x->dtype);
}

static samara_status resize_nearest_row(struct smr_deadline_watch *watch,
                                        const struct smr_resize_axis *axes, size_t depth,
                                        size_t height, const char *in, char *out, float *blended) {
  (void)depth, (void)height, (void)blended;
  const struct smr_job *job = watch->job;
  const struct smr_resize_axis *width = &axes[2];
  const struct resize_state *state = (const struct resize_state *)job->state;
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  const size_t element = smr_dtype_bytes(x->dtype);
  const size_t bytes = (size_t)x->dims[x->rank - 1] * element;
  const size_t from = (size_t)x->pixel_stride * element, to = (size_t)y->pixel_stride * element;
  const bool crops = state->specs[2].coordinate == SMR_RESIZE_TF_CROP_AND_RESIZE;
  if (from == element && to == element && element <= 4 && !crops) {
    size_t times;
    memcpy(&times, (const char *)job->scratch + state->repeats_offset, sizeof times);
    (element == 1   ? resize_plane_8
     : element == 2 ? resize_plane_16
                    : resize_plane_32)((size_t)state->specs[2].out, times, width->first, in, out);
    return SAMARA_OK;
  }
  for (size_t p = 0; p < (size_t)state->specs[2].out; p++)
    if (width->count[p] != 0)
      smr_copy_block(out + p * to, in + (size_t)width->first[p] * from, bytes);
  return SAMARA_OK;
}

// Resize a row along its width, in steps of few pixels for the deadline check.
static samara_status resize_width_row(struct smr_deadline_watch *watch,
                                      const struct smr_resize_axis *width, const float *row,
                                      char *out) {
  const struct resize_state *state = (const struct resize_state *)watch->job->state;
  const struct smr_tensor *x = watch->job->inputs[0], *y = watch->job->outputs[0];
  const bool half = SMR_HAS(type_float16) && x->dtype == SAMARA_FLOAT16;
  const size_t pixels = (size_t)state->specs[2].out, channels = (size_t)x->dims[x->rank - 1];
  const size_t stride = (size_t)y->pixel_stride, work = width->width * channels + 1;
  const size_t most = work < SMR_DEADLINE_WORK ? SMR_DEADLINE_WORK / work : 1;
  for (size_t p = 0; p < pixels; p += most) {
    const size_t count = pixels - p < most ? pixels - p : most;
    const struct smr_resize_axis rest = {.first = width->first + p,
                                         .count = width->count + p,
                                         .weights = width->weights + p * width->width,
                                         .width = width->width};
    SMR_TRY(smr_deadline_step(watch, count * work));
    state->kernels->row[half](count, channels, &rest, row, (size_t)x->pixel_stride,
                              out + p * stride * smr_dtype_bytes(y->dtype), stride);
  }
  return SAMARA_OK;
}

static samara_status resize_smooth_row(struct smr_deadline_watch *watch,
                                       const struct smr_resize_axis *axes, size_t depth,
                                       size_t height, const char *in, char *out, float *blended) {
  const struct smr_job *job = watch->job;
  const struct resize_state *state = (const struct resize_state *)job->state;
  const struct smr_tensor *x = job->inputs[0];
  const bool half = SMR_HAS(type_float16) && x->dtype == SAMARA_FLOAT16;
  const size_t element = half ? sizeof(uint16_t) : sizeof(float);
  const size_t row_bytes = (size_t)state->specs[2].in * (size_t)x->pixel_stride * element;
  const struct smr_resize_rows rows = {
      .x = in,
      .count = {(size_t)axes[0].count[depth], (size_t)axes[1].count[height]},
      .stride_bytes = {(size_t)state->specs[1].in * row_bytes, row_bytes},
      .weights = {axes[0].weights + depth * axes[0].width,
                  axes[1].weights + height * axes[1].width}};
  const float *row = blended;
  const bool alone = rows.count[0] == 1 && rows.count[1] == 1 && rows.weights[0][0] == 1.0f &&
                     rows.weights[1][0] == 1.0f;
  if (alone && !half)
    row = (const float *)(const void *)in;
  else
    state->kernels->blend[half](resize_row_elements(x, state->specs[2].in), &rows, blended);
  // Cannot overflow: the blended rows are in memory.
  SMR_TRY(smr_deadline_step(watch, rows.count[0] * rows.count[1] * row_bytes / element));
  return resize_width_row(watch, &axes[2], row, out);
}

static samara_status resize_run(const struct smr_job *job, size_t begin, size_t end,
                                void *thread_scratch) {
  const struct resize_state *state = (const struct resize_state *)job->state;
  if (begin == end) {
    return begin == 0 ? resize_prologue(job, (double *)thread_scratch) : SAMARA_OK;
  }
  const struct smr_tensor *y = job->outputs[0];
  struct smr_resize_axis axes[SMR_RESIZE_AXES];
  for (uint32_t i = 0; i < SMR_RESIZE_AXES; i++) axes[i] = resize_axis(job, i);
  const size_t row_bytes =
      (size_t)state->specs[2].out * (size_t)y->pixel_stride * smr_dtype_bytes(y->dtype);
  const size_t height_out = (size_t)state->specs[1].out, depth_out = (size_t)state->specs[0].out;
  const bool crops = state->specs[2].coordinate == SMR_RESIZE_TF_CROP_AND_RESIZE;
  const bool nearest = state->specs[2].mode == SMR_RESIZE_NEAREST;
  const bool repeats = nearest && !crops && y->pixel_stride == y->dims[y->rank - 1];
  struct smr_deadline_watch watch = {.job = job};  // each row may blend all rows of the input
  const size_t start = smr_units_begin(&state->units, begin);
  const size_t last = smr_units_begin(&state->units, end);
  for (size_t unit = start; unit < last; unit++) {
    const size_t height = unit % height_out, depth = unit / height_out % depth_out;
    char *out = (char *)y->data + unit * row_bytes;
    if (repeats && unit > start && height > 0 &&
        axes[1].first[height] == axes[1].first[height - 1]) {
      memcpy(out, out - row_bytes, row_bytes);  // same input row as before
      continue;
    }
    const bool outside = axes[0].count[depth] == 0 || axes[1].count[height] == 0;
    if (crops) resize_extrapolate(job, &axes[2], outside, out);
    if (outside) continue;
    const char *in = resize_input_row(job, unit / height_out / depth_out,
                                      (size_t)axes[0].first[depth], (size_t)axes[1].first[height]);
    SMR_TRY(state->row(&watch, axes, depth, height, in, out, (float *)thread_scratch));
  }
  return SAMARA_OK;
}

static samara_status resize_prepare(struct smr_job *job) {
  struct resize_state *state = (struct resize_state *)job->state;
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  *state = (struct resize_state){.skip = SMR_RESIZE_AXES + 2u - x->rank,
                                 .extrapolation = SMR_ATTR(job, resize, extrapolation)->f};
  job->scratch_bytes = job->thread_scratch_bytes = job->tiles = 0;
  const enum smr_resize_mode mode = (enum smr_resize_mode)SMR_ATTR(job, resize, mode)->i;
  const bool nearest = mode == SMR_RESIZE_NEAREST;
  SMR_WAY(job, resize_nearest, nearest, false, state->row = resize_nearest_row);
  SMR_WAY(job, resize_smooth, !nearest, false, {
    state->row = resize_smooth_row;
    state->kernels = smr_f32_resize_kernels(job->isa);
  });
  job->kernel = nearest ? "resize_nearest" : state->kernels->name;
  if (smr_numel(y) == 0) return SAMARA_OK;
  for (uint32_t i = 0; i < SMR_RESIZE_AXES; i++) {
    const uint32_t axis = i - state->skip + 1;
    if (i < state->skip)
      smr_resize_spec_absent(job, &state->specs[i]);
    else
      smr_resize_spec(job, axis - 1, x->dims[axis], y->dims[axis], &state->specs[i]);
    SMR_TRY(resize_reserve_axis(job, i));
  }
  SMR_TRY(smr_scratch_take(job, 1, sizeof(size_t), &state->repeats_offset));
  if (!nearest) {
    const size_t row = resize_row_elements(x, state->specs[2].in) * sizeof(float);
    if (row > job->thread_scratch_bytes) job->thread_scratch_bytes = row;
  }
  const size_t rows = (size_t)y->dims[0] * (size_t)(state->specs[0].out * state->specs[1].out);
  const size_t row_bytes = (size_t)smr_numel(y) / rows * smr_dtype_bytes(y->dtype);
  state->units = smr_units_make(job, rows, row_bytes);
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_resize_funcs = {.check = resize_check,
                                                 .prepare = resize_prepare,
                                                 .run = resize_run,
                                                 .state_bytes = sizeof(struct resize_state)};
