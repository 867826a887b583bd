// SPDX-License-Identifier: Apache-2.0
// max_pool_grad, avg_pool_grad and max_pool_indices.
//
// dx is divided into bands along its first spatial axis. A band visits every window that reaches
// into it, in the order of windows, and only adds to itself. So bands are independent, and the
// order of each sum is fixed.
#include "base/fp.h"

#include "kernels/f32_pool_grad/f32_pool_grad.h"
#include "ops/check/check.h"
#include "ops/conv/window.h"
#include "ops/deadline.h"
#include "ops/matmul/linear.h"
#include "ops/table/attrs.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"

#include <string.h>

enum {
  POOL_GRAD_BAND_BYTES = 64 * 1024,  // of dx: enough work for a thread, fits L2
  POOL_GRAD_CHANNELS = 1024,         // handled at once; the numbers of their taps are on the stack
};

struct pool_grad_state {
  struct smr_window window;
  const struct smr_f32_pool_grad *kernels;
  bool count_padding;
  size_t channels;
  uint32_t axis;       // axis along which dx is divided into bands
  size_t band, bands;  // their length and number
};

// ---- windows ----

// Taps of output index `o` along an axis that lie inside the input.
struct pool_grad_span {
  int64_t first, count;  // input index of the first tap inside; number of taps inside
  int64_t counted;       // taps included in the divisor of an average
};

static struct pool_grad_span pool_grad_span_of(const struct smr_window *w, uint32_t axis, int64_t o,
                                               bool count_padding) {
  const int64_t start = o * w->stride[axis] - w->pad_begin[axis], by = w->dilation[axis];
  const int64_t kernel = w->kernel[axis], limit = w->in[axis];
  const int64_t padded = limit + w->pad_end[axis];
  const int64_t before = start < 0 ? (-start + by - 1) / by : 0;
  int64_t inside = start < limit ? (limit - start + by - 1) / by : 0;
  int64_t counted = start < padded ? (padded - start + by - 1) / by : 0;
  if (inside > kernel) inside = kernel;
  if (counted > kernel) counted = kernel;
  const int64_t count = inside > before ? inside - before : 0;
  return (struct pool_grad_span){start + before * by, count, count_padding ? counted : count};
}

// The window at output position `at` of image `n`, from its first tap inside; false if there is
// none. `element` is the offset of that tap in x and dx, `divisor` the divisor of an average.
static bool pool_grad_window_at(const struct pool_grad_state *s, size_t n, const int64_t *at,
                                struct smr_pool_grad_window *window, size_t *element,
                                double *divisor) {
  const struct smr_window *w = &s->window;
  size_t pixel = n, step = s->channels;
  *divisor = 1;
  *window = (struct smr_pool_grad_window){.x = NULL};
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++) {
    const struct pool_grad_span span = pool_grad_span_of(w, i, at[i], s->count_padding);
    if (span.count == 0) return false;
    window->n[i] = window->end[i] = (size_t)span.count;
    pixel = pixel * (size_t)w->in[i] + (size_t)span.first;
    *divisor *= (double)span.counted;
  }
  for (uint32_t i = SMR_MAX_SPATIAL; i-- > 0;) {
    // With a single tap the stride is not used and might overflow.
    if (window->n[i] > 1) window->stride[i] = (size_t)w->dilation[i] * step;
    step *= (size_t)w->in[i];
  }
  *element = pixel * s->channels;
  return true;
}

// ---- gradients ----

static samara_status pool_grad_check(const struct smr_job *job) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "dy", SMR_DTYPES_FLOAT));
  for (uint32_t i = 1; i < job->input_count; i++)
    SMR_TRY(smr_expect_same_dtype(job, job->inputs[0], job->inputs[i], "dy and x"));
  return smr_expect_same_dtype(job, job->inputs[0], job->outputs[0], "dy and output");
}

// Tap numbers have 32 bits.
static samara_status pool_grad_check_size(const struct smr_job *job, const struct smr_window *w) {
  if (smr_product(w->in, SMR_MAX_SPATIAL) > INT32_MAX)
    SMR_FAIL(job->error, LIMIT, "%s: an image is too large", job->op->name);
  return SAMARA_OK;
}

static samara_status pool_grad_prepare(struct smr_job *job) {
  struct pool_grad_state *s = job->state;
  *s = (struct pool_grad_state){.kernels = smr_f32_pool_grad_config(job->isa)};
  SMR_TRY(smr_window_read_between(job, SMR_ATTR_GROUP(job, max_pool_grad, window), job->outputs[0],
                                  job->inputs[0], SMR_ATTR(job, max_pool_grad, kernel)->ints,
                                  &s->window));
  const struct smr_window *w = &s->window;
  SMR_TRY(pool_grad_check_size(job, w));
  if (job->op->code == SMR_CODE_AVG_POOL_GRAD)
    s->count_padding = SMR_ATTR(job, avg_pool_grad, count_include_pad)->i != 0;
  s->channels = (size_t)w->channels_in;
  job->kernel = s->kernels->name;
  job->tiles = 0;
  if (smr_numel(job->outputs[0]) == 0) return SAMARA_OK;
  s->axis = w->in[0] > 1 ? 0 : w->in[1] > 1 ? 1 : 2;
  const size_t length = (size_t)w->in[s->axis];
  const size_t slice = s->channels * sizeof(float) *
                       (size_t)smr_product(w->in + s->axis + 1, SMR_MAX_SPATIAL - 1 - s->axis);
  s->band = slice < POOL_GRAD_BAND_BYTES ? POOL_GRAD_BAND_BYTES / slice : 1;
  // Bands shorter than the window would visit most windows several times.
  const size_t extent = (size_t)smr_window_extent(w, s->axis);
  if (s->band < 2 * extent) s->band = 2 * extent;
  if (s->band > length) s->band = length;
  s->bands = (length + s->band - 1) / s->band;
  job->tiles = (size_t)w->batch * s->bands;
  return SAMARA_OK;
}

// Keep only taps of `window` in [from, to) of the banded axis. False if none are left.
static bool pool_grad_clip(const struct pool_grad_state *s, int64_t o, int64_t from, int64_t to,
                           struct smr_pool_grad_window *window) {
  const struct pool_grad_span span = pool_grad_span_of(&s->window, s->axis, o, false);
  const int64_t by = s->window.dilation[s->axis];
  int64_t begin = span.first < from ? (from - span.first + by - 1) / by : 0;
  int64_t end = span.first < to ? (to - span.first + by - 1) / by : 0;
  if (end > span.count) end = span.count;
  if (begin >= end) return false;
  window->begin[s->axis] = (size_t)begin;
  window->end[s->axis] = (size_t)end;
  return true;
}

static void pool_grad_add(const struct pool_grad_state *s,
                          const struct smr_pool_grad_window *window, const float *dy,
                          double divisor) {
  for (size_t c = 0; c < s->channels; c += POOL_GRAD_CHANNELS) {
    const size_t left = s->channels - c;
    const size_t count = left < POOL_GRAD_CHANNELS ? left : POOL_GRAD_CHANNELS;
    struct smr_pool_grad_window part = *window;
    part.dx += c;
    if (window->x == NULL) {
      s->kernels->spread(count, &part, dy + c, (float)(1 / divisor));
      continue;
    }
    int32_t taps[POOL_GRAD_CHANNELS];
    part.x += c;
    s->kernels->where(count, &part, taps);
    s->kernels->pick(count, &part, dy + c, taps);
  }
}

// Outputs along the banded axis whose windows may reach into [from, to), computed from the first
// and last tap.
static void pool_grad_reach(const struct pool_grad_state *s, int64_t from, int64_t to,
                            int64_t *begin, int64_t *end) {
  const struct smr_window *w = &s->window;
  const int64_t stride = w->stride[s->axis], pad = w->pad_begin[s->axis];
  const int64_t low = from + pad - smr_window_extent(w, s->axis) + 1;
  const int64_t high = to - 1 + pad;
  *begin = low > 0 ? (low + stride - 1) / stride : 0;
  *end = high >= 0 ? high / stride + 1 : 0;
  if (*end > w->out[s->axis]) *end = w->out[s->axis];
}

// Compute one band of an image.
static samara_status pool_grad_band(struct smr_deadline_watch *watch,
                                    const struct pool_grad_state *s, size_t n, size_t band,
                                    const float *dy, const float *x, float *dx) {
  const struct smr_window *w = &s->window;
  const int64_t from = (int64_t)(band * s->band);
  const int64_t to =
      from + (int64_t)s->band < w->in[s->axis] ? from + (int64_t)s->band : w->in[s->axis];
  // Axes before the banded one have extent 1, so a band is contiguous.
  const size_t slice =
      s->channels * (size_t)smr_product(w->in + s->axis + 1, SMR_MAX_SPATIAL - 1 - s->axis);
  const size_t image = n * (size_t)smr_product(w->in, SMR_MAX_SPATIAL) * s->channels;
  memset(dx + image + (size_t)from * slice, 0, (size_t)(to - from) * slice * sizeof *dx);
  int64_t begin[SMR_MAX_SPATIAL] = {0, 0, 0}, end[SMR_MAX_SPATIAL];
  memcpy(end, w->out, sizeof end);
  pool_grad_reach(s, from, to, &begin[s->axis], &end[s->axis]);
  int64_t at[SMR_MAX_SPATIAL];
  for (at[0] = begin[0]; at[0] < end[0]; at[0]++) {
    for (at[1] = begin[1]; at[1] < end[1]; at[1]++) {
      for (at[2] = begin[2]; at[2] < end[2]; at[2]++) {
        struct smr_pool_grad_window window;
        size_t element;
        double divisor;
        SMR_TRY(smr_deadline_step(watch, 1));
        if (!pool_grad_window_at(s, n, at, &window, &element, &divisor)) continue;
        if (!pool_grad_clip(s, at[s->axis], from, to, &window)) continue;
        SMR_TRY(smr_deadline_step(watch, window.n[0] * window.n[1] * window.n[2] * s->channels));
        window.x = x != NULL ? x + element : NULL;
        window.dx = dx + element;
        const size_t pixel =
            ((n * (size_t)w->out[0] + (size_t)at[0]) * (size_t)w->out[1] + (size_t)at[1]) *
                (size_t)w->out[2] +
            (size_t)at[2];
        pool_grad_add(s, &window, dy + pixel * s->channels, divisor);
      }
    }
  }
  return SAMARA_OK;
}

static samara_status pool_grad_run(const struct smr_job *job, size_t begin, size_t end,
                                   void *thread_scratch) {
  (void)thread_scratch;
  const struct pool_grad_state *s = job->state;
  const float *x = job->input_count > 1 ? job->inputs[1]->data : NULL;
  struct smr_deadline_watch watch = {.job = job};
  for (size_t tile = begin; tile < end; tile++)
    SMR_TRY(pool_grad_band(&watch, s, tile / s->bands, tile % s->bands, job->inputs[0]->data, x,
                           job->outputs[0]->data));
  return SAMARA_OK;
}

SMR_WIDENED_OP(max_pool_grad, pool_grad_check, pool_grad_prepare, pool_grad_run,
               sizeof(struct pool_grad_state))
SMR_WIDENED_OP(avg_pool_grad, pool_grad_check, pool_grad_prepare, pool_grad_run,
               sizeof(struct pool_grad_state))

// ---- max_pool_indices ----

static samara_status pool_indices_check(const struct smr_job *job) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "input", SMR_DTYPES_FLOAT));
  return smr_expect_dtype(job, job->outputs[0], "output", SMR_DTYPE_I64);
}

static samara_status pool_indices_prepare(struct smr_job *job) {
  struct pool_grad_state *s = job->state;
  *s = (struct pool_grad_state){.kernels = smr_f32_pool_grad_config(job->isa)};
  SMR_TRY(smr_window_read(job, SMR_ATTR_GROUP(job, max_pool_indices, window),
                          SMR_ATTR(job, max_pool_indices, kernel)->ints, &s->window));
  SMR_TRY(pool_grad_check_size(job, &s->window));
  s->channels = (size_t)s->window.channels_in;
  job->kernel = s->kernels->name;
  job->tiles = smr_numel(job->outputs[0]) == 0
                   ? 0
                   : (size_t)(s->window.batch * s->window.out[0] * s->window.out[1]);
  return SAMARA_OK;
}

// Convert tap numbers to positions in the image.
static void pool_indices_place(const struct pool_grad_state *s,
                               const struct smr_pool_grad_window *window, size_t first,
                               size_t count, const int32_t *taps, int64_t *out) {
  const size_t n1 = window->n[1], n2 = window->n[2];
  for (size_t c = 0; c < count; c++) {
    const size_t tap = (size_t)taps[c];
    const size_t offset = tap / (n1 * n2) * window->stride[0] + tap / n2 % n1 * window->stride[1] +
                          tap % n2 * window->stride[2];
    out[c] = (int64_t)(first + offset / s->channels);
  }
}

// Compute one output pixel.
static samara_status pool_indices_pixel(struct smr_deadline_watch *watch,
                                        const struct pool_grad_state *s, const float *x, size_t n,
                                        const int64_t *at, int64_t *out) {
  struct smr_pool_grad_window window;
  size_t element;
  double divisor;
  if (!pool_grad_window_at(s, n, at, &window, &element, &divisor)) {
    for (size_t c = 0; c < s->channels; c++) out[c] = -1;
    return smr_deadline_step(watch, s->channels);
  }
  SMR_TRY(smr_deadline_step(watch, window.n[0] * window.n[1] * window.n[2] * s->channels));
  const size_t image = n * (size_t)smr_product(s->window.in, SMR_MAX_SPATIAL);
  for (size_t c = 0; c < s->channels; c += POOL_GRAD_CHANNELS) {
    const size_t left = s->channels - c;
    const size_t count = left < POOL_GRAD_CHANNELS ? left : POOL_GRAD_CHANNELS;
    int32_t taps[POOL_GRAD_CHANNELS];
    window.x = x + element + c;
    s->kernels->where(count, &window, taps);
    pool_indices_place(s, &window, element / s->channels - image, count, taps, out + c);
  }
  return SAMARA_OK;
}

static samara_status pool_indices_run(const struct smr_job *job, size_t begin, size_t end,
                                      void *thread_scratch) {
  (void)thread_scratch;
  const struct pool_grad_state *s = job->state;
  const struct smr_window *w = &s->window;
  const size_t rows = (size_t)w->out[1], depths = (size_t)w->out[0], width = (size_t)w->out[2];
  struct smr_deadline_watch watch = {.job = job};
  for (size_t row = begin; row < end; row++) {
    int64_t *out = (int64_t *)job->outputs[0]->data + row * width * s->channels;
    for (size_t i = 0; i < width; i++, out += s->channels) {
      const int64_t at[SMR_MAX_SPATIAL] = {(int64_t)(row / rows % depths), (int64_t)(row % rows),
                                           (int64_t)i};
      SMR_TRY(pool_indices_pixel(&watch, s, job->inputs[0]->data, row / rows / depths, at, out));
    }
  }
  return SAMARA_OK;
}

SMR_WIDENED_OP(max_pool_indices, pool_indices_check, pool_indices_prepare, pool_indices_run,
               sizeof(struct pool_grad_state))
