// SPDX-License-Identifier: Apache-2.0
// cumsum: running sums along an axis.
#include "base/fp.h"

#include "ops/axis.h"
#include "ops/check.h"
#include "ops/funcs.h"
#include "ops/widen.h"

struct cumsum_state {
  struct smr_axis axis;
  bool exclusive, reverse;
};

static samara_status cumsum_check(const struct smr_job *job) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "input",
                           SMR_DTYPES_FLOAT | SMR_DTYPE_I32 | SMR_DTYPE_I64));
  return smr_expect_same_dtype(job, job->inputs[0], job->outputs[0], "input and output");
}

static samara_status cumsum_prepare(struct smr_job *job) {
  struct cumsum_state *s = job->state;
  *s = (struct cumsum_state){.axis = smr_axis_of(job->inputs[0], smr_op_attr_int(job, "axis")),
                             .exclusive = smr_op_attr_int(job, "exclusive") != 0,
                             .reverse = smr_op_attr_int(job, "reverse") != 0};
  job->kernel = "cumsum";
  job->tiles = smr_axis_tiles(&s->axis);
  return SAMARA_OK;
}

// Floats add up in double and are rounded at every store, integers wrap.
#define CUMSUM(name, T, TOTAL)                                                                   \
  static void cumsum_##name(const struct cumsum_state *s, const void *x_, void *y_, size_t at) { \
    const T *x = (const T *)x_ + at;                                                             \
    T *y = (T *)y_ + at;                                                                         \
    TOTAL total = 0;                                                                             \
    for (size_t i = 0; i < s->axis.n; i++) {                                                     \
      const size_t place = (s->reverse ? s->axis.n - 1 - i : i) * s->axis.inner;                 \
      const TOTAL before = total;                                                                \
      total += (TOTAL)x[place];                                                                  \
      y[place] = (T)(s->exclusive ? before : total);                                             \
    }                                                                                            \
  }
CUMSUM(f32, float, double)
CUMSUM(i32, int32_t, uint32_t)
CUMSUM(i64, int64_t, uint64_t)
#undef CUMSUM

static samara_status cumsum_run(const struct smr_job *job, size_t begin, size_t end,
                                void *thread_scratch) {
  (void)thread_scratch;
  const struct cumsum_state *s = job->state;
  const uint8_t dtype = job->inputs[0]->dtype;
  const void *x = job->inputs[0]->data;
  void *y = job->outputs[0]->data;
  struct smr_axis_span span;
  for (struct smr_axis_walk walk = smr_axis_start(&s->axis, begin, end);
       smr_axis_next(&s->axis, &walk, &span);) {
    for (size_t j = 0; j < span.count; j++) {
      if (dtype == SAMARA_FLOAT32)
        cumsum_f32(s, x, y, span.offset + j);
      else if (dtype == SAMARA_INT32)
        cumsum_i32(s, x, y, span.offset + j);
      else
        cumsum_i64(s, x, y, span.offset + j);
    }
  }
  return SAMARA_OK;
}

SMR_WIDENED_OP(cumsum, cumsum_check, cumsum_prepare, cumsum_run, sizeof(struct cumsum_state))
