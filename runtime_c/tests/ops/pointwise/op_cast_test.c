// SPDX-License-Identifier: Apache-2.0
// cast between all dtypes.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "simd/half.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

static void cast_case(uint8_t from, uint8_t to, size_t n, const void *x, const void *y) {
  struct op_test t;
  op_begin(&t, "cast");
  op_in(&t, from, 1, DIMS((int64_t)n), x);
  op_out(&t, to, 1, DIMS((int64_t)n));
  op_int(&t, "to", to);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    op_expect_bytes(&t, 0, y, smr_packed_bytes(to, n * smr_dtype_bytes(to)));
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

// More than a tile, and an odd number: bytes that two elements share belong to one tile.
SMR_TEST(two_to_a_byte) {
  enum { N = 2 * 8192 + 1025 };
  static int8_t whole[N];
  static float full[N];
  static uint8_t packed[N / 2 + 1];
  for (int i = 0; i < N; i++) {
    whole[i] = (int8_t)(i * 7 % 16 - 8);
    full[i] = whole[i];
    packed[i / 2] |= (uint8_t)((whole[i] & 15) << i % 2 * 4);
  }
  cast_case(SAMARA_INT8, SAMARA_INT4, N, whole, packed);
  cast_case(SAMARA_INT4, SAMARA_INT8, N, packed, whole);
  cast_case(SAMARA_INT4, SAMARA_FLOAT32, N, packed, full);
  cast_case(SAMARA_FLOAT32, SAMARA_UINT4, N, full, packed);
  cast_case(SAMARA_INT4, SAMARA_UINT4, N, packed, packed);
}

SMR_TEST(later_dtypes) {
  cast_case(SAMARA_INT16, SAMARA_UINT16, 2, (const int16_t[]){-1, 3}, (const uint16_t[]){65535, 3});
  cast_case(SAMARA_UINT64, SAMARA_INT64, 1, (const uint64_t[]){UINT64_MAX}, (const int64_t[]){-1});
  cast_case(SAMARA_UINT32, SAMARA_FLOAT64, 1, (const uint32_t[]){UINT32_MAX},
            (const double[]){4294967295.0});
  cast_case(SAMARA_FLOAT64, SAMARA_FLOAT32, 2, (const double[]){1 + 0x1p-24, 1 + 0x1p-24 + 0x1p-50},
            (const float[]){1, 0x1.000002p0f});
  cast_case(SAMARA_FLOAT64, SAMARA_BOOL, 3, (const double[]){0, -0.0, 1e-320},
            (const uint8_t[]){0, 0, 1});
  cast_case(SAMARA_FLOAT16, SAMARA_BFLOAT16, 2, (const uint16_t[]){0x3c00, 0x7c00},
            (const uint16_t[]){0x3f80, 0x7f80});
  cast_case(SAMARA_BFLOAT16, SAMARA_FLOAT16, 2, (const uint16_t[]){0x3f80, 0x7f7f},
            (const uint16_t[]){0x3c00, 0x7c00});
  cast_case(SAMARA_BFLOAT16, SAMARA_FLOAT32, 2, (const uint16_t[]){0x3f80, 0xc040},
            (const float[]){1, -3});
}

SMR_TEST_MAIN(RUN(float_to_integer); RUN(integers); RUN(float16); RUN(two_to_a_byte);
              RUN(later_dtypes))
