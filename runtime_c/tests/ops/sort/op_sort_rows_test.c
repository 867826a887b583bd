// SPDX-License-Identifier: Apache-2.0
// sort_rows: stable orders, NaN and signed zeros, every dtype, long inputs.
#include "base/fp.h"

#include "ops/op_harness.h"

#include <math.h>

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

static void rows_case(uint8_t dtype, int64_t count, int64_t width, const void *x,
                      const int64_t *order, const uint8_t *first) {
  struct op_test t;
  op_begin(&t, "sort_rows");
  op_in(&t, dtype, 2, DIMS(count, width), x);
  op_out(&t, SAMARA_INT64, 1, DIMS(count));
  op_out(&t, SAMARA_BOOL, 1, DIMS(count));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    op_expect_bytes(&t, 0, order, (size_t)count * sizeof *order);
    op_expect_bytes(&t, 1, first, (size_t)count);
  }
  op_end(&t);
}

SMR_TEST(orders) {
  rows_case(SAMARA_FLOAT32, 5, 1, (const float[]){3, 1, 3, -1, 1}, (const int64_t[]){3, 1, 4, 0, 2},
            (const uint8_t[]){1, 1, 0, 1, 0});
  rows_case(SAMARA_FLOAT32, 5, 2, (const float[]){NAN, 0, 0, NAN, -0.0f, NAN, 0, 5, NAN, -1},
            (const int64_t[]){3, 1, 2, 4, 0}, (const uint8_t[]){1, 1, 0, 1, 1});
  rows_case(SAMARA_INT32, 3, 0, NULL, (const int64_t[]){0, 1, 2}, (const uint8_t[]){1, 0, 0});
}

// 2, 0, 1, 2 with the sign or the size that tells signed from unsigned in the third.
#define DTYPE_CASE(DTYPE, T, third, third_is_last)                                           \
  rows_case(DTYPE, 4, 1, (const T[]){2, 0, third, 2},                                        \
            (third_is_last) ? (const int64_t[]){1, 0, 3, 2} : (const int64_t[]){2, 1, 0, 3}, \
            (third_is_last) ? (const uint8_t[]){1, 1, 0, 1} : (const uint8_t[]){1, 1, 1, 0})

SMR_TEST(dtypes) {
  DTYPE_CASE(SAMARA_FLOAT32, float, -1, false);
  DTYPE_CASE(SAMARA_FLOAT64, double, -1e-300, false);
  DTYPE_CASE(SAMARA_INT8, int8_t, -1, false);
  DTYPE_CASE(SAMARA_UINT8, uint8_t, 255, true);
  DTYPE_CASE(SAMARA_INT16, int16_t, -1, false);
  DTYPE_CASE(SAMARA_UINT16, uint16_t, 0xffff, true);
  DTYPE_CASE(SAMARA_INT32, int32_t, INT32_MIN, false);
  DTYPE_CASE(SAMARA_UINT32, uint32_t, UINT32_MAX, true);
  DTYPE_CASE(SAMARA_INT64, int64_t, INT64_MIN, false);
  DTYPE_CASE(SAMARA_UINT64, uint64_t, UINT64_MAX, true);
  rows_case(SAMARA_BOOL, 3, 1, (const uint8_t[]){1, 0, 1}, (const int64_t[]){1, 0, 2},
            (const uint8_t[]){1, 1, 0});
  // float16: 1, -2, NaN, 1
  rows_case(SAMARA_FLOAT16, 4, 1, (const uint16_t[]){0x3c00, 0xc000, 0x7e00, 0x3c00},
            (const int64_t[]){1, 0, 3, 2}, (const uint8_t[]){1, 1, 0, 1});
}

SMR_TEST(long_input) {
  enum { N = 1000 };
  static int64_t x[N], order[N];
  static uint8_t first[N];
  for (int i = 0; i < N; i++) x[i] = i % 10;
  for (int i = 0; i < N; i++) {
    order[i] = i % 100 * 10 + i / 100;
    first[i] = i % 100 == 0;
  }
  rows_case(SAMARA_INT64, N, 1, x, order, first);
}

SMR_TEST_MAIN(RUN(orders); RUN(dtypes); RUN(long_input))
