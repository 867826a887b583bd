// SPDX-License-Identifier: Apache-2.0
// Conversion between dtypes: limits, NaN, every pair of types.
#include "base/fp.h"

#include "kernels/vcast/vcast.h"

#include <samara/samara.h>

#include "harness.h"

static const uint8_t dtypes[] = {SAMARA_FLOAT32, SAMARA_INT8,  SAMARA_UINT8,
                                 SAMARA_INT32,   SAMARA_INT64, SAMARA_BOOL};

SMR_TEST(every_pair) {
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      const smr_vcast_ukernel there = smr_vcast_kernel(dtypes[i], dtypes[j]);
      if (!CHECK(there != NULL)) continue;
      // 0 and 1 mean the same in all types.
      int64_t one[2] = {0, 1}, x[2] = {0}, y[2] = {0}, back[2] = {0};
      smr_vcast_kernel(SAMARA_INT64, dtypes[i])(2, one, x);
      there(2, x, y);
      smr_vcast_kernel(dtypes[j], SAMARA_INT64)(2, y, back);
      CHECK_EQ_INT(back[0], 0);
      CHECK_EQ_INT(back[1], 1);
    }
  CHECK(smr_vcast_kernel(SAMARA_FLOAT16, SAMARA_FLOAT32) == NULL);
  CHECK(smr_vcast_kernel(SAMARA_QINT8, SAMARA_INT8) == NULL);
  CHECK(smr_vcast_kernel(99, SAMARA_INT8) == NULL);
}

SMR_TEST(saturation) {
  const float x[10] = {-0.9f,  127.9f,     128,     -128.9f,  -129,
                       255.9f, 2147483520, 0x1p31f, -0x1p31f, NAN};
  int8_t i8[10];
  smr_vcast_kernel(SAMARA_FLOAT32, SAMARA_INT8)(10, x, i8);
  const int8_t want8[10] = {0, 127, 127, -128, -128, 127, 127, 127, -128, 0};
  CHECK_MEM(i8, want8, sizeof want8);
  uint8_t u8[10];
  smr_vcast_kernel(SAMARA_FLOAT32, SAMARA_UINT8)(10, x, u8);
  const uint8_t wantu[10] = {0, 127, 128, 0, 0, 255, 255, 255, 0, 0};
  CHECK_MEM(u8, wantu, sizeof wantu);
  int32_t i32[10];
  smr_vcast_kernel(SAMARA_FLOAT32, SAMARA_INT32)(10, x, i32);
  const int32_t want32[10] = {0, 127, 128, -128, -129, 255, 2147483520, INT32_MAX, INT32_MIN, 0};
  CHECK_MEM(i32, want32, sizeof want32);
  const float far[3] = {0x1.fffffep62f, 0x1p63f, -0x1p63f};
  int64_t i64[3];
  smr_vcast_kernel(SAMARA_FLOAT32, SAMARA_INT64)(3, far, i64);
  CHECK_EQ_INT(i64[0], 0x7fffff8000000000);
  CHECK_EQ_INT(i64[1], INT64_MAX);
  CHECK_EQ_INT(i64[2], INT64_MIN);
}

SMR_TEST(to_float_rounds_to_even) {
  const int32_t x[3] = {16777217, 16777219, -16777217};
  float y[3];
  smr_vcast_kernel(SAMARA_INT32, SAMARA_FLOAT32)(3, x, y);
  const float want[3] = {16777216, 16777220, -16777216};
  CHECK_MEM(y, want, sizeof want);
}

SMR_TEST_MAIN(RUN(every_pair); RUN(saturation); RUN(to_float_rounds_to_even))
