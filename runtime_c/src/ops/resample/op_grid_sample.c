// SPDX-License-Identifier: Apache-2.0
// grid_sample and grid_sample_grad: weighted sums of pixels at the points of a grid.
//
// Samples, and gradients of points, are independent. The gradient of a pixel is a sum over all
// points of an image. A tile owns some channels of one image and takes the points in order, so sums
// do not depend on threads.
#include "base/fp.h"

#include "kernels/f32_taps/f32_taps.h"
#include "ops/check/check.h"
#include "ops/deadline.h"
#include "ops/move/move.h"
#include "ops/resample/grid_taps.h"
#include "ops/table/attrs.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"

#include <inttypes.h>

enum { GRID_CHANNELS = 16 };  // of a tile that sums gradients of pixels

struct grid_sample_state {
  struct smr_grid_spec spec;
  struct smr_units units;  // points of all images
  const struct smr_f32_taps_kernels *kernels;
  size_t images, points, pixels;  // per image
  size_t channels;
  size_t chunks;  // of channels, for the gradients of pixels
  size_t spread;  // tiles that sum gradients of pixels; those of the points follow
};

static samara_status grid_sample_check(const struct smr_job *job) {
  const int64_t mode = SMR_ATTR(job, grid_sample, mode)->i,
                padding = SMR_ATTR(job, grid_sample, padding)->i;
  const struct smr_tensor *x = job->inputs[job->input_count - 2],
                          *grid = job->inputs[job->input_count - 1];
  SMR_TRY(smr_expect_rank(job, x, "x", 4, 5));
  SMR_TRY(smr_expect_rank(job, grid, "grid", x->rank, x->rank));
  if (grid->dims[x->rank - 1] != x->rank - 2)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: grid has %" PRId64 " coordinates for %u spatial axes",
             job->op->name, grid->dims[x->rank - 1], (unsigned)x->rank - 2);
  SMR_TRY(smr_expect_pixels(job, x));
  SMR_TRY(smr_expect_one_dtype(job, SMR_DTYPES_FLOAT));
  if (mode < 0 || mode > SMR_GRID_CUBIC || padding < 0 || padding > SMR_GRID_REFLECTION)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: mode %" PRId64 " or padding %" PRId64 " is unknown",
             job->op->name, mode, padding);
  return SAMARA_OK;
}

static void grid_sample_state(struct smr_job *job, const struct smr_tensor *x,
                              const struct smr_tensor *grid) {
  struct grid_sample_state *s = (struct grid_sample_state *)job->state;
  const uint32_t axes = x->rank - 2u;
  *s = (struct grid_sample_state){.kernels = smr_f32_taps_kernels(job->isa),
                                  .images = (size_t)x->dims[0],
                                  .points = smr_extent(grid, 1, grid->rank - 1u),
                                  .pixels = smr_extent(x, 1, x->rank - 1u),
                                  .channels = (size_t)x->dims[x->rank - 1]};
  s->spec = (struct smr_grid_spec){
      .mode = (enum smr_grid_mode)SMR_ATTR(job, grid_sample, mode)->i,
      .padding = (enum smr_grid_padding)SMR_ATTR(job, grid_sample, padding)->i,
      .align_corners = SMR_ATTR(job, grid_sample, align_corners)->i != 0,
      .axes = axes};
  size_t stride = s->channels;
  for (uint32_t i = axes; i-- > 0;) {
    s->spec.sizes[i] = x->dims[i + 1];
    s->spec.strides[i] = stride;
    stride *= (size_t)x->dims[i + 1];
  }
  // A point costs about as much as moving a few dozen floats and its channels.
  s->units = smr_units_make(job, s->images * s->points, (s->channels + 64) * 4 * sizeof(float));
  job->kernel = s->kernels->name;
}

// ---- grid_sample: x, grid ----

static samara_status grid_sample_prepare(struct smr_job *job) {
  grid_sample_state(job, job->inputs[0], job->inputs[1]);
  if (smr_numel(job->outputs[0]) == 0) job->tiles = 0;
  return SAMARA_OK;
}

static samara_status grid_sample_run(const struct smr_job *job, size_t begin, size_t end,
                                     void *thread_scratch) {
  (void)thread_scratch;
  const struct grid_sample_state *s = (const struct grid_sample_state *)job->state;
  const float *x = (const float *)job->inputs[0]->data, *grid = (const float *)job->inputs[1]->data;
  float *y = (float *)job->outputs[0]->data;
  const size_t last = smr_units_begin(&s->units, end);
  for (size_t p = smr_units_begin(&s->units, begin); p < last; p++) {
    struct smr_grid_taps taps;
    smr_grid_taps(&s->spec, grid + p * s->spec.axes, &taps);
    s->kernels->sum(s->channels, taps.count, taps.offsets, taps.weights,
                    x + p / s->points * s->pixels * s->channels, y + p * s->channels);
  }
  return SAMARA_OK;
}

SMR_WIDENED_OP(grid_sample, grid_sample_check, grid_sample_prepare, grid_sample_run,
               sizeof(struct grid_sample_state))

// ---- grid_sample_grad: dy, x, grid ----

// First tiles of (image, chunk of channels), then tiles of points.
static samara_status grid_sample_grad_prepare(struct smr_job *job) {
  struct grid_sample_state *s = (struct grid_sample_state *)job->state;
  grid_sample_state(job, job->inputs[1], job->inputs[2]);
  s->chunks = s->channels / GRID_CHANNELS + (s->channels % GRID_CHANNELS != 0);
  s->spread = s->images * s->chunks;
  job->tiles += s->spread;
  return SAMARA_OK;
}

// Gradients of the pixels of one image, for some channels.
static samara_status grid_sample_spread(struct smr_deadline_watch *watch, size_t tile) {
  const struct smr_job *job = watch->job;
  const struct grid_sample_state *s = (const struct grid_sample_state *)job->state;
  const size_t image = tile / s->chunks, channel = tile % s->chunks * GRID_CHANNELS;
  const size_t rest = s->channels - channel, n = rest < GRID_CHANNELS ? rest : GRID_CHANNELS;
  const float *dy = (const float *)job->inputs[0]->data + image * s->points * s->channels + channel;
  const float *grid = (const float *)job->inputs[2]->data + image * s->points * s->spec.axes;
  float *dx = (float *)job->outputs[0]->data + image * s->pixels * s->channels + channel;
  for (size_t i = 0; i < s->pixels; i++) memset(dx + i * s->channels, 0, n * sizeof *dx);
  for (size_t p = 0; p < s->points; p++) {
    struct smr_grid_taps taps;
    smr_grid_taps(&s->spec, grid + p * s->spec.axes, &taps);
    SMR_TRY(smr_deadline_step(watch, SMR_GRID_TAPS * GRID_CHANNELS));
    s->kernels->spread(n, taps.count, taps.offsets, taps.weights, dy + p * s->channels, dx);
  }
  return SAMARA_OK;
}

// Gradients of points [first, last).
static void grid_sample_points(const struct smr_job *job, size_t first, size_t last) {
  const struct grid_sample_state *s = (const struct grid_sample_state *)job->state;
  const float *dy = (const float *)job->inputs[0]->data;
  const float *x = (const float *)job->inputs[1]->data, *grid = (const float *)job->inputs[2]->data;
  float *dgrid = (float *)job->outputs[1]->data;
  const uint32_t axes = s->spec.axes;
  for (size_t p = first; p < last; p++) {
    struct smr_grid_taps taps;
    float dots[SMR_GRID_TAPS];
    smr_grid_taps_and_slopes(&s->spec, grid + p * axes, &taps);
    s->kernels->dots(s->channels, taps.count, taps.offsets,
                     x + p / s->points * s->pixels * s->channels, dy + p * s->channels, dots);
    for (uint32_t a = 0; a < axes; a++) {
      double sum = 0;
      for (size_t k = 0; k < taps.count; k++) sum += (double)taps.slopes[a][k] * (double)dots[k];
      dgrid[p * axes + a] = (float)sum;
    }
  }
}

static samara_status grid_sample_grad_run(const struct smr_job *job, size_t begin, size_t end,
                                          void *thread_scratch) {
  (void)thread_scratch;
  const struct grid_sample_state *s = (const struct grid_sample_state *)job->state;
  struct smr_deadline_watch watch = {.job = job};  // a tile may contain all points of an image
  for (; begin < end && begin < s->spread; begin++) SMR_TRY(grid_sample_spread(&watch, begin));
  if (begin < end)
    grid_sample_points(job, smr_units_begin(&s->units, begin - s->spread),
                       smr_units_begin(&s->units, end - s->spread));
  return SAMARA_OK;
}

SMR_WIDENED_OP(grid_sample_grad, grid_sample_check, grid_sample_grad_prepare, grid_sample_grad_run,
               sizeof(struct grid_sample_state))
