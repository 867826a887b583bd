// SPDX-License-Identifier: Apache-2.0
// max_pool, avg_pool, lp_pool and qavg_pool: windows over [N, 1 to 3 spatial dims, C], one row of
// pixels at a time.
#include "base/fp.h"

#include "base/checked.h"
#include "kernels/f32_pool/f32_pool.h"
#include "kernels/i8_mean/i8_mean.h"
#include "kernels/i8_pool/i8_pool.h"
#include "ops/check/check.h"
#include "ops/conv/window.h"
#include "ops/deadline.h"
#include "ops/move/move.h"
#include "ops/quantize/rescale.h"
#include "ops/table/attrs.h"
#include "simd/half.h"
#include "simd/requantize.h"

#include <inttypes.h>
#include <math.h>

#define POOL_LARGEST_ADDED 0x1p64f  // largest scale at which sums of dequantized values stay finite

// Whether this build pools floats.
enum {
  POOL_HAS_FLOATS = SMR_HAS(f32_pool_max) || SMR_HAS(f32_pool_avg) || SMR_HAS(f32_pool_l1) ||
  SMR_HAS(f32_pool_l2) || SMR_HAS(f32_pool_power)
};

// Compute an output pixel. `counted` is the divisor of an average.
typedef void (*pool_pixel)(const struct smr_job *job, const struct smr_pool_window *window,
                           float counted, void *y);

struct pool_state {
  pool_pixel pixel;
  struct smr_units units;  // rows of output pixels: (batch, depth, height)
  struct smr_window window;
  enum smr_f32_pool_kind kind;
  smr_f32_pool_ukernel kernel;      // floats
  const struct smr_i8_pool *bytes;  // max_pool of int8
  float p;                          // of POWER
  bool count_padding;               // of AVG
  const struct smr_i8_mean *means;  // qavg_pool
  struct smr_rescale rescale;       // qavg_pool
  float x_scale, scale;             // qavg_pool with dequantized output
};

static samara_status pool_check_types(const struct smr_job *job, uint32_t dtypes) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "input", dtypes));
  return smr_move_check(job);
}

static samara_status max_pool_check(const struct smr_job *job) {
  return pool_check_types(job, SMR_DTYPES_FLOAT | SMR_DTYPE_I8 | SMR_DTYPE_U8 | SMR_DTYPE_QS8);
}

static samara_status avg_pool_check(const struct smr_job *job) {
  return pool_check_types(job, SMR_DTYPES_FLOAT);
}

static samara_status lp_pool_check(const struct smr_job *job) {
  const int64_t p = SMR_ATTR(job, lp_pool, p)->i;
  if (p < 1 || p > 1 << 20)
    SMR_FAIL(job->error, BAD_SHAPE, "lp_pool: p is %" PRId64 ", expected at least 1", p);
  return pool_check_types(job, SMR_DTYPES_FLOAT);
}

static samara_status qavg_pool_check(const struct smr_job *job) {
  SMR_TRY(smr_rescale_check(job, SMR_ATTR_GROUP(job, qavg_pool, int8_output)));
  const float scale = job->inputs[0]->quant->scales[0];
  if (SMR_ATTR(job, qavg_pool, dequantized)->i != 0 && scale > POOL_LARGEST_ADDED)
    SMR_FAIL(job->error, BAD_SHAPE,
             "qavg_pool: dequantized values of scale %g are too large to be added, expected at most"
             " 2^64",
             smr_g(scale));
  return SAMARA_OK;
}

// ---- a pixel ----

// Whether a window has taps inside the input. Without taps, the maximum is the lowest value and the
// sum is 0.
static bool pool_has_taps(const struct smr_pool_window *window) {
  return window->n[0] != 0 && window->n[1] != 0 && window->n[2] != 0;
}

static void pool_float(const struct smr_job *job, const struct smr_pool_window *window,
                       float counted, void *y) {
  const struct pool_state *s = job->state;
  const size_t channels = (size_t)s->window.channels_in;
  if (pool_has_taps(window)) {
    s->kernel(channels, window, s->kind == SMR_POOL_POWER ? s->p : counted, y);
    return;
  }
  const float value = s->kind == SMR_POOL_MAX ? -INFINITY : 0.0f;
  if (job->inputs[0]->dtype == SAMARA_FLOAT32)
    for (size_t c = 0; c < channels; c++) ((float *)y)[c] = value;
  else
    for (size_t c = 0; c < channels; c++) ((uint16_t *)y)[c] = smr_f32_to_f16(value);
}

static void pool_max_u8(const struct smr_job *job, const struct smr_pool_window *window,
                        float counted, void *y) {
  (void)counted;
  const struct pool_state *s = job->state;
  const size_t channels = (size_t)s->window.channels_in;
  if (pool_has_taps(window))
    s->bytes->max_u8(channels, window, y);
  else
    memset(y, 0, channels);
}

static void pool_max_s8(const struct smr_job *job, const struct smr_pool_window *window,
                        float counted, void *y) {
  (void)counted;
  const struct pool_state *s = job->state;
  const size_t channels = (size_t)s->window.channels_in;
  if (pool_has_taps(window))
    s->bytes->max_s8(channels, window, y);
  else
    memset(y, INT8_MIN, channels);
}

// Taps of a window, at least 1 so that kernels can average an empty one. Cannot overflow: taps are
// in memory.
static size_t pool_taps(const struct smr_pool_window *window) {
  return window->n[0] * window->n[1] * window->n[2];
}

static float pool_divisor(float counted) { return counted >= 1.0f ? counted : 1.0f; }

static void pool_mean_real(const struct smr_job *job, const struct smr_pool_window *window,
                           float counted, void *y) {
  const struct pool_state *s = job->state;
  const struct smr_rescale *r = &s->rescale;
  const struct smr_i8_mean_real mean = {
      s->x_scale, pool_divisor(counted), s->scale, r->x_zero, r->zero, r->lo, r->hi};
  s->means->window_real((size_t)s->window.channels_in, window, &mean, y);
}

static void pool_mean(const struct smr_job *job, const struct smr_pool_window *window,
                      float counted, void *y) {
  const struct pool_state *s = job->state;
  const struct smr_rescale *r = &s->rescale;
  const struct smr_i8_mean_end end = {r->x_zero * (int32_t)pool_taps(window),
                                      r->ratio / pool_divisor(counted), r->zero, r->lo, r->hi};
  s->means->window((size_t)s->window.channels_in, window, &end, y);
}

// Sums of windows with too many taps for int32. Rare, so not optimized.
static void pool_mean_wide(const struct smr_job *job, const struct smr_pool_window *window,
                           float counted, void *y) {
  const struct pool_state *s = job->state;
  const struct smr_rescale *r = &s->rescale;
  if (pool_taps(window) <= SMR_I8_MEAN_MOST) {
    pool_mean(job, window, counted, y);
    return;
  }
  const float multiplier = r->ratio / pool_divisor(counted);
  const float lo = (float)(r->lo - r->zero), hi = (float)(r->hi - r->zero);
  for (size_t c = 0; c < (size_t)s->window.channels_in; c++) {
    int64_t sum = 0;
    for (size_t i = 0; i < window->n[0]; i++)
      for (size_t j = 0; j < window->n[1]; j++)
        for (size_t k = 0; k < window->n[2]; k++)
          sum +=
              ((const int8_t *)window
                   ->x)[i * window->stride[0] + j * window->stride[1] + k * window->stride[2] + c] -
              r->x_zero;
    const float p = (float)sum * multiplier;
    ((int8_t *)y)[c] = (int8_t)smr_rounded(p, lo, hi, r->zero);
  }
}

// ---- running ----

// a / by, rounded up, for a >= 0. Usually `by` is 1.
static int64_t pool_ceil_div(int64_t a, int64_t by) { return by == 1 ? a : (a + by - 1) / by; }

// The taps of output index `o` along an axis that lie inside the input.
struct pool_span {
  int64_t first;  // input index of the first tap
  int64_t count;
  int64_t counted;  // taps included in the divisor of an average
};

static struct pool_span pool_span_of(const struct smr_window *w, uint32_t axis, int64_t o,
                                     bool count_padding) {
  const int64_t start = o * w->stride[axis] - w->pad_begin[axis], by = w->dilation[axis];
  const int64_t kernel = w->kernel[axis];
  const int64_t before = start < 0 ? pool_ceil_div(-start, by) : 0;  // taps before the input
  // Taps at or beyond `limit` are outside.
  const int64_t limit = w->in[axis], padded = limit + w->pad_end[axis];
  int64_t inside = start < limit ? pool_ceil_div(limit - start, by) : 0;
  int64_t counted = start < padded ? pool_ceil_div(padded - start, by) : 0;
  if (inside > kernel) inside = kernel;
  if (counted > kernel) counted = kernel;
  const int64_t count = inside > before ? inside - before : 0;
  return (struct pool_span){start + before * by, count, count_padding ? counted : count};
}

// Elements that a pixel reads or writes. Cannot overflow: they are in memory.
static size_t pool_work(const struct smr_pool_window *window, size_t channels) {
  return (window->n[0] * window->n[1] * window->n[2] + 1) * channels;
}

// Number of taps of a window over three axes, as a float.
static float pool_counted(int64_t a, int64_t b, int64_t c) {
#if defined(SMR_BARE_METAL)
  // Below 2^32 the product has the same float without double arithmetic.
  const int64_t most = 1 << 20;
  const uint64_t exact =
      a <= most && b <= most && c <= most ? (uint64_t)a * (uint64_t)b * (uint64_t)c : UINT64_MAX;
  if (exact <= UINT32_MAX) return (float)(uint32_t)exact;
  return (float)(uint32_t)a * (float)(uint32_t)b * (float)(uint32_t)c;
#else
  return (float)((double)a * (double)b * (double)c);
#endif
}

static samara_status pool_run(const struct smr_job *job, size_t begin, size_t end, void *scratch) {
  (void)scratch;
  const struct pool_state *state = (const struct pool_state *)job->state;
  const struct smr_window *w = &state->window;
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  const size_t element = smr_dtype_bytes(x->dtype), pixel = (size_t)x->pixel_stride;
  const size_t last = smr_units_begin(&state->units, end);
  struct smr_deadline_watch watch = {.job = job};  // a row of windows may read the input many times
  for (size_t row = smr_units_begin(&state->units, begin); row < last; row++) {
    const int64_t o1 = (int64_t)(row % (size_t)w->out[1]);
    const int64_t o0 = (int64_t)(row / (size_t)w->out[1] % (size_t)w->out[0]);
    const size_t n = row / (size_t)(w->out[0] * w->out[1]);
    const struct pool_span a = pool_span_of(w, 0, o0, state->count_padding);
    const struct pool_span b = pool_span_of(w, 1, o1, state->count_padding);
    char *out = (char *)y->data + row * (size_t)w->out[2] * (size_t)y->pixel_stride * element;
    for (int64_t o2 = 0; o2 < w->out[2]; o2++) {
      const struct pool_span c = pool_span_of(w, 2, o2, state->count_padding);
      // With a single tap the stride is not used and might overflow. An empty window also has a
      // valid address, to which kernels add channels.
      struct smr_pool_window window;
      window.x = x->data;
      window.n[0] = (size_t)a.count;
      window.n[1] = (size_t)b.count;
      window.n[2] = (size_t)c.count;
      window.stride[0] = a.count > 1 ? (size_t)(w->dilation[0] * w->in[1] * w->in[2]) * pixel : 0;
      window.stride[1] = b.count > 1 ? (size_t)(w->dilation[1] * w->in[2]) * pixel : 0;
      window.stride[2] = c.count > 1 ? (size_t)w->dilation[2] * pixel : 0;
      if (a.count > 0 && b.count > 0 && c.count > 0) {
        const size_t at =
            ((n * (size_t)w->in[0] + (size_t)a.first) * (size_t)w->in[1] + (size_t)b.first) *
                (size_t)w->in[2] +
            (size_t)c.first;
        window.x = (const char *)x->data + at * pixel * element;
      }
      SMR_TRY(smr_deadline_step(&watch, pool_work(&window, (size_t)w->channels_in)));
      state->pixel(job, &window, pool_counted(a.counted, b.counted, c.counted),
                   out + (size_t)o2 * (size_t)y->pixel_stride * element);
    }
  }
  return SAMARA_OK;
}

// ---- preparing ----

static samara_status pool_begin(struct smr_job *job, enum smr_f32_pool_kind kind) {
  struct pool_state *s = job->state;
  const struct smr_tensor *x = job->inputs[0];
  *s = (struct pool_state){.kind = kind};
  SMR_TRY(smr_window_read(job, SMR_ATTR_GROUP(job, max_pool, window),
                          SMR_ATTR(job, max_pool, kernel)->ints, &s->window));
  const struct smr_window *w = &s->window;
  const bool empty = smr_numel(job->outputs[0]) == 0;
  const size_t rows = empty ? 0 : (size_t)w->batch * (size_t)(w->out[0] * w->out[1]);
  const size_t row_bytes =
      empty ? 0 : (size_t)(w->out[2] * w->channels_in) * smr_dtype_bytes(x->dtype);
  s->units = smr_units_make(job, rows, row_bytes);
  return SAMARA_OK;
}

static samara_status pool_prepare_float(struct smr_job *job, enum smr_f32_pool_kind kind) {
  SMR_TRY(pool_begin(job, kind));
  struct pool_state *s = job->state;
  const bool half = job->inputs[0]->dtype == SAMARA_FLOAT16;
  s->kernel = POOL_HAS_FLOATS
                  ? smr_f32_pool_kernel(job->isa, kind, half ? SMR_POOL_F16 : SMR_POOL_F32)
                  : NULL;
  SMR_WAY_KERNEL(job, POOL_HAS_FLOATS, f32_pool_max, kind, s->kernel, true, true,
                 s->pixel = pool_float);
  job->kernel = smr_f32_pool_kernel_name(job->isa, kind);
  return SAMARA_OK;
}

static samara_status max_pool_prepare(struct smr_job *job) {
  const uint8_t dtype = job->inputs[0]->dtype;
  if (dtype == SAMARA_FLOAT32 || dtype == SAMARA_FLOAT16)
    return pool_prepare_float(job, SMR_POOL_MAX);
  SMR_TRY(pool_begin(job, SMR_POOL_MAX));
  struct pool_state *s = job->state;
  SMR_WAY(job, x8_pool_u8, dtype == SAMARA_UINT8, false, s->pixel = pool_max_u8);
  SMR_WAY(job, x8_pool_s8, dtype != SAMARA_UINT8, false, s->pixel = pool_max_s8);
  s->bytes = smr_i8_pool_config(job->isa);
  job->kernel = s->bytes->name;
  return SAMARA_OK;
}

static samara_status avg_pool_prepare(struct smr_job *job) {
  SMR_TRY(pool_prepare_float(job, SMR_POOL_AVG));
  ((struct pool_state *)job->state)->count_padding =
      SMR_ATTR(job, avg_pool, count_include_pad)->i != 0;
  return SAMARA_OK;
}

static samara_status lp_pool_prepare(struct smr_job *job) {
  const int64_t p = SMR_ATTR(job, lp_pool, p)->i;
  SMR_TRY(pool_prepare_float(job, p == 1 ? SMR_POOL_L1 : p == 2 ? SMR_POOL_L2 : SMR_POOL_POWER));
  ((struct pool_state *)job->state)->p = (float)p;
  return SAMARA_OK;
}

static samara_status qavg_pool_prepare(struct smr_job *job) {
  SMR_NEED(job, qavg_pool);
  SMR_TRY(pool_begin(job, SMR_POOL_AVG));
  struct pool_state *s = job->state;
  s->count_padding = SMR_ATTR(job, qavg_pool, count_include_pad)->i != 0;
  s->means = smr_i8_mean_config(job->isa);
  s->rescale = smr_rescale_read(job, SMR_ATTR_GROUP(job, qavg_pool, int8_output));
  s->x_scale = job->inputs[0]->quant->scales[0];
  s->scale = SMR_ATTR(job, qavg_pool, scale)->f;
  const bool real = SMR_ATTR(job, qavg_pool, dequantized)->i != 0;
  const int64_t *kernel = s->window.kernel;
  int64_t taps;
  const bool wide = !smr_mul_i64(kernel[0], kernel[1], &taps) ||
                    !smr_mul_i64(taps, kernel[2], &taps) || taps > SMR_I8_MEAN_MOST;
  SMR_WAY(job, s8_mean_wide, wide, SMR_ATTR(job, qavg_pool, kernel)->varies,
          s->pixel = pool_mean_wide);
  SMR_WAY(job, s8_mean_window_real, real, false, s->pixel = pool_mean_real);
  SMR_WAY(job, s8_mean_window, !real, false, if (!wide) s->pixel = pool_mean);
  job->kernel = s->means->name;
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_max_pool_funcs = {.check = max_pool_check,
                                                   .prepare = max_pool_prepare,
                                                   .run = pool_run,
                                                   .state_bytes = sizeof(struct pool_state)};
const struct smr_op_funcs smr_op_avg_pool_funcs = {.check = avg_pool_check,
                                                   .prepare = avg_pool_prepare,
                                                   .run = pool_run,
                                                   .state_bytes = sizeof(struct pool_state)};
const struct smr_op_funcs smr_op_lp_pool_funcs = {.check = lp_pool_check,
                                                  .prepare = lp_pool_prepare,
                                                  .run = pool_run,
                                                  .state_bytes = sizeof(struct pool_state)};
const struct smr_op_funcs smr_op_qavg_pool_funcs = {.check = qavg_pool_check,
                                                    .prepare = qavg_pool_prepare,
                                                    .run = pool_run,
                                                    .state_bytes = sizeof(struct pool_state)};
#undef POOL_LARGEST_ADDED
