// SPDX-License-Identifier: Apache-2.0
// cumsum and cumprod: exclusive, reverse, every axis.
#include "base/fp.h"

#include "ops/op_harness.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

static void running_case(const char *op, uint8_t dtype, const void *x, int64_t axis, int exclusive,
                         int reverse, const void *want) {
  struct op_test t;
  op_begin(&t, op);
  op_in(&t, dtype, 2, DIMS(2, 3), x);
  op_out(&t, dtype, 2, DIMS(2, 3));
  op_int(&t, "axis", axis);
  op_int(&t, "exclusive", exclusive);
  op_int(&t, "reverse", reverse);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, want, t.out[0].size_bytes);
  op_end(&t);
}

static void cumsum_case(uint8_t dtype, const void *x, int64_t axis, int exclusive, int reverse,
                        const void *want) {
  running_case("cumsum", dtype, x, axis, exclusive, reverse, want);
}

SMR_TEST(products) {
  const double x[6] = {1, 2, 3, 4, 5, 6};
  running_case("cumprod", SAMARA_FLOAT64, x, 1, 0, 0, (const double[]){1, 2, 6, 4, 20, 120});
  running_case("cumprod", SAMARA_FLOAT64, x, 1, 1, 1, (const double[]){6, 3, 1, 30, 6, 1});
  const uint64_t high = (uint64_t)1 << 63, y[6] = {high, 1, 3, 3, 2, 0};
  running_case("cumprod", SAMARA_UINT64, y, 0, 0, 0, (const uint64_t[]){high, 1, 3, high, 2, 0});
}

SMR_TEST(directions) {
  const float x[6] = {1, 2, 3, 4, 5, 6};
  cumsum_case(SAMARA_FLOAT32, x, 1, 0, 0, (const float[]){1, 3, 6, 4, 9, 15});
  cumsum_case(SAMARA_FLOAT32, x, 1, 1, 0, (const float[]){0, 1, 3, 0, 4, 9});
  cumsum_case(SAMARA_FLOAT32, x, 1, 0, 1, (const float[]){6, 5, 3, 15, 11, 6});
  cumsum_case(SAMARA_FLOAT32, x, 1, 1, 1, (const float[]){5, 3, 0, 11, 6, 0});
  cumsum_case(SAMARA_FLOAT32, x, -2, 0, 0, (const float[]){1, 2, 3, 5, 7, 9});
}

SMR_TEST(integers_wrap) {
  const int32_t x[6] = {INT32_MAX, 1, 1, INT32_MIN, -1, 0};
  cumsum_case(
      SAMARA_INT32, x, 1, 0, 0,
      (const int32_t[]){INT32_MAX, INT32_MIN, INT32_MIN + 1, INT32_MIN, INT32_MAX, INT32_MAX});
  const int64_t y[6] = {INT64_MAX, 1, 0, 1, 2, 3};
  cumsum_case(SAMARA_INT64, y, 1, 0, 0,
              (const int64_t[]){INT64_MAX, INT64_MIN, INT64_MIN, 1, 3, 6});
}

SMR_TEST(many_tiles) {
  enum { N = 9000, M = 3 };
  static float x[N * M];
  for (int i = 0; i < N * M; i++) x[i] = 0.1f;
  struct op_test t;
  op_begin(&t, "cumsum");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(M, N), x);
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(M, N));
  op_int(&t, "axis", 1);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    CHECK_EQ_INT(t.tiles, M);
    const float *y = (const float *)t.out[0].data;
    for (int i = 0; i < N * M; i++)
      CHECK(y[i] == (float)((double)0.1f * (i % N + 1)) ||
            fabs((double)y[i] - 0.1 * (i % N + 1)) < 1e-4);
  }
  op_end(&t);
}

SMR_TEST_MAIN(RUN(products); RUN(directions); RUN(integers_wrap); RUN(many_tiles))
