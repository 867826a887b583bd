// SPDX-License-Identifier: Apache-2.0
// Conversion through 8 bytes: every pair, each result rounded once, limits, NaN, halves of bytes.
#include "base/fp.h"

#include "kernels/vcast/vcast_wide.h"

#include <samara/samara.h>

#include "harness.h"
#include "ops/op.h"
#include "simd/half.h"

static void convert(uint8_t from, uint8_t to, size_t n, const void *x, void *y) {
  double wide[16];
  const struct smr_vcast_steps steps = smr_vcast_steps(from, to);
  REQUIRE(CHECK(steps.widen != NULL && steps.narrow != NULL && n <= 16));
  steps.widen(n, x, wide);
  steps.narrow(n, wide, y);
}

SMR_TEST(every_pair) {
  for (uint8_t from = 1; from <= SAMARA_UINT4; from++)
    for (uint8_t to = 1; to <= SAMARA_UINT4; to++) {
      if (from == SAMARA_QINT8 || to == SAMARA_QINT8) continue;
      // 0 and 1 mean the same in all types.
      const int64_t one[2] = {0, 1};
      int64_t x[2] = {0}, y[2] = {0}, back[2] = {7, 7};
      convert(SAMARA_INT64, from, 2, one, x);
      convert(from, to, 2, x, y);
      convert(to, SAMARA_INT64, 2, y, back);
      CHECK_EQ_INT(back[0], 0);
      CHECK_EQ_INT(back[1], 1);
    }
  CHECK(smr_vcast_steps(SAMARA_QINT8, SAMARA_INT8).widen == NULL);
  CHECK(smr_vcast_steps(SAMARA_INT8, SAMARA_QINT8).narrow == NULL);
  CHECK(smr_vcast_steps(0, SAMARA_INT8).widen == NULL);
  CHECK(smr_vcast_steps(SAMARA_INT8, 17).narrow == NULL);
}

SMR_TEST(integers_round_once_to_floats) {
  // 2^60 + 2^52 lies between two bfloat16; a float32 or float64 on the way would lose the last bit.
  const int64_t middle = (INT64_C(1) << 60) + (INT64_C(1) << 52);
  const int64_t x[4] = {middle, middle + 1, -middle, -middle - 1};
  uint16_t brief[4];
  convert(SAMARA_INT64, SAMARA_BFLOAT16, 4, x, brief);
  CHECK_EQ_INT(brief[0], 0x5d80);
  CHECK_EQ_INT(brief[1], 0x5d81);
  CHECK_EQ_INT(brief[2], 0xdd80);
  CHECK_EQ_INT(brief[3], 0xdd81);
  // 2^53 + 2^29 + 1: float64 would round it to the middle of two float32.
  const int64_t far = (INT64_C(1) << 53) + (INT64_C(1) << 29) + 1;
  const uint64_t top[2] = {(UINT64_C(1) << 63) + (UINT64_C(1) << 39) + 1, UINT64_MAX};
  float single[2];
  convert(SAMARA_INT64, SAMARA_FLOAT32, 1, &far, single);
  CHECK(single[0] == 0x1.000002p53f);
  convert(SAMARA_UINT64, SAMARA_FLOAT32, 2, top, single);
  CHECK(single[0] == 0x1.000002p63f);
  CHECK(single[1] == 0x1p64f);
  // What float64 itself takes is nearest, ties to even.
  const int64_t odd[2] = {(INT64_C(1) << 53) + 1, (INT64_C(1) << 53) + 3};
  double both[2];
  convert(SAMARA_INT64, SAMARA_FLOAT64, 2, odd, both);
  CHECK(both[0] == 0x1p53 && both[1] == 0x1p53 + 4);
  convert(SAMARA_UINT64, SAMARA_FLOAT64, 2, top, both);
  CHECK(both[0] == 0x1.000001p63 && both[1] == 0x1p64);
}

SMR_TEST(floats_round_once) {
  const double x[9] = {1 + 0x1p-8, 1 + 0x1p-8 + 0x1p-50, 1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-50,
                       65520,      65519.99999,          0x1p-25,     -1e-320,
                       NAN};
  uint16_t brief[9], half[9];
  convert(SAMARA_FLOAT64, SAMARA_BFLOAT16, 9, x, brief);
  CHECK_EQ_INT(brief[0], 0x3f80);
  CHECK_EQ_INT(brief[1], 0x3f81);
  CHECK_EQ_INT(brief[7], 0x8000);
  CHECK((brief[8] & 0x7fff) > 0x7f80);
  convert(SAMARA_FLOAT64, SAMARA_FLOAT16, 9, x, half);
  CHECK_EQ_INT(half[2], 0x3c00);
  CHECK_EQ_INT(half[3], 0x3c01);
  CHECK_EQ_INT(half[4], 0x7c00);
  CHECK_EQ_INT(half[5], 0x7bff);
  CHECK_EQ_INT(half[6], 0);
  CHECK_EQ_INT(half[7], 0x8000);
  CHECK((half[8] & 0x7fff) > 0x7c00);
  // The last is just below the middle between the largest bfloat16 and what would follow it.
  const double large[3] = {1e308, -1e308, 0x1.fefffffffp127};
  convert(SAMARA_FLOAT64, SAMARA_BFLOAT16, 3, large, brief);
  CHECK_EQ_INT(brief[0], 0x7f80);
  CHECK_EQ_INT(brief[1], 0xff80);
  CHECK_EQ_INT(brief[2], 0x7f7f);
}

SMR_TEST(floats_saturate) {
  const double x[8] = {-1.9, 0x1p16, 4294967295.5, 0x1p64, -0x1p70, NAN, 9.3e18, -32769};
  int16_t i16[8];
  uint16_t u16[8];
  uint32_t u32[8];
  uint64_t u64[8];
  convert(SAMARA_FLOAT64, SAMARA_INT16, 8, x, i16);
  convert(SAMARA_FLOAT64, SAMARA_UINT16, 8, x, u16);
  convert(SAMARA_FLOAT64, SAMARA_UINT32, 8, x, u32);
  convert(SAMARA_FLOAT64, SAMARA_UINT64, 8, x, u64);
  CHECK_MEM(i16, ((const int16_t[]){-1, 32767, 32767, 32767, -32768, 0, 32767, -32768}),
            sizeof i16);
  CHECK_MEM(u16, ((const uint16_t[]){0, 65535, 65535, 65535, 0, 0, 65535, 0}), sizeof u16);
  CHECK_MEM(u32, ((const uint32_t[]){0, 65536, UINT32_MAX, UINT32_MAX, 0, 0, UINT32_MAX, 0}),
            sizeof u32);
  CHECK(u64[2] == 4294967295u && u64[3] == UINT64_MAX && u64[4] == 0 && u64[5] == 0);
  CHECK(u64[6] == UINT64_C(9300000000000000000));
}

SMR_TEST(two_to_a_byte) {
  const float x[5] = {-9, -1.5f, 7, 8, NAN};
  const uint8_t bits[3] = {0xf7, 0x87, 0x00};
  uint8_t y[3] = {0xa5, 0xa5, 0xa5};
  convert(SAMARA_FLOAT32, SAMARA_INT4, 5, x, y);
  CHECK_MEM(y, bits, 3);
  memset(y, 0xa5, sizeof y);
  convert(SAMARA_FLOAT32, SAMARA_UINT4, 5, x, y);
  CHECK_MEM(y, bits, 3);
  int8_t i8[5];
  convert(SAMARA_INT4, SAMARA_INT8, 5, bits, i8);
  CHECK_MEM(i8, ((const int8_t[]){7, -1, 7, -8, 0}), 5);
  float f32[5];
  convert(SAMARA_UINT4, SAMARA_FLOAT32, 5, bits, f32);
  CHECK_MEM(f32, ((const float[]){7, 15, 7, 8, 0}), sizeof f32);
  convert(SAMARA_INT4, SAMARA_FLOAT32, 5, bits, f32);
  CHECK_MEM(f32, ((const float[]){7, -1, 7, -8, 0}), sizeof f32);
  const int64_t wide[3] = {-1, 31, 1000};
  convert(SAMARA_INT64, SAMARA_UINT4, 3, wide, y);
  CHECK_MEM(y, ((const uint8_t[]){0xff, 0x08}), 2);
}

SMR_TEST(bfloat16) {
  const float x[6] = {1.00390625f, 1.01171875f, INFINITY, 3.4e38f, -0.0f, 1e-40f};
  const uint16_t want[6] = {0x3f80, 0x3f82, 0x7f80, 0x7f80, 0x8000, 0x0001};
  uint16_t y[6];
  smr_vcast_kernel(SAMARA_FLOAT32, SAMARA_BFLOAT16)(6, x, y);
  CHECK_MEM(y, want, sizeof want);
  const uint32_t payload = 0x7f800001u;  // a NaN whose payload lies in the lower half alone
  float nan;
  memcpy(&nan, &payload, sizeof nan);
  CHECK_EQ_INT(smr_f32_to_bf16(nan), 0x7fc0);
  float back[6];
  smr_vcast_kernel(SAMARA_BFLOAT16, SAMARA_FLOAT32)(6, want, back);
  for (int i = 0; i < 6; i++) CHECK_EQ_INT(smr_f32_to_bf16(back[i]), want[i]);
}

SMR_TEST_MAIN(RUN(every_pair); RUN(integers_round_once_to_floats); RUN(floats_round_once);
              RUN(floats_saturate); RUN(two_to_a_byte); RUN(bfloat16))
