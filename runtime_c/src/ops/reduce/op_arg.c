// SPDX-License-Identifier: Apache-2.0
// argmax and argmin.
#include "base/fp.h"

#include "ops/axis.h"
#include "ops/check/check.h"
#include "ops/reduce/arg_minmax.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"

struct arg_state {
  struct smr_axis axis;  // first member
  bool smallest, last;
  struct smr_arg_minmax minmax;  // the same request, for float32
};

static samara_status arg_check(const struct smr_job *job) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "input", SMR_DTYPES_EVERY_NUMBER));
  return smr_expect_dtype(job, job->outputs[0], "output", SMR_DTYPE_I64);
}

static int64_t arg_f32(const struct arg_state *s, const void *data, size_t at) {
  return (int64_t)smr_arg_minmax_row(&s->minmax, s->axis.n, (const float *)data + at);
}

// Index of the best of n elements, `stride` apart. NaN counts as best. Among NaNs, and among equal
// elements, the first (or last) wins.
#define ARG(name, T)                                                                  \
  static int64_t arg_##name(const struct arg_state *s, const void *data, size_t at) { \
    const T *x = (const T *)data + at;                                                \
    const size_t n = s->axis.n, stride = s->axis.inner;                               \
    size_t best = 0;                                                                  \
    T champion = x[0];                                                                \
    for (size_t i = 1; i < n; i++) {                                                  \
      const T v = x[i * stride];                                                      \
      const bool v_nan = v != v, c_nan = champion != champion;                        \
      const bool better = s->smallest ? v < champion : v > champion;                  \
      const bool equal = v == champion || (v_nan && c_nan);                           \
      if ((v_nan && !c_nan) || (better && !c_nan) || (s->last && equal)) {            \
        best = i;                                                                     \
        champion = v;                                                                 \
      }                                                                               \
    }                                                                                 \
    return (int64_t)best;                                                             \
  }
ARG(f64, double)
ARG(i8, int8_t)
ARG(u8, uint8_t)
ARG(i16, int16_t)
ARG(u16, uint16_t)
ARG(i32, int32_t)
ARG(u32, uint32_t)
ARG(i64, int64_t)
ARG(u64, uint64_t)
#undef ARG

typedef int64_t (*arg_function)(const struct arg_state *s, const void *data, size_t at);
#define ARG_IN(type, name) SMR_HAS(type_##type) ? arg_##name : NULL
static const arg_function arg_functions[] = {
    [SAMARA_FLOAT32] = ARG_IN(float32, f32), [SAMARA_FLOAT64] = ARG_IN(float64, f64),
    [SAMARA_INT8] = ARG_IN(int8, i8),        [SAMARA_UINT8] = ARG_IN(uint8, u8),
    [SAMARA_INT16] = ARG_IN(int16, i16),     [SAMARA_UINT16] = ARG_IN(uint16, u16),
    [SAMARA_INT32] = ARG_IN(int32, i32),     [SAMARA_UINT32] = ARG_IN(uint32, u32),
    [SAMARA_INT64] = ARG_IN(int64, i64),     [SAMARA_UINT64] = ARG_IN(uint64, u64),
};
#undef ARG_IN

static void arg_groups(const struct smr_job *job, const struct smr_axis_span *span) {
  const struct smr_tensor *x = job->inputs[0];
  const arg_function of = arg_functions[x->dtype];
  int64_t *y = (int64_t *)job->outputs[0]->data + span->group;
  for (size_t j = 0; j < span->count; j++) y[j] = of(job->state, x->data, span->offset + j);
}

static samara_status arg_run(const struct smr_job *job, size_t begin, size_t end,
                             void *thread_scratch) {
  (void)thread_scratch;
  return smr_axis_run(job, job->state, begin, end, arg_groups);
}

// float32: several neighbouring groups at once.
static void arg_columns(const struct smr_job *job, const struct smr_axis_span *span) {
  const struct arg_state *s = job->state;
  int64_t *y = (int64_t *)job->outputs[0]->data + span->group;
  uint32_t index[SMR_AXIS_COLUMNS];
  smr_arg_minmax_columns(&s->minmax, s->axis.n, span->count, s->axis.inner,
                         (const float *)job->inputs[0]->data + span->offset, index);
  for (size_t j = 0; j < span->count; j++) y[j] = index[j];
}

static samara_status arg_columns_run(const struct smr_job *job, size_t begin, size_t end,
                                     void *thread_scratch) {
  (void)thread_scratch;
  return smr_axis_run(job, job->state, begin, end, arg_columns);
}

static samara_status arg_prepare(struct smr_job *job, bool smallest) {
  struct arg_state *s = job->state;
  *s = (struct arg_state){.axis = smr_axis_of(job->inputs[0], SMR_ATTR(job, argmax, axis)->i),
                          .smallest = smallest,
                          .last = SMR_ATTR(job, argmax, select_last)->i != 0};
  s->minmax = (struct smr_arg_minmax){smr_f32_reduce_config(job->isa), smallest, s->last};
  job->run = arg_run;
  if (job->inputs[0]->dtype == SAMARA_FLOAT32) {
    SMR_TRY(smr_arg_minmax_need(job, &s->minmax));
    if (SMR_HAS(type_float32) && s->axis.inner != 1) job->run = arg_columns_run;
  }
  job->kernel = "arg";
  job->tiles = smr_axis_tiles(&s->axis);
  return smr_arg_minmax_check(job, s->axis.n);
}
static samara_status argmax_prepare(struct smr_job *job) { return arg_prepare(job, false); }
static samara_status argmin_prepare(struct smr_job *job) { return arg_prepare(job, true); }

SMR_WIDENED_OP_MORE(argmax, arg_check, argmax_prepare, NULL, sizeof(struct arg_state),
                    SMR_DTYPES_MORE_NUMBER)
SMR_WIDENED_OP_MORE(argmin, arg_check, argmin_prepare, NULL, sizeof(struct arg_state),
                    SMR_DTYPES_MORE_NUMBER)
