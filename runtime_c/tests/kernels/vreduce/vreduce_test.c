// SPDX-License-Identifier: Apache-2.0
// Sums, products and extremes: limits of every dtype, rows and columns, NaN, means.
#include "base/fp.h"

#include "kernels/vreduce/vreduce.h"

#include <samara/samara.h>

#include "harness.h"

#include <math.h>

// Fold `n` elements into one and store it at y.
static void fold(enum smr_vreduce_op op, uint8_t dtype, size_t n, const void *x, uint64_t divisor,
                 void *y) {
  union smr_vreduce_total total = smr_vreduce_start(op, dtype);
  smr_vreduce_kernel(op, dtype)(n, 1, 1, x, &total);
  smr_vreduce_store(dtype, total, divisor, y, 0);
}

SMR_TEST(limits) {
  int8_t i8;
  fold(SMR_VREDUCE_MAX, SAMARA_INT8, 3, (const int8_t[]){-5, -128, -7}, 0, &i8);
  CHECK_EQ_INT(i8, -5);
  fold(SMR_VREDUCE_MAX, SAMARA_INT8, 0, NULL, 0, &i8);
  CHECK_EQ_INT(i8, -128);
  fold(SMR_VREDUCE_MIN, SAMARA_INT8, 0, NULL, 0, &i8);
  CHECK_EQ_INT(i8, 127);
  fold(SMR_VREDUCE_SUM, SAMARA_INT8, 2, (const int8_t[]){127, 1}, 0, &i8);
  CHECK_EQ_INT(i8, -128);
  fold(SMR_VREDUCE_SUM, SAMARA_INT8, 2, (const int8_t[]){-4, -3}, 2, &i8);
  CHECK_EQ_INT(i8, -3);
  int16_t i16;
  fold(SMR_VREDUCE_MIN, SAMARA_INT16, 0, NULL, 0, &i16);
  CHECK_EQ_INT(i16, INT16_MAX);
  fold(SMR_VREDUCE_MIN, SAMARA_INT16, 2, (const int16_t[]){-300, 300}, 0, &i16);
  CHECK_EQ_INT(i16, -300);
  uint16_t u16;
  fold(SMR_VREDUCE_MIN, SAMARA_UINT16, 0, NULL, 0, &u16);
  CHECK_EQ_INT(u16, UINT16_MAX);
  fold(SMR_VREDUCE_PROD, SAMARA_UINT16, 2, (const uint16_t[]){65535, 65535}, 0, &u16);
  CHECK_EQ_INT(u16, 1);
  int32_t i32;
  fold(SMR_VREDUCE_MAX, SAMARA_INT32, 0, NULL, 0, &i32);
  CHECK_EQ_INT(i32, INT32_MIN);
  uint32_t u32;
  fold(SMR_VREDUCE_SUM, SAMARA_UINT32, 2, (const uint32_t[]){UINT32_MAX, UINT32_MAX}, 2, &u32);
  CHECK(u32 == UINT32_MAX);  // the sum is one of 64 bits
  int64_t i64;
  fold(SMR_VREDUCE_MIN, SAMARA_INT64, 0, NULL, 0, &i64);
  CHECK(i64 == INT64_MAX);
  fold(SMR_VREDUCE_SUM, SAMARA_INT64, 2, (const int64_t[]){INT64_MIN, 1}, 3, &i64);
  CHECK(i64 == INT64_MIN / 3 + (INT64_MIN % 3 + 1) / 3);
  uint64_t u64;
  fold(SMR_VREDUCE_MAX, SAMARA_UINT64, 2, (const uint64_t[]){1, UINT64_MAX}, 0, &u64);
  CHECK(u64 == UINT64_MAX);
  fold(SMR_VREDUCE_MIN, SAMARA_UINT64, 2, (const uint64_t[]){UINT64_MAX, 1}, 0, &u64);
  CHECK(u64 == 1);
  fold(SMR_VREDUCE_SUM, SAMARA_UINT64, 1, (const uint64_t[]){UINT64_MAX}, 2, &u64);
  CHECK(u64 == INT64_MAX);
  uint8_t b;
  fold(SMR_VREDUCE_MAX, SAMARA_BOOL, 2, (const uint8_t[]){0, 8}, 0, &b);
  CHECK_EQ_INT(b, 1);
  fold(SMR_VREDUCE_MIN, SAMARA_BOOL, 0, NULL, 0, &b);
  CHECK_EQ_INT(b, 1);
  fold(SMR_VREDUCE_MAX, SAMARA_BOOL, 0, NULL, 0, &b);
  CHECK_EQ_INT(b, 0);
}

SMR_TEST(doubles) {
  double y;
  fold(SMR_VREDUCE_MAX, SAMARA_FLOAT64, 3, (const double[]){1, NAN, 2}, 0, &y);
  CHECK(isnan(y));
  fold(SMR_VREDUCE_MIN, SAMARA_FLOAT64, 3, (const double[]){1, 3, NAN}, 0, &y);
  CHECK(isnan(y));
  fold(SMR_VREDUCE_MIN, SAMARA_FLOAT64, 0, NULL, 0, &y);
  CHECK(y == INFINITY);
  fold(SMR_VREDUCE_SUM, SAMARA_FLOAT64, 3, (const double[]){1, 2, 4}, 2, &y);
  CHECK(y == 3.5);
  fold(SMR_VREDUCE_PROD, SAMARA_FLOAT64, 2, (const double[]){1.5, 3}, 0, &y);
  CHECK(y == 4.5);
}

SMR_TEST(columns) {
  const int32_t x[3][5] = {{1, 2, 3, 4, 99}, {10, -20, 30, -40, 99}, {5, 5, 5, 5, 99}};
  const int32_t want[4] = {16, -13, 38, -31};
  union smr_vreduce_total totals[4];
  int32_t y[4];
  for (size_t j = 0; j < 4; j++) totals[j] = smr_vreduce_start(SMR_VREDUCE_SUM, SAMARA_INT32);
  smr_vreduce_kernel(SMR_VREDUCE_SUM, SAMARA_INT32)(3, 5, 4, x, totals);
  for (size_t j = 0; j < 4; j++) smr_vreduce_store(SAMARA_INT32, totals[j], 0, y, j);
  CHECK_MEM(y, want, sizeof want);
}

SMR_TEST(what_there_is) {
  CHECK(smr_vreduce_kernel(SMR_VREDUCE_SUM, SAMARA_FLOAT32) == NULL);
  CHECK(smr_vreduce_kernel(SMR_VREDUCE_SUM, SAMARA_BOOL) == NULL);
  CHECK(smr_vreduce_kernel(SMR_VREDUCE_SUM, 99) == NULL);
}

// Adjacent elements go as vectors: every length against one at a time.
SMR_TEST(every_length) {
  static const enum smr_vreduce_op ops[] = {SMR_VREDUCE_SUM, SMR_VREDUCE_MAX, SMR_VREDUCE_MIN};
  _Alignas(8) uint8_t x[300 * 8];
  for (size_t i = 0; i < sizeof x; i++) x[i] = (uint8_t)(i * i * 7 + i * 31 + 5);
  static const struct {
    uint8_t dtype;
    size_t bytes;
  } dtypes[] = {{SAMARA_INT8, 1},   {SAMARA_UINT8, 1},  {SAMARA_INT16, 2},
                {SAMARA_UINT16, 2}, {SAMARA_INT32, 4},  {SAMARA_UINT32, 4},
                {SAMARA_INT64, 8},  {SAMARA_UINT64, 8}, {SAMARA_BOOL, 1}};
  for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
    for (size_t o = dtypes[d].dtype == SAMARA_BOOL; o < 3; o++) {
      union smr_vreduce_total want = smr_vreduce_start(ops[o], dtypes[d].dtype);
      const smr_vreduce_ukernel kernel = smr_vreduce_kernel(ops[o], dtypes[d].dtype);
      for (size_t n = 0; n <= 300; n++) {
        union smr_vreduce_total all = smr_vreduce_start(ops[o], dtypes[d].dtype);
        kernel(n, 1, 1, x, &all);
        CHECK(all.u == want.u);
        // A stride of 2 is not dense: the plain loop takes the next one.
        if (n < 300) kernel(1, 2, 1, x + n * dtypes[d].bytes, &want);
      }
    }
}

SMR_TEST_MAIN(RUN(every_length); RUN(limits); RUN(doubles); RUN(columns); RUN(what_there_is))
