// SPDX-License-Identifier: Apache-2.0
// cumsum and cumprod: running sums and products along an axis.
#include "base/fp.h"

#include "ops/axis.h"
#include "ops/check/check.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"
#include "simd/common.h"

struct cumsum_state;
struct cumsum_kernels {
  void (*row)(const struct cumsum_state *s, const void *x, void *y, size_t at);
  void (*columns)(const struct cumsum_state *s, const void *x, void *y, size_t at, size_t count);
};

struct cumsum_state {
  struct smr_axis axis;  // first member
  bool exclusive, reverse;
  const struct cumsum_kernels *kernels;
};

enum {
  CUMSUM_MORE = SMR_DTYPE_F64 | SMR_DTYPE_U32 | SMR_DTYPE_U64,
  CUMSUM_DTYPES = SMR_DTYPES_FLOAT | SMR_DTYPE_I32 | SMR_DTYPE_I64 | CUMSUM_MORE,
};

static samara_status cumsum_check(const struct smr_job *job) {
  return smr_expect_one_dtype(job, CUMSUM_DTYPES);
}

// Floats are added (or multiplied) in double and rounded at every store; integers wrap. `columns`
// advances several neighbouring groups at once.
#define CUMSUM(name, T, TOTAL, start, op)                                                        \
  static void cumsum_##name(const struct cumsum_state *s, const void *x_, void *y_, size_t at) { \
    const T *x = (const T *)x_ + at;                                                             \
    T *y = (T *)y_ + at;                                                                         \
    TOTAL total = start;                                                                         \
    for (size_t i = 0; i < s->axis.n; i++) {                                                     \
      const size_t place = s->reverse ? s->axis.n - 1 - i : i;                                   \
      const TOTAL before = total;                                                                \
      total = total op(TOTAL) x[place];                                                          \
      y[place] = (T)(s->exclusive ? before : total);                                             \
    }                                                                                            \
  }                                                                                              \
  SMR_VECTORIZED static void cumsum_columns_##name(const struct cumsum_state *s, const void *x_, \
                                                   void *y_, size_t at, size_t count) {          \
    TOTAL totals[SMR_AXIS_COLUMNS];                                                              \
    for (size_t j = 0; j < count; j++) totals[j] = start;                                        \
    for (size_t i = 0; i < s->axis.n; i++) {                                                     \
      const size_t row = (s->reverse ? s->axis.n - 1 - i : i) * s->axis.inner;                   \
      const T *x = (const T *)x_ + at + row;                                                     \
      T *y = (T *)y_ + at + row;                                                                 \
      if (s->exclusive) {                                                                        \
        for (size_t j = 0; j < count; j++) {                                                     \
          const TOTAL before = totals[j];                                                        \
          totals[j] = before op(TOTAL) x[j];                                                     \
          y[j] = (T)before;                                                                      \
        }                                                                                        \
      } else {                                                                                   \
        for (size_t j = 0; j < count; j++) {                                                     \
          totals[j] = totals[j] op(TOTAL) x[j];                                                  \
          y[j] = (T)totals[j];                                                                   \
        }                                                                                        \
      }                                                                                          \
    }                                                                                            \
  }
CUMSUM(sum_f32, float, double, 0, +)
CUMSUM(sum_f64, double, double, 0, +)
CUMSUM(sum_32, uint32_t, uint32_t, 0, +)
CUMSUM(sum_64, uint64_t, uint64_t, 0, +)
CUMSUM(prod_f32, float, double, 1, *)
CUMSUM(prod_f64, double, double, 1, *)
CUMSUM(prod_32, uint32_t, uint32_t, 1, *)
CUMSUM(prod_64, uint64_t, uint64_t, 1, *)
#undef CUMSUM

#define CUMSUM_KERNELS(name) {cumsum_##name, cumsum_columns_##name}
static const struct cumsum_kernels cumsum_f32_kernels[] = {CUMSUM_KERNELS(sum_f32),
                                                           CUMSUM_KERNELS(prod_f32)};
static const struct cumsum_kernels cumsum_f64_kernels[] = {CUMSUM_KERNELS(sum_f64),
                                                           CUMSUM_KERNELS(prod_f64)};
static const struct cumsum_kernels cumsum_32_kernels[] = {CUMSUM_KERNELS(sum_32),
                                                          CUMSUM_KERNELS(prod_32)};
static const struct cumsum_kernels cumsum_64_kernels[] = {CUMSUM_KERNELS(sum_64),
                                                          CUMSUM_KERNELS(prod_64)};
#undef CUMSUM_KERNELS

static samara_status cumsum_prepare_any(struct smr_job *job, bool product) {
  struct cumsum_state *s = job->state;
  *s = (struct cumsum_state){.axis = smr_axis_of(job->inputs[0], SMR_ATTR(job, cumsum, axis)->i),
                             .exclusive = SMR_ATTR(job, cumsum, exclusive)->i != 0,
                             .reverse = SMR_ATTR(job, cumsum, reverse)->i != 0};
  switch (job->inputs[0]->dtype) {
    case SAMARA_FLOAT32:
      s->kernels = &cumsum_f32_kernels[product];
      break;
    case SAMARA_FLOAT64:
      s->kernels = &cumsum_f64_kernels[product];
      break;
    case SAMARA_INT32:
    case SAMARA_UINT32:
      s->kernels = &cumsum_32_kernels[product];
      break;
    default:
      s->kernels = &cumsum_64_kernels[product];
  }
  job->kernel = "cumsum";
  job->tiles = smr_axis_tiles(&s->axis);
  return SAMARA_OK;
}
static samara_status cumsum_prepare(struct smr_job *job) { return cumsum_prepare_any(job, false); }
static samara_status cumprod_prepare(struct smr_job *job) { return cumsum_prepare_any(job, true); }

static void cumsum(const struct smr_job *job, const struct smr_axis_span *span) {
  const struct cumsum_state *s = job->state;
  const void *x = job->inputs[0]->data;
  void *y = job->outputs[0]->data;
  if (s->axis.inner == 1)
    for (size_t j = 0; j < span->count; j++) s->kernels->row(s, x, y, span->offset + j);
  else
    s->kernels->columns(s, x, y, span->offset, span->count);
}

static samara_status cumsum_run(const struct smr_job *job, size_t begin, size_t end,
                                void *thread_scratch) {
  (void)thread_scratch;
  return smr_axis_run(job, job->state, begin, end, cumsum);
}

SMR_WIDENED_OP_MORE(cumsum, cumsum_check, cumsum_prepare, cumsum_run, sizeof(struct cumsum_state),
                    CUMSUM_MORE)
SMR_WIDENED_OP_MORE(cumprod, cumsum_check, cumprod_prepare, cumsum_run, sizeof(struct cumsum_state),
                    CUMSUM_MORE)
