// SPDX-License-Identifier: Apache-2.0
// deform_columns: gathers windows at displaced points. fold: adds windows back into an image.
#include "base/fp.h"

#include "kernels/f32_fold/f32_fold.h"
#include "kernels/f32_taps/f32_taps.h"
#include "ops/check/check.h"
#include "ops/deadline.h"
#include "ops/move/move.h"
#include "ops/table/attrs.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"

#include <math.h>

static samara_status columns_check(const struct smr_job *job) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "x", SMR_DTYPES_FLOAT));
  for (uint32_t i = 1; i < job->input_count; i++)
    if (job->inputs[i] != NULL)
      SMR_TRY(smr_expect_same_dtype(job, job->inputs[0], job->inputs[i], "inputs"));
  return smr_expect_same_dtype(job, job->inputs[0], job->outputs[0], "x and output");
}

// ---- deform_columns: x, offset, mask ----

struct deform_state {
  struct smr_units units;  // output pixels
  const struct smr_f32_taps_kernels *kernels;
  int64_t sizes[2], out[2], kernel[2], strides[2], dilations[2], pads[2];
  size_t taps, channels;
  size_t per_group, offset_groups, per_offset;  // channels per group, number of offset groups,
                                                // channels that share an offset
};

static samara_status deform_prepare(struct smr_job *job) {
  struct deform_state *s = (struct deform_state *)job->state;
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  *s = (struct deform_state){
      .kernels = smr_f32_taps_kernels(job->isa),
      .channels = (size_t)x->dims[3],
      .offset_groups = (size_t)SMR_ATTR(job, deform_columns, offset_groups)->i};
  for (uint32_t i = 0; i < 2; i++) {
    s->sizes[i] = x->dims[i + 1];
    s->out[i] = y->dims[i + 1];
    s->kernel[i] = SMR_ATTR(job, deform_columns, kernel)->ints[i];
    s->strides[i] = SMR_ATTR(job, deform_columns, strides)->ints[i];
    s->dilations[i] = SMR_ATTR(job, deform_columns, dilations)->ints[i];
    s->pads[i] = SMR_ATTR(job, deform_columns, pads)->ints[i];
  }
  s->taps = (size_t)(s->kernel[0] * s->kernel[1]);
  s->per_group = s->channels / (size_t)SMR_ATTR(job, deform_columns, groups)->i;
  s->per_offset = s->channels / s->offset_groups;
  const size_t pixels = smr_numel(y) == 0 ? 0 : smr_extent(y, 0, 3);
  s->units = smr_units_make(job, pixels, s->taps * (s->channels + 16) * 4 * sizeof(float));
  job->kernel = s->kernels->name;
  return SAMARA_OK;
}

// A point between the elements of an axis.
struct deform_axis {
  uint32_t count;  // 0 to 2 neighbours inside the axis
  size_t at[2];
  double weights[2];
};

static struct deform_axis deform_axis_of(double at, int64_t size) {
  struct deform_axis axis = {0};
  if (!(at > -1 && at < (double)size)) return axis;  // NaN too
  const double below = floor(at);
  const int64_t first = (int64_t)below;
  for (int i = 0; i < 2; i++)
    if (first + i >= 0 && first + i < size) {
      axis.at[axis.count] = (size_t)(first + i);
      axis.weights[axis.count++] = i == 0 ? below + 1 - at : at - below;
    }
  return axis;
}

// Write one tap of one offset group at output pixel (i, j) to y.
static void deform_tap(const struct deform_state *s, const float *image, const int64_t *pixel,
                       size_t group, size_t tap, const float *moved, double mask, float *y) {
  const int64_t place[2] = {(int64_t)tap / s->kernel[1], (int64_t)tap % s->kernel[1]};
  struct deform_axis along[2];
  for (uint32_t a = 0; a < 2; a++) {
    const int64_t at = pixel[a] * s->strides[a] - s->pads[a] + place[a] * s->dilations[a];
    along[a] = deform_axis_of((double)at + (double)moved[a], s->sizes[a]);
  }
  size_t offsets[4], count = 0;
  float weights[4];
  for (uint32_t i = 0; i < along[0].count; i++)
    for (uint32_t j = 0; j < along[1].count; j++) {
      offsets[count] = (along[0].at[i] * (size_t)s->sizes[1] + along[1].at[j]) * s->channels;
      weights[count++] = (float)(along[0].weights[i] * along[1].weights[j] * mask);
    }
  const size_t end = (group + 1) * s->per_offset;
  for (size_t c = group * s->per_offset, n; c < end; c += n) {
    const size_t block = c / s->per_group, rest = (block + 1) * s->per_group - c;
    n = rest < end - c ? rest : end - c;
    s->kernels->sum(n, count, offsets, weights, image + c,
                    y + (block * s->taps + tap) * s->per_group + c % s->per_group);
  }
}

static samara_status deform_pixel(struct smr_deadline_watch *watch, size_t pixel) {
  const struct smr_job *job = watch->job;
  const struct deform_state *s = (const struct deform_state *)job->state;
  const size_t width = (size_t)s->out[1], height = (size_t)s->out[0];
  const int64_t at[2] = {(int64_t)(pixel / width % height), (int64_t)(pixel % width)};
  const size_t points = s->offset_groups * s->taps;
  const struct smr_tensor *mask = smr_optional_input(job, 2);
  const float *image = (const float *)job->inputs[0]->data + pixel / width / height *
                                                                 (size_t)s->sizes[0] *
                                                                 (size_t)s->sizes[1] * s->channels;
  const float *moved = (const float *)job->inputs[1]->data + pixel * points * 2;
  const float *factors = mask != NULL ? (const float *)mask->data + pixel * points : NULL;
  float *y = (float *)job->outputs[0]->data + pixel * s->channels * s->taps;
  for (size_t p = 0; p < points; p++) {
    SMR_TRY(smr_deadline_step(watch, 4 * s->per_offset + 1));
    deform_tap(s, image, at, p / s->taps, p % s->taps, moved + 2 * p,
               factors != NULL ? (double)factors[p] : 1.0, y);
  }
  return SAMARA_OK;
}

static samara_status deform_run(const struct smr_job *job, size_t begin, size_t end,
                                void *thread_scratch) {
  (void)thread_scratch;
  const struct deform_state *s = (const struct deform_state *)job->state;
  struct smr_deadline_watch watch = {.job = job};
  const size_t last = smr_units_begin(&s->units, end);
  for (size_t pixel = smr_units_begin(&s->units, begin); pixel < last; pixel++)
    SMR_TRY(deform_pixel(&watch, pixel));
  return SAMARA_OK;
}

SMR_WIDENED_OP(deform_columns, columns_check, deform_prepare, deform_run,
               sizeof(struct deform_state))

// ---- fold: x ----

enum { FOLD_AXES = 3 };

// Depth, height, width. Missing leading axes are neutral.
struct fold_state {
  int64_t size[FOLD_AXES], out[FOLD_AXES], kernel[FOLD_AXES];
  int64_t strides[FOLD_AXES], dilations[FOLD_AXES], pads[FOLD_AXES];
  smr_f32_fold_ukernel add;
};

static samara_status fold_prepare(struct smr_job *job) {
  struct fold_state *s = (struct fold_state *)job->state;
  const struct smr_tensor *x = job->inputs[0];
  const uint32_t axes = (x->rank - 2u) / 2, skip = FOLD_AXES - axes;
  *s = (struct fold_state){.add = smr_f32_fold_kernel(job->isa)};
  for (uint32_t i = 0; i < FOLD_AXES; i++) {
    const bool own = i >= skip;
    s->size[i] = own ? SMR_ATTR(job, fold, size)->ints[i - skip] : 1;
    s->kernel[i] = own ? x->dims[2 + i - skip] : 1;
    s->out[i] = own ? x->dims[2 + axes + i - skip] : 1;
    s->strides[i] = own ? SMR_ATTR(job, fold, strides)->ints[i - skip] : 1;
    s->dilations[i] = own ? SMR_ATTR(job, fold, dilations)->ints[i - skip] : 1;
    s->pads[i] = own ? SMR_ATTR(job, fold, pads)->ints[i - skip] : 0;
  }
  job->kernel = "fold";
  job->tiles = smr_numel(job->outputs[0]) == 0 ? 0 : smr_extent(x, 0, 2);
  return SAMARA_OK;
}

// Windows [begin, end) of an axis whose element `k` lies inside the image, and the position of that
// element of the first window.
struct fold_span {
  int64_t begin, end, first;
};

static struct fold_span fold_span_of(const struct fold_state *s, uint32_t axis, int64_t k) {
  const int64_t start = k * s->dilations[axis] - s->pads[axis], by = s->strides[axis];
  const int64_t begin = start < 0 ? (-start + by - 1) / by : 0;
  int64_t end = start < s->size[axis] ? (s->size[axis] - start + by - 1) / by : 0;
  if (end > s->out[axis]) end = s->out[axis];
  return (struct fold_span){begin, end, start + begin * by};
}

// Add rows of windows to rows of the image. `x` and `y` point to the first of each.
static void fold_rows_into(const struct fold_state *s, size_t rows, size_t length, const float *x,
                           float *y) {
  const size_t from_step = (size_t)s->out[2], to_step = (size_t)(s->strides[1] * s->size[2]);
  if (s->strides[2] == 1) {
    s->add(rows, 1, length, x, from_step, y, to_step);
    return;
  }
  const size_t by = (size_t)s->strides[2];
  for (size_t i = 0; i < rows; i++, x += from_step, y += to_step)
    for (size_t j = 0; j < length; j++) y[j * by] += x[j];
}

// Add one element of the window, for all windows of an image.
static samara_status fold_tap(struct smr_deadline_watch *watch, const struct fold_state *s,
                              const int64_t *k, const float *x, float *y) {
  struct fold_span span[FOLD_AXES];
  for (uint32_t i = 0; i < FOLD_AXES; i++) {
    span[i] = fold_span_of(s, i, k[i]);
    if (span[i].begin >= span[i].end) return smr_deadline_step(watch, 1);
  }
  const size_t rows = (size_t)(span[1].end - span[1].begin);
  const size_t length = (size_t)(span[2].end - span[2].begin);
  for (int64_t o = span[0].begin; o < span[0].end; o++) {
    const int64_t z = span[0].first + (o - span[0].begin) * s->strides[0];
    const int64_t from = (o * s->out[1] + span[1].begin) * s->out[2] + span[2].begin;
    const int64_t to = (z * s->size[1] + span[1].first) * s->size[2] + span[2].first;
    SMR_TRY(smr_deadline_step(watch, rows * length));
    fold_rows_into(s, rows, length, x + from, y + to);
  }
  return SAMARA_OK;
}

static samara_status fold_run(const struct smr_job *job, size_t begin, size_t end,
                              void *thread_scratch) {
  (void)thread_scratch;
  const struct fold_state *s = (const struct fold_state *)job->state;
  const size_t image = (size_t)smr_product(s->size, FOLD_AXES);
  const size_t windows = (size_t)smr_product(s->out, FOLD_AXES);
  const size_t taps = (size_t)smr_product(s->kernel, FOLD_AXES);
  struct smr_deadline_watch watch = {.job = job};
  for (size_t tile = begin; tile < end; tile++) {
    const float *x = (const float *)job->inputs[0]->data + tile * taps * windows;
    float *y = (float *)job->outputs[0]->data + tile * image;
    SMR_TRY(smr_deadline_step(&watch, image));
    memset(y, 0, image * sizeof *y);
    int64_t k[FOLD_AXES];
    for (k[0] = 0; k[0] < s->kernel[0]; k[0]++)
      for (k[1] = 0; k[1] < s->kernel[1]; k[1]++)
        for (k[2] = 0; k[2] < s->kernel[2]; k[2]++, x += windows)
          SMR_TRY(fold_tap(&watch, s, k, x, y));
  }
  return SAMARA_OK;
}

SMR_WIDENED_OP(fold, columns_check, fold_prepare, fold_run, sizeof(struct fold_state))
