// SPDX-License-Identifier: Apache-2.0
// argmax and argmin.
#include "base/fp.h"

#include "ops/axis.h"
#include "ops/check.h"
#include "ops/funcs.h"
#include "ops/widen.h"

struct arg_state {
  struct smr_axis axis;
  bool smallest, last;
};

static samara_status arg_check(const struct smr_job *job) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "input", SMR_DTYPES_NUMBER));
  return smr_expect_dtype(job, job->outputs[0], "output", SMR_DTYPE_I64);
}

static samara_status arg_prepare(struct smr_job *job, bool smallest) {
  struct arg_state *s = job->state;
  *s = (struct arg_state){.axis = smr_axis_of(job->inputs[0], smr_op_attr_int(job, "axis")),
                          .smallest = smallest,
                          .last = smr_op_attr_int(job, "select_last") != 0};
  job->kernel = "arg";
  job->tiles = smr_axis_tiles(&s->axis);
  return SAMARA_OK;
}
static samara_status argmax_prepare(struct smr_job *job) { return arg_prepare(job, false); }
static samara_status argmin_prepare(struct smr_job *job) { return arg_prepare(job, true); }

// Index of the best of n elements, `stride` apart. NaN beats everything, and of NaNs as of equal
// elements the first (or last) wins.
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
ARG(f32, float)
ARG(i8, int8_t)
ARG(u8, uint8_t)
ARG(i32, int32_t)
ARG(i64, int64_t)
#undef ARG

static int64_t arg_of(const struct arg_state *s, const struct smr_tensor *x, size_t at) {
  switch (x->dtype) {
    case SAMARA_FLOAT32:
      return arg_f32(s, x->data, at);
    case SAMARA_INT8:
      return arg_i8(s, x->data, at);
    case SAMARA_UINT8:
      return arg_u8(s, x->data, at);
    case SAMARA_INT32:
      return arg_i32(s, x->data, at);
    default:
      return arg_i64(s, x->data, at);
  }
}

static samara_status arg_run(const struct smr_job *job, size_t begin, size_t end,
                             void *thread_scratch) {
  (void)thread_scratch;
  const struct arg_state *s = job->state;
  int64_t *y = job->outputs[0]->data;
  struct smr_axis_span span;
  for (struct smr_axis_walk walk = smr_axis_start(&s->axis, begin, end);
       smr_axis_next(&s->axis, &walk, &span);)
    for (size_t j = 0; j < span.count; j++)
      y[span.group + j] = arg_of(s, job->inputs[0], span.offset + j);
  return SAMARA_OK;
}

SMR_WIDENED_OP(argmax, arg_check, argmax_prepare, arg_run, sizeof(struct arg_state))
SMR_WIDENED_OP(argmin, arg_check, argmin_prepare, arg_run, sizeof(struct arg_state))
