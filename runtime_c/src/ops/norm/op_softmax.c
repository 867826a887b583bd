// SPDX-License-Identifier: Apache-2.0
// softmax, log_softmax and hardmax along an axis.
#include "base/fp.h"

#include "kernels/f32_exact/f32_exact.h"
#include "kernels/f32_softmax/f32_softmax.h"
#include "base/checked.h"
#include "ops/axis.h"
#include "ops/check/check.h"
#include "ops/reduce/arg_minmax.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"
#include "simd/common.h"

#include <math.h>
#include <string.h>

struct softmax_state {
  struct smr_axis axis;  // first member
  const struct smr_f32_softmax *kernels;
  size_t log;
};

static samara_status softmax_check(const struct smr_job *job) {
  return smr_expect_one_dtype(job, SMR_DTYPES_EVERY_FLOAT);
}

// Whether the axis is the last.
static bool softmax_is_last(const struct smr_job *job) {
  const int64_t axis = SMR_ATTR(job, softmax, axis)->i;
  return axis == -1 || axis + 1 == (int64_t)job->inputs[0]->rank;
}

// ---- running ----

static void softmax_row(const struct smr_job *job, const struct smr_axis_span *span) {
  const struct softmax_state *s = job->state;
  s->kernels->row[s->log](s->axis.n, (const float *)job->inputs[0]->data + span->offset,
                          (float *)job->outputs[0]->data + span->offset);
}

static samara_status softmax_rows_run(const struct smr_job *job, size_t begin, size_t end,
                                      void *thread_scratch) {
  (void)thread_scratch;
  return smr_axis_run(job, job->state, begin, end, softmax_row);
}

static void softmax_columns(const struct smr_job *job, const struct smr_axis_span *span) {
  const struct softmax_state *s = job->state;
  s->kernels->columns[s->log](s->axis.n, span->count, s->axis.inner,
                              (const float *)job->inputs[0]->data + span->offset,
                              (float *)job->outputs[0]->data + span->offset);
}

static samara_status softmax_columns_run(const struct smr_job *job, size_t begin, size_t end,
                                         void *thread_scratch) {
  (void)thread_scratch;
  return smr_axis_run(job, job->state, begin, end, softmax_columns);
}

// One group of doubles, `stride` apart, shifted by the largest to avoid overflow.
static void softmax_f64(const struct softmax_state *s, const double *x, double *y) {
  const size_t n = s->axis.n, stride = s->axis.inner;
  double top = -INFINITY, sum = 0;
  for (size_t i = 0; i < n; i++) {
    const double v = x[i * stride];
    top = v > top || v != v ? v : top;
  }
  for (size_t i = 0; i < n; i++) {
    const double shifted = x[i * stride] - top, e = exp(shifted);
    y[i * stride] = s->log ? shifted : e;
    sum += e;
  }
  const double log_sum = log(sum);
  for (size_t i = 0; i < n; i++)
    y[i * stride] = s->log ? y[i * stride] - log_sum : y[i * stride] / sum;
}

static void softmax_columns_f64(const struct smr_job *job, const struct smr_axis_span *span) {
  for (size_t j = span->offset; j < span->offset + span->count; j++)
    softmax_f64(job->state, (const double *)job->inputs[0]->data + j,
                (double *)job->outputs[0]->data + j);
}

static samara_status softmax_f64_run(const struct smr_job *job, size_t begin, size_t end,
                                     void *thread_scratch) {
  (void)thread_scratch;
  return smr_axis_run(job, job->state, begin, end, softmax_columns_f64);
}

// ---- the exact form ----

// One group: e = exp(x - max), then e * (1 / sum), or (x - max) - log(sum).
static void softmax_exact_row(const struct smr_f32_exact *exact, bool log, size_t n, const float *x,
                              float *y, float *e) {
  const float top = exact->max(n, x), sum = exact->exp_sum(n, x, top, e);
  if (!log) {
    exact->scale(n, 1.0f / sum, e, y);
    return;
  }
  float tail;
  exact->function[SMR_F32_EXACT_LOG](1, &sum, &tail, &sum);
  exact->minus(n, x, top, tail, y);
}

// Elements that are not neighbours are copied to scratch: [n] of the group, [n] of the result.
static samara_status softmax_exact_run(const struct smr_job *job, size_t begin, size_t end,
                                       void *thread_scratch) {
  const struct softmax_state *s = job->state;
  const struct smr_f32_exact *exact = smr_f32_exact_config(job->isa);
  const size_t n = s->axis.n, stride = s->axis.inner;
  float *copy = thread_scratch, *e = copy + n;
  struct smr_axis_walk walk = smr_axis_start(&s->axis, begin, end);
  struct smr_axis_span span;
  while (smr_axis_next(&s->axis, &walk, &span)) {
    for (size_t j = span.offset; j < span.offset + span.count; j++) {
      const float *x = (const float *)job->inputs[0]->data + j;
      float *y = (float *)job->outputs[0]->data + j;
      if (stride == 1) {
        softmax_exact_row(exact, s->log != 0, n, x, y, s->log != 0 ? e : y);
        continue;
      }
      for (size_t i = 0; i < n; i++) copy[i] = x[i * stride];
      softmax_exact_row(exact, s->log != 0, n, copy, copy, e);
      for (size_t i = 0; i < n; i++) y[i * stride] = copy[i];
    }
  }
  return SAMARA_OK;
}

// ---- preparing ----

// True if prepare is complete: float64 has a single way.
static bool softmax_begin(struct smr_job *job, size_t log) {
  struct softmax_state *s = job->state;
  *s = (struct softmax_state){
      .axis = smr_axis_of(job->inputs[0], SMR_ATTR(job, softmax, axis)->i),
      .kernels = smr_f32_softmax_config(job->isa),
      .log = log,
  };
  job->kernel = s->kernels->name;
  job->tiles = smr_axis_tiles(&s->axis);
  if (!SMR_HAS(type_float64) || job->inputs[0]->dtype != SAMARA_FLOAT64) return false;
  job->kernel = "softmax_f64";
  job->run = softmax_f64_run;
  return true;
}

static samara_status softmax_prepare_exact(struct smr_job *job) {
  const struct softmax_state *s = job->state;
  SMR_NEED(job, f32_exact_softmax);
  if (s->log != 0) {
    SMR_NEED(job, f32_exact_minus);
    SMR_NEED(job, f32_exact_log);
  }
  job->kernel = smr_f32_exact_config(job->isa)->name;
  job->run = softmax_exact_run;
  if (!smr_mul_size(s->axis.n, 2 * sizeof(float), &job->thread_scratch_bytes))
    SMR_FAIL(job->error, LIMIT, "%s: scratch does not fit memory", job->op->name);
  return SAMARA_OK;
}

// Whether groups are contiguous: all dims after the axis are 1.
static bool softmax_is_row(const struct smr_job *job) {
  return ((const struct softmax_state *)job->state)->axis.inner == 1;
}

static samara_status softmax_prepare(struct smr_job *job) {
  if (softmax_begin(job, 0)) return SAMARA_OK;
  if (SMR_HAS(exact) && job->exact) return softmax_prepare_exact(job);
  SMR_WAY(job, f32_softmax_row, softmax_is_row(job), true, job->run = softmax_rows_run);
  SMR_WAY(job, f32_softmax_columns, !softmax_is_row(job), !softmax_is_last(job),
          job->run = softmax_columns_run);
  return SAMARA_OK;
}

static samara_status log_softmax_prepare(struct smr_job *job) {
  if (softmax_begin(job, 1)) return SAMARA_OK;
  if (SMR_HAS(exact) && job->exact) return softmax_prepare_exact(job);
  SMR_WAY(job, f32_softmax_log_row, softmax_is_row(job), true, job->run = softmax_rows_run);
  SMR_WAY(job, f32_softmax_log_columns, !softmax_is_row(job), !softmax_is_last(job),
          job->run = softmax_columns_run);
  return SAMARA_OK;
}

SMR_WIDENED_OP_MORE(softmax, softmax_check, softmax_prepare, NULL, sizeof(struct softmax_state),
                    SMR_DTYPE_F64)
SMR_WIDENED_OP_MORE(log_softmax, softmax_check, log_softmax_prepare, NULL,
                    sizeof(struct softmax_state), SMR_DTYPE_F64)

// ---- hardmax ----

// One group of doubles, `stride` apart: 1 at the first largest element. NaN counts as the largest.
static void hardmax_f64(size_t n, size_t stride, const double *x, double *y) {
  size_t best = 0;
  for (size_t i = 1; i < n; i++) {
    const double a = x[best * stride], b = x[i * stride];
    if (b > a || (b != b && a == a)) best = i;
  }
  for (size_t i = 0; i < n; i++) y[i * stride] = i == best;
}

static void hardmax_row(const struct smr_arg_minmax *e, size_t n, const float *x, float *y) {
  const size_t best = smr_arg_minmax_row(e, n, x);
  memset(y, 0, n * sizeof *y);
  y[best] = 1.0f;
}

SMR_VECTORIZED static void hardmax_columns(const struct smr_arg_minmax *e, size_t n, size_t count,
                                           size_t stride, const float *x, float *y) {
  uint32_t best[SMR_AXIS_COLUMNS];
  smr_arg_minmax_columns(e, n, count, stride, x, best);
  for (size_t i = 0; i < n; i++, y += stride) {
    const uint32_t row = (uint32_t)i;
    for (size_t j = 0; j < count; j++) y[j] = best[j] == row ? 1.0f : 0.0f;
  }
}

static void hardmax(const struct smr_job *job, const struct smr_axis_span *span) {
  const struct softmax_state *s = job->state;
  const struct smr_arg_minmax e = {.kernels = smr_f32_reduce_config(job->isa)};
  const float *x = (const float *)job->inputs[0]->data + span->offset;
  float *y = (float *)job->outputs[0]->data + span->offset;
  if (s->axis.inner == 1)
    hardmax_row(&e, s->axis.n, x, y);
  else
    hardmax_columns(&e, s->axis.n, span->count, s->axis.inner, x, y);
}

static samara_status hardmax_run(const struct smr_job *job, size_t begin, size_t end,
                                 void *thread_scratch) {
  (void)thread_scratch;
  return smr_axis_run(job, job->state, begin, end, hardmax);
}

static void hardmax_columns_f64(const struct smr_job *job, const struct smr_axis_span *span) {
  const struct softmax_state *s = job->state;
  for (size_t j = span->offset; j < span->offset + span->count; j++)
    hardmax_f64(s->axis.n, s->axis.inner, (const double *)job->inputs[0]->data + j,
                (double *)job->outputs[0]->data + j);
}

static samara_status hardmax_f64_run(const struct smr_job *job, size_t begin, size_t end,
                                     void *thread_scratch) {
  (void)thread_scratch;
  return smr_axis_run(job, job->state, begin, end, hardmax_columns_f64);
}

static samara_status hardmax_prepare(struct smr_job *job) {
  struct softmax_state *s = job->state;
  *s = (struct softmax_state){.axis = smr_axis_of(job->inputs[0], SMR_ATTR(job, softmax, axis)->i)};
  if (SMR_HAS(type_float64) && job->inputs[0]->dtype == SAMARA_FLOAT64) {
    job->run = hardmax_f64_run;
  } else {
    const struct smr_arg_minmax e = {.kernels = smr_f32_reduce_config(job->isa)};
    SMR_TRY(smr_arg_minmax_need(job, &e));
    job->run = hardmax_run;
  }
  job->kernel = "hardmax";
  job->tiles = smr_axis_tiles(&s->axis);
  return smr_arg_minmax_check(job, s->axis.n);
}

SMR_WIDENED_OP_MORE(hardmax, softmax_check, hardmax_prepare, NULL, sizeof(struct softmax_state),
                    SMR_DTYPE_F64)
