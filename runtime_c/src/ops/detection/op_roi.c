// SPDX-License-Identifier: Apache-2.0
// roi_align and roi_pool: regions of images, resampled or pooled to one size.
//
// Coordinates are float32, computed in the same steps as in other runtimes, because the number of
// samples per bin depends on their last bit.
#include "base/fp.h"

#include "kernels/f32_pool/f32_pool.h"
#include "kernels/f32_taps/f32_taps.h"
#include "ops/check/check.h"
#include "ops/matmul/linear.h"
#include "ops/move/move.h"
#include "ops/table/attrs.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"

#include <inttypes.h>
#include <math.h>

enum {
  ROI_MOST_SAMPLES = 4096,  // per bin and axis
  ROI_TAPS = 64,            // summed at once
};

static const double roi_far = 1 << 30;  // beyond any pixel

struct roi_state {
  struct smr_units units;  // rows of bins
  size_t images, height, width, channels;
  size_t bins[2];
  float scale;
  /* roi_align */
  const struct smr_f32_taps_kernels *taps;
  bool largest, half_pixel;
  int64_t sampling;
  size_t weights_offset[2], sum_offset;  // in thread scratch
  /* roi_pool */
  smr_f32_pool_ukernel pool;
};

static samara_status roi_image(const struct smr_job *job, int64_t index, size_t images,
                               size_t region, size_t *out) {
  if (index < 0 || (uint64_t)index >= images)
    SMR_FAIL(job->error, BAD_DATA, "%s: region %zu lies in image %" PRId64 ", there are %zu",
             job->op->name, region, index, images);
  *out = (size_t)index;
  return SAMARA_OK;
}

static void roi_state_fill(struct smr_job *job, float scale) {
  struct roi_state *s = (struct roi_state *)job->state;
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  *s = (struct roi_state){.images = (size_t)x->dims[0],
                          .height = (size_t)x->dims[1],
                          .width = (size_t)x->dims[2],
                          .channels = (size_t)x->dims[3],
                          .bins = {(size_t)y->dims[1], (size_t)y->dims[2]},
                          .scale = scale};
  // Cost estimate: a bin reads some dozens of pixels.
  const size_t rows = smr_numel(y) == 0 ? 0 : (size_t)y->dims[0] * s->bins[0];
  s->units = smr_units_make(job, rows, s->bins[1] * (s->channels + 16) * 16 * sizeof(float));
}

static samara_status roi_check(const struct smr_job *job, const struct smr_attr *sizes) {
  const int64_t *size;
  SMR_TRY(smr_expect_ints(job, sizes, 2, 0, INT32_MAX, &size));
  SMR_TRY(smr_expect_pixels(job, job->inputs[0]));
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "x", SMR_DTYPES_FLOAT));
  SMR_TRY(smr_expect_same_dtype(job, job->inputs[0], job->inputs[1], "x and regions"));
  return smr_expect_same_dtype(job, job->inputs[0], job->outputs[0], "x and output");
}

// ---- roi_align: x, regions, images ----

static samara_status roi_align_check(const struct smr_job *job) {
  const int64_t mode = SMR_ATTR(job, roi_align, mode)->i,
                sampling = SMR_ATTR(job, roi_align, sampling)->i;
  SMR_TRY(roi_check(job, SMR_ATTR(job, roi_align, size)));
  SMR_TRY(smr_expect_dtype(job, job->inputs[2], "images", SMR_DTYPE_I32 | SMR_DTYPE_I64));
  if (mode < 0 || mode > 1 || sampling < 0 || sampling > ROI_MOST_SAMPLES)
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: mode is %" PRId64 " and sampling %" PRId64 ", expected 0 or 1 and 0 to 4096",
             job->op->name, mode, sampling);
  return SAMARA_OK;
}

static samara_status roi_align_prepare(struct smr_job *job) {
  struct roi_state *s = (struct roi_state *)job->state;
  roi_state_fill(job, SMR_ATTR(job, roi_align, scale)->f);
  s->taps = smr_f32_taps_kernels(job->isa);
  s->largest = SMR_ATTR(job, roi_align, mode)->i == 1;
  s->half_pixel = SMR_ATTR(job, roi_align, half_pixel)->i != 0;
  s->sampling = SMR_ATTR(job, roi_align, sampling)->i;
  job->kernel = s->taps->name;
  SMR_TRY(smr_thread_scratch_take(job, s->height, sizeof(double), &s->weights_offset[0]));
  SMR_TRY(smr_thread_scratch_take(job, s->width, sizeof(double), &s->weights_offset[1]));
  return smr_thread_scratch_take(job, s->channels, sizeof(float), &s->sum_offset);
}

// A region along one axis.
struct roi_axis {
  float start, bin;  // pixels
  size_t samples;    // per bin
  size_t size;       // of the image
};

static samara_status roi_axis_make(const struct smr_job *job, const struct roi_state *s,
                                   size_t region, uint32_t axis, struct roi_axis *out) {
  const float *corners = (const float *)job->inputs[1]->data + region * 4 + 1 - axis;
  const float offset = s->half_pixel ? 0.5f : 0.0f;
  const float start = corners[0] * s->scale - offset, end = corners[2] * s->scale - offset;
  float length = end - start;
  if (!s->half_pixel && length < 1.0f) length = 1.0f;
  const float bin = length / (float)s->bins[axis];
  *out = (struct roi_axis){start, bin, (size_t)s->sampling, axis == 0 ? s->height : s->width};
  if (s->sampling > 0) return SAMARA_OK;
  const float samples = ceilf(bin);
  if (!(samples <= (float)ROI_MOST_SAMPLES))
    SMR_FAIL(job->error, BAD_DATA, "%s: a bin of region %zu has %g samples along an axis",
             job->op->name, region, smr_g(samples));
  out->samples = samples > 0 ? (size_t)samples : 0;
  return SAMARA_OK;
}

// The two pixels around a sample, and the weight of the upper one.
struct roi_sample {
  size_t low, high;
  float upper;
};

// False if the sample is more than a pixel outside.
static bool roi_sample_at(const struct roi_axis *a, size_t bin, size_t i, struct roi_sample *out) {
  const float step = ((float)i + 0.5f) * a->bin / (float)a->samples;
  float x = a->start + (float)bin * a->bin + step;
  if (!(x >= -1.0f && x <= (float)a->size)) return false;
  if (x < 0.0f) x = 0.0f;
  const size_t low = (size_t)x;
  if (low + 1 >= a->size)
    *out = (struct roi_sample){a->size - 1, a->size - 1, 0.0f};
  else
    *out = (struct roi_sample){low, low + 1, x - (float)low};
  return true;
}

// Pixels [first, last) of an axis that a bin reads, and the total weight of each over its samples.
struct roi_span {
  size_t first, last;
  double *weights;  // per pixel
};

static struct roi_span roi_span_of(const struct roi_axis *a, size_t bin, double *weights) {
  struct roi_span span = {SIZE_MAX, 0, weights};
  struct roi_sample sample;
  for (size_t i = 0; i < a->samples; i++) {
    if (!roi_sample_at(a, bin, i, &sample)) continue;
    if (sample.low < span.first) span.first = sample.low;
    if (sample.high + 1 > span.last) span.last = sample.high + 1;
  }
  if (span.first >= span.last) return (struct roi_span){0, 0, weights};
  memset(weights + span.first, 0, (span.last - span.first) * sizeof *weights);
  for (size_t i = 0; i < a->samples; i++) {
    if (!roi_sample_at(a, bin, i, &sample)) continue;
    weights[sample.low] += (double)(1.0f - sample.upper);
    weights[sample.high] += (double)sample.upper;
  }
  for (size_t i = span.first; i < span.last; i++) weights[i] /= (double)a->samples;
  return span;
}

// Pixels to be summed (or compared) into a bin.
struct roi_taps {
  const struct roi_state *s;
  const float *image;
  float *y, *sum;
  size_t count, sums;
  size_t offsets[ROI_TAPS];
  float weights[ROI_TAPS];
};

static void roi_flush(struct roi_taps *t) {
  static const size_t here = 0;
  static const float once = 1.0f;
  const size_t n = t->s->channels;
  if (t->s->largest) {
    t->s->taps->largest(n, t->count, t->offsets, t->weights, t->image, t->y);
  } else if (t->sums++ == 0) {
    t->s->taps->sum(n, t->count, t->offsets, t->weights, t->image, t->y);
  } else {
    t->s->taps->sum(n, t->count, t->offsets, t->weights, t->image, t->sum);
    t->s->taps->spread(n, 1, &here, &once, t->sum, t->y);
  }
  t->count = 0;
}

static void roi_tap(struct roi_taps *t, size_t row, size_t column, float weight) {
  if (t->count == ROI_TAPS) roi_flush(t);
  t->offsets[t->count] = (row * t->s->width + column) * t->s->channels;
  t->weights[t->count++] = weight;
}

// The mean of all samples. The weights of each pixel are added up first.
static void roi_mean(struct roi_taps *t, const struct roi_span *rows,
                     const struct roi_span *columns) {
  for (size_t r = rows->first; r < rows->last; r++) {
    if (rows->weights[r] == 0) continue;
    for (size_t c = columns->first; c < columns->last; c++)
      if (columns->weights[c] != 0)
        roi_tap(t, r, c, (float)(rows->weights[r] * columns->weights[c]));
  }
  roi_flush(t);
}

// The largest weighted corner over all samples; samples outside count as 0.
static void roi_largest(struct roi_taps *t, const struct roi_axis *along, size_t row,
                        size_t column) {
  const size_t all = along[0].samples * along[1].samples, n = t->s->channels;
  size_t inside = 0;
  for (size_t c = 0; c < n; c++) t->y[c] = all == 0 ? 0.0f : -INFINITY;
  for (size_t i = 0; i < along[0].samples; i++) {
    struct roi_sample v, h;
    if (!roi_sample_at(&along[0], row, i, &v)) continue;
    for (size_t j = 0; j < along[1].samples; j++) {
      if (!roi_sample_at(&along[1], column, j, &h)) continue;
      inside++;
      roi_tap(t, v.low, h.low, (1.0f - v.upper) * (1.0f - h.upper));
      roi_tap(t, v.low, h.high, (1.0f - v.upper) * h.upper);
      roi_tap(t, v.high, h.low, v.upper * (1.0f - h.upper));
      roi_tap(t, v.high, h.high, v.upper * h.upper);
    }
  }
  roi_flush(t);
  if (inside == all) return;
  for (size_t c = 0; c < n; c++)
    if (t->y[c] < 0.0f) t->y[c] = 0.0f;
}

// Row `row` of the bins of a region.
static samara_status roi_align_row(struct smr_deadline_watch *watch, size_t region, size_t row,
                                   char *thread_scratch) {
  const struct smr_job *job = watch->job;
  const struct roi_state *s = (const struct roi_state *)job->state;
  struct roi_axis along[2];
  size_t image = 0;
  SMR_TRY(roi_image(job, smr_index_at(job->inputs[2], region), s->images, region, &image));
  for (uint32_t axis = 0; axis < 2; axis++)
    SMR_TRY(roi_axis_make(job, s, region, axis, &along[axis]));
  double *weights[2];
  for (uint32_t axis = 0; axis < 2; axis++)
    weights[axis] = (double *)(void *)(thread_scratch + s->weights_offset[axis]);
  struct roi_taps taps = {
      .s = s,
      .image = (const float *)job->inputs[0]->data + image * s->height * s->width * s->channels,
      .y = (float *)job->outputs[0]->data + (region * s->bins[0] + row) * s->bins[1] * s->channels,
      .sum = (float *)(void *)(thread_scratch + s->sum_offset)};
  const struct roi_span rows =
      s->largest ? (struct roi_span){.weights = NULL} : roi_span_of(&along[0], row, weights[0]);
  const size_t samples = along[0].samples * along[1].samples;
  for (size_t column = 0; column < s->bins[1]; column++, taps.y += s->channels) {
    taps.sums = 0;
    if (s->largest) {
      SMR_TRY(smr_deadline_step(watch, (samples + 1) * 4 * s->channels));
      roi_largest(&taps, along, row, column);
    } else {
      const struct roi_span columns = roi_span_of(&along[1], column, weights[1]);
      const size_t pixels = (rows.last - rows.first) * (columns.last - columns.first);
      SMR_TRY(smr_deadline_step(watch, along[1].samples + (pixels + 1) * s->channels));
      roi_mean(&taps, &rows, &columns);
    }
  }
  return SAMARA_OK;
}

static samara_status roi_align_run(const struct smr_job *job, size_t begin, size_t end,
                                   void *thread_scratch) {
  const struct roi_state *s = (const struct roi_state *)job->state;
  struct smr_deadline_watch watch = {.job = job};
  const size_t last = smr_units_begin(&s->units, end);
  for (size_t unit = smr_units_begin(&s->units, begin); unit < last; unit++)
    SMR_TRY(roi_align_row(&watch, unit / s->bins[0], unit % s->bins[0], thread_scratch));
  return SAMARA_OK;
}

SMR_WIDENED_OP(roi_align, roi_align_check, roi_align_prepare, roi_align_run,
               sizeof(struct roi_state))

// ---- roi_pool: x, regions ----

static samara_status roi_pool_check(const struct smr_job *job) {
  return roi_check(job, SMR_ATTR(job, roi_pool, size));
}

static samara_status roi_pool_prepare(struct smr_job *job) {
  struct roi_state *s = (struct roi_state *)job->state;
  roi_state_fill(job, SMR_ATTR(job, roi_pool, scale)->f);
  SMR_NEED(job, f32_pool_max);
  s->pool = smr_f32_pool_kernel(job->isa, SMR_POOL_MAX, SMR_POOL_F32);
  job->kernel = smr_f32_pool_kernel_name(job->isa, SMR_POOL_MAX);
  return SAMARA_OK;
}

// The nearest integer; halves round away from 0.
static samara_status roi_whole(const struct smr_job *job, float value, size_t region,
                               int64_t *out) {
  if (value != value)
    SMR_FAIL(job->error, BAD_DATA, "%s: region %zu has a corner that is NaN", job->op->name,
             region);
  double away = floor(fabs((double)value) + 0.5);
  if (away > roi_far) away = roi_far;
  *out = value < 0.0f ? -(int64_t)away : (int64_t)away;
  return SAMARA_OK;
}

// The pixels of a bin along one axis.
struct roi_pixels {
  int64_t first, count;
};

static struct roi_pixels roi_pixels_of(int64_t first, int64_t last, size_t bins, size_t bin,
                                       size_t size) {
  const int64_t length = last - first + 1 > 1 ? last - first + 1 : 1, limit = (int64_t)size;
  const float step = (float)length / (float)bins;
  int64_t begin = (int64_t)floorf((float)bin * step) + first;
  int64_t end = (int64_t)ceilf((float)(bin + 1) * step) + first;
  begin = begin < 0 ? 0 : begin > limit ? limit : begin;
  end = end < 0 ? 0 : end > limit ? limit : end;
  return (struct roi_pixels){begin, end > begin ? end - begin : 0};
}

static samara_status roi_pool_row(struct smr_deadline_watch *watch, size_t region, size_t row) {
  const struct smr_job *job = watch->job;
  const struct roi_state *s = (const struct roi_state *)job->state;
  const float *numbers = (const float *)job->inputs[1]->data + region * 5;
  int64_t index = 0, corners[4] = {0};
  size_t image = 0;
  SMR_TRY(roi_whole(job, numbers[0], region, &index));
  SMR_TRY(roi_image(job, index, s->images, region, &image));
  for (uint32_t i = 0; i < 4; i++)
    SMR_TRY(roi_whole(job, numbers[i + 1] * s->scale, region, &corners[i]));
  const struct roi_pixels rows = roi_pixels_of(corners[1], corners[3], s->bins[0], row, s->height);
  float *y =
      (float *)job->outputs[0]->data + (region * s->bins[0] + row) * s->bins[1] * s->channels;
  const size_t first = (image * s->height + (size_t)rows.first) * s->width;
  for (size_t column = 0; column < s->bins[1]; column++, y += s->channels) {
    const struct roi_pixels columns =
        roi_pixels_of(corners[0], corners[2], s->bins[1], column, s->width);
    const size_t pixels = (size_t)(rows.count * columns.count);
    SMR_TRY(smr_deadline_step(watch, (pixels + 1) * s->channels));
    if (pixels == 0) {
      memset(y, 0, s->channels * sizeof *y);
      continue;
    }
    const struct smr_pool_window window = {
        .x = (const float *)job->inputs[0]->data + (first + (size_t)columns.first) * s->channels,
        .n = {1, (size_t)rows.count, (size_t)columns.count},
        .stride = {0, s->width * s->channels, s->channels}};
    s->pool(s->channels, &window, 1.0f, y);
  }
  return SAMARA_OK;
}

static samara_status roi_pool_run(const struct smr_job *job, size_t begin, size_t end,
                                  void *thread_scratch) {
  (void)thread_scratch;
  const struct roi_state *s = (const struct roi_state *)job->state;
  struct smr_deadline_watch watch = {.job = job};
  const size_t last = smr_units_begin(&s->units, end);
  for (size_t unit = smr_units_begin(&s->units, begin); unit < last; unit++)
    SMR_TRY(roi_pool_row(&watch, unit / s->bins[0], unit % s->bins[0]));
  return SAMARA_OK;
}

SMR_WIDENED_OP(roi_pool, roi_pool_check, roi_pool_prepare, roi_pool_run, sizeof(struct roi_state))
