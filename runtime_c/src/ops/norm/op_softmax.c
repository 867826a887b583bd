// SPDX-License-Identifier: Apache-2.0
// softmax, log_softmax and hardmax along an axis.
#include "base/fp.h"

#include "kernels/f32_softmax/f32_softmax.h"
#include "ops/axis.h"
#include "ops/check/check.h"
#include "ops/reduce/arg_minmax.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"
#include "simd/common.h"

#include <math.h>
#include <string.h>

enum {
  SOFTMAX_ROWS = SMR_HAS(f32_softmax_row) || SMR_HAS(f32_softmax_log_row),
  SOFTMAX_COLUMNS = SMR_HAS(f32_softmax_columns) || SMR_HAS(f32_softmax_log_columns),
};

struct softmax_state {
  struct smr_axis axis;
  const struct smr_f32_softmax *kernels;
  size_t log;
};

static samara_status softmax_check(const struct smr_job *job) {
  return smr_expect_one_dtype(job, SMR_DTYPES_EVERY_FLOAT);
}

// Whether the axis is the last, which has nothing behind it.
static bool softmax_is_last(const struct smr_job *job) {
  const int64_t axis = SMR_ATTR(job, softmax, axis)->i;
  return axis == -1 || axis + 1 == (int64_t)job->inputs[0]->rank;
}

static samara_status softmax_prepare_any(struct smr_job *job, size_t log) {
  struct softmax_state *s = job->state;
  s->axis = smr_axis_of(job->inputs[0], SMR_ATTR(job, softmax, axis)->i);
  s->kernels = smr_f32_softmax_config(job->isa);
  s->log = log;
  const bool wide = SMR_HAS(type_float64) && job->inputs[0]->dtype == SAMARA_FLOAT64;
  job->kernel = wide ? "softmax_f64" : s->kernels->name;
  // Rows have an axis of columns behind them where that may be longer than 1.
  if (!wide && (job->dims_vary || s->axis.inner == 1))
    SMR_NEED_KERNEL(job, f32_softmax_row, log, s->kernels->row[log]);
  if (!wide && (s->axis.inner != 1 || (job->dims_vary && !softmax_is_last(job))))
    SMR_NEED_KERNEL(job, f32_softmax_row, 2 + log, s->kernels->columns[log]);
  job->tiles = smr_axis_tiles(&s->axis);
  return SAMARA_OK;
}

static samara_status softmax_prepare(struct smr_job *job) { return softmax_prepare_any(job, 0); }
static samara_status log_softmax_prepare(struct smr_job *job) {
  return softmax_prepare_any(job, 1);
}

// One group of doubles, `stride` apart: shifted by the largest, so that nothing overflows.
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

static samara_status softmax_run(const struct smr_job *job, size_t begin, size_t end,
                                 void *thread_scratch) {
  (void)thread_scratch;
  const struct softmax_state *s = job->state;
  const float *x = job->inputs[0]->data;
  float *y = job->outputs[0]->data;
  struct smr_axis_span span;
  for (struct smr_axis_walk walk = smr_axis_start(&s->axis, begin, end);
       smr_axis_next(&s->axis, &walk, &span);) {
    if (SMR_HAS(type_float64) && job->inputs[0]->dtype == SAMARA_FLOAT64)
      for (size_t j = span.offset; j < span.offset + span.count; j++)
        softmax_f64(s, (const double *)job->inputs[0]->data + j,
                    (double *)job->outputs[0]->data + j);
    else if (SOFTMAX_ROWS && s->axis.inner == 1)
      s->kernels->row[s->log](s->axis.n, x + span.offset, y + span.offset);
    else if (SOFTMAX_COLUMNS)
      s->kernels->columns[s->log](s->axis.n, span.count, s->axis.inner, x + span.offset,
                                  y + span.offset);
  }
  return SAMARA_OK;
}

SMR_WIDENED_OP_MORE(softmax, softmax_check, softmax_prepare, softmax_run,
                    sizeof(struct softmax_state), SMR_DTYPE_F64)
SMR_WIDENED_OP_MORE(log_softmax, softmax_check, log_softmax_prepare, softmax_run,
                    sizeof(struct softmax_state), SMR_DTYPE_F64)

static samara_status hardmax_prepare(struct smr_job *job) {
  struct softmax_state *s = job->state;
  *s = (struct softmax_state){.axis = smr_axis_of(job->inputs[0], SMR_ATTR(job, softmax, axis)->i)};
  if (job->inputs[0]->dtype == SAMARA_FLOAT32) SMR_TRY(smr_arg_minmax_need(job, false));
  job->kernel = "hardmax";
  job->tiles = smr_axis_tiles(&s->axis);
  return smr_arg_minmax_check(job, ((const struct softmax_state *)job->state)->axis.n);
}

// One group of doubles, `stride` apart: 1 at the first of the largest elements (NaN beats all).
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

static samara_status hardmax_run(const struct smr_job *job, size_t begin, size_t end,
                                 void *thread_scratch) {
  (void)thread_scratch;
  const struct softmax_state *s = job->state;
  const struct smr_arg_minmax e = {.kernels = smr_f32_reduce_config(job->isa)};
  const float *x = job->inputs[0]->data;
  float *y = job->outputs[0]->data;
  struct smr_axis_span span;
  for (struct smr_axis_walk walk = smr_axis_start(&s->axis, begin, end);
       smr_axis_next(&s->axis, &walk, &span);) {
    if (SMR_HAS(type_float64) && job->inputs[0]->dtype == SAMARA_FLOAT64)
      for (size_t j = span.offset; j < span.offset + span.count; j++)
        hardmax_f64(s->axis.n, s->axis.inner, (const double *)job->inputs[0]->data + j,
                    (double *)job->outputs[0]->data + j);
    else if (s->axis.inner == 1)
      hardmax_row(&e, s->axis.n, x + span.offset, y + span.offset);
    else
      hardmax_columns(&e, s->axis.n, span.count, s->axis.inner, x + span.offset, y + span.offset);
  }
  return SAMARA_OK;
}

SMR_WIDENED_OP_MORE(hardmax, softmax_check, hardmax_prepare, hardmax_run,
                    sizeof(struct softmax_state), SMR_DTYPE_F64)
