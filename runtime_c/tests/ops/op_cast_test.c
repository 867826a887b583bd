// SPDX-License-Identifier: Apache-2.0
// cast between all dtypes.
#include "base/fp.h"

#include "op_harness.h"
#include "simd/half.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

static void cast_case(uint8_t from, uint8_t to, size_t n, const void *x, const void *y) {
  struct op_test t;
  op_begin(&t, "cast");
  op_in(&t, from, 1, DIMS((int64_t)n), x);
  op_out(&t, to, 1, DIMS((int64_t)n));
  op_int(&t, "to", to);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, y, n * smr_dtype_bytes(to));
  op_end(&t);
}

SMR_TEST(float_to_integer) {
  const float x[8] = {1.9f, -1.9f, 300, -300, 3e9f, -3e9f, NAN, 1e20f};
  cast_case(SAMARA_FLOAT32, SAMARA_INT8, 8, x,
            (const int8_t[]){1, -1, 127, -128, 127, -128, 0, 127});
  cast_case(SAMARA_FLOAT32, SAMARA_UINT8, 8, x, (const uint8_t[]){1, 0, 255, 0, 255, 0, 0, 255});
  cast_case(SAMARA_FLOAT32, SAMARA_INT32, 8, x,
            (const int32_t[]){1, -1, 300, -300, INT32_MAX, INT32_MIN, 0, INT32_MAX});
  cast_case(SAMARA_FLOAT32, SAMARA_INT64, 8, x,
            (const int64_t[]){1, -1, 300, -300, 3000000000, -3000000000, 0, INT64_MAX});
  cast_case(SAMARA_FLOAT32, SAMARA_BOOL, 8, x, (const uint8_t[]){1, 1, 1, 1, 1, 1, 1, 1});
  cast_case(SAMARA_FLOAT32, SAMARA_BOOL, 2, (const float[]){0, -0.0f}, (const uint8_t[]){0, 0});
}

SMR_TEST(integers) {
  const int64_t x[4] = {-1, 256, INT64_MAX, (int64_t)1 << 53 | 1};
  cast_case(SAMARA_INT64, SAMARA_INT8, 4, x, (const int8_t[]){-1, 0, -1, 1});
  cast_case(SAMARA_INT64, SAMARA_INT32, 4, x, (const int32_t[]){-1, 256, -1, 1});
  cast_case(SAMARA_INT64, SAMARA_FLOAT32, 4, x, (const float[]){-1, 256, 0x1p63f, 0x1p53f});
  cast_case(SAMARA_UINT8, SAMARA_INT32, 2, (const uint8_t[]){200, 3}, (const int32_t[]){200, 3});
  cast_case(SAMARA_INT8, SAMARA_UINT8, 2, (const int8_t[]){-56, 3}, (const uint8_t[]){200, 3});
  cast_case(SAMARA_BOOL, SAMARA_FLOAT32, 2, (const uint8_t[]){0, 1}, (const float[]){0, 1});
  cast_case(SAMARA_INT32, SAMARA_BOOL, 2, (const int32_t[]){0, -7}, (const uint8_t[]){0, 1});
}

SMR_TEST(float16) {
  enum { N = 2100 };
  static uint16_t half[N];
  static float full[N];
  static int32_t whole[N];
  for (int i = 0; i < N; i++) {
    full[i] = (float)(i - 1000);
    half[i] = smr_f32_to_f16(full[i]);
    whole[i] = i - 1000;
  }
  cast_case(SAMARA_FLOAT16, SAMARA_FLOAT32, N, half, full);
  cast_case(SAMARA_FLOAT32, SAMARA_FLOAT16, N, full, half);
  cast_case(SAMARA_FLOAT16, SAMARA_INT32, N, half, whole);
  cast_case(SAMARA_INT32, SAMARA_FLOAT16, N, whole, half);
  cast_case(SAMARA_FLOAT16, SAMARA_FLOAT16, N, half, half);
}

SMR_TEST_MAIN(RUN(float_to_integer); RUN(integers); RUN(float16))
