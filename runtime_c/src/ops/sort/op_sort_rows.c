// SPDX-License-Identifier: Apache-2.0
// sort_rows: the sorted order of the rows of a matrix, and where a row differs from the one before.
//
// A stable bottom-up merge sort of row numbers. It needs one additional vector and no stack.
#include "base/fp.h"

#include "base/checked.h"
#include "ops/check/check.h"
#include "ops/deadline.h"
#include "ops/table/funcs.h"
#include "simd/half.h"

#include <string.h>

// Negative, zero or positive if row a sorts before, with or after row b. Rows have `width`
// elements.
typedef int (*sort_rows_compare)(const void *x, size_t a, size_t b, size_t width);

struct sort_rows_state {
  sort_rows_compare compare;
  size_t count, width;
};

// NaN sorts last and equals itself; -0 equals 0.
#define SORT_ROWS_COMPARE(name, T, READ, IS_NAN)                                  \
  static int sort_rows_##name(const void *x_, size_t a, size_t b, size_t width) { \
    const char *x = x_;                                                           \
    for (size_t i = 0; i < width; i++) {                                          \
      T s, t;                                                                     \
      memcpy(&s, x + (a * width + i) * sizeof s, sizeof s);                       \
      memcpy(&t, x + (b * width + i) * sizeof t, sizeof t);                       \
      if (READ(s) < READ(t)) return -1;                                           \
      if (READ(s) > READ(t)) return 1;                                            \
      if (IS_NAN(READ(s)) != IS_NAN(READ(t))) return IS_NAN(READ(s)) ? 1 : -1;    \
    }                                                                             \
    return 0;                                                                     \
  }
#define SORT_ROWS_SELF(v) (v)
#define SORT_ROWS_NAN(v) ((v) != (v))
#define SORT_ROWS_NEVER(v) 0
SORT_ROWS_COMPARE(f32, float, SORT_ROWS_SELF, SORT_ROWS_NAN)
SORT_ROWS_COMPARE(f16, uint16_t, smr_f16_to_f32, SORT_ROWS_NAN)
SORT_ROWS_COMPARE(f64, double, SORT_ROWS_SELF, SORT_ROWS_NAN)
SORT_ROWS_COMPARE(i8, int8_t, SORT_ROWS_SELF, SORT_ROWS_NEVER)
SORT_ROWS_COMPARE(u8, uint8_t, SORT_ROWS_SELF, SORT_ROWS_NEVER)
SORT_ROWS_COMPARE(i16, int16_t, SORT_ROWS_SELF, SORT_ROWS_NEVER)
SORT_ROWS_COMPARE(u16, uint16_t, SORT_ROWS_SELF, SORT_ROWS_NEVER)
SORT_ROWS_COMPARE(i32, int32_t, SORT_ROWS_SELF, SORT_ROWS_NEVER)
SORT_ROWS_COMPARE(u32, uint32_t, SORT_ROWS_SELF, SORT_ROWS_NEVER)
SORT_ROWS_COMPARE(i64, int64_t, SORT_ROWS_SELF, SORT_ROWS_NEVER)
SORT_ROWS_COMPARE(u64, uint64_t, SORT_ROWS_SELF, SORT_ROWS_NEVER)
#undef SORT_ROWS_NEVER
#undef SORT_ROWS_NAN
#undef SORT_ROWS_SELF
#undef SORT_ROWS_COMPARE

static sort_rows_compare sort_rows_comparison(uint8_t dtype) {
  switch (dtype) {
    case SAMARA_FLOAT32:
      return sort_rows_f32;
    case SAMARA_FLOAT16:
      return sort_rows_f16;
    case SAMARA_FLOAT64:
      return sort_rows_f64;
    case SAMARA_INT8:
      return sort_rows_i8;
    case SAMARA_INT16:
      return sort_rows_i16;
    case SAMARA_UINT16:
      return sort_rows_u16;
    case SAMARA_INT32:
      return sort_rows_i32;
    case SAMARA_UINT32:
      return sort_rows_u32;
    case SAMARA_INT64:
      return sort_rows_i64;
    case SAMARA_UINT64:
      return sort_rows_u64;
    default:  // uint8, bool
      return sort_rows_u8;
  }
}

enum {
  SORT_ROWS_MORE = SMR_DTYPE_F64 | SMR_DTYPE_I16 | SMR_DTYPE_U16 | SMR_DTYPE_U32 | SMR_DTYPE_U64,
};

static samara_status sort_rows_check(const struct smr_job *job) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "input", SMR_DTYPES_PLAIN | SORT_ROWS_MORE));
  SMR_TRY(smr_expect_dtype(job, job->outputs[0], "the order", SMR_DTYPE_I64));
  return smr_expect_dtype(job, job->outputs[1], "the first ones", SMR_DTYPE_BOOL);
}

static samara_status sort_rows_prepare(struct smr_job *job) {
  struct sort_rows_state *s = job->state;
  const struct smr_tensor *x = job->inputs[0];
  *s = (struct sort_rows_state){.compare = sort_rows_comparison(x->dtype),
                                .count = (size_t)x->dims[0],
                                .width = (size_t)x->dims[1]};
  job->tiles = s->count > 0;
  job->kernel = "merge";
  job->scratch_bytes = s->count * sizeof(int64_t);  // as large as the first output
  return SAMARA_OK;
}

// Merges the runs [first, middle) and [middle, last) of `from` into `to`.
static void sort_rows_merge(const struct sort_rows_state *s, const void *x, const int64_t *from,
                            int64_t *to, size_t first, size_t middle, size_t last) {
  size_t a = first, b = middle;
  for (size_t i = first; i < last; i++) {
    const bool left =
        b == last || (a < middle && s->compare(x, (size_t)from[a], (size_t)from[b], s->width) <= 0);
    to[i] = left ? from[a++] : from[b++];
  }
}

static samara_status sort_rows_run(const struct smr_job *job, size_t begin, size_t end,
                                   void *thread_scratch) {
  (void)thread_scratch;
  if (begin == end) return SAMARA_OK;
  const struct sort_rows_state *s = job->state;
  const void *x = job->inputs[0]->data;
  int64_t *order = job->outputs[0]->data, *from = order, *to = job->scratch;
  uint8_t *first = job->outputs[1]->data;
  struct smr_deadline_watch watch = {.job = job};
  for (size_t i = 0; i < s->count; i++) from[i] = (int64_t)i;
  for (size_t run = 1; run < s->count; run *= 2) {
    for (size_t at = 0; at < s->count; at += 2 * run) {
      const size_t middle = s->count - at < run ? s->count : at + run;
      const size_t last = s->count - at < 2 * run ? s->count : at + 2 * run;
      SMR_TRY(smr_deadline_step(&watch, (last - at) * (s->width + 4)));
      sort_rows_merge(s, x, from, to, at, middle, last);
    }
    int64_t *const done = to;
    to = from;
    from = done;
  }
  if (from != order) memcpy(order, from, s->count * sizeof *order);
  for (size_t i = 0; i < s->count; i++)
    first[i] = i == 0 || s->compare(x, (size_t)order[i - 1], (size_t)order[i], s->width) != 0;
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_sort_rows_funcs = {.check = sort_rows_check,
                                                    .prepare = sort_rows_prepare,
                                                    .run = sort_rows_run,
                                                    .state_bytes = sizeof(struct sort_rows_state),
                                                    .more_dtypes = SORT_ROWS_MORE};
