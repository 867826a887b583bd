// SPDX-License-Identifier: Apache-2.0
// Functions of one element: every int8 value, limits of the wider types.
#include "base/fp.h"

#include "kernels/vunary/vunary.h"

#include <samara/samara.h>

#include "harness.h"

#include <math.h>
#include <string.h>

static void run(enum smr_vunary f, uint8_t dtype, size_t n, const void *x, void *y) {
  const struct smr_vunary_kernel kernel = smr_vunary_kernel(f, dtype);
  smr_vunary_run(&kernel, n, x, y);
}

SMR_TEST(every_int8) {
  int8_t all[256], y[256];
  for (int i = 0; i < 256; i++) all[i] = (int8_t)(i - 128);
  run(SMR_VUNARY_NEG, SAMARA_INT8, 256, all, y);
  for (int i = 0; i < 256; i++) CHECK_EQ_INT(y[i], (int8_t)-all[i]);
  run(SMR_VUNARY_ABS, SAMARA_INT8, 256, all, y);
  for (int i = 0; i < 256; i++) CHECK_EQ_INT(y[i], (int8_t)(all[i] < 0 ? -all[i] : all[i]));
  run(SMR_VUNARY_SIGN, SAMARA_INT8, 256, all, y);
  for (int i = 0; i < 256; i++) CHECK_EQ_INT(y[i], (all[i] > 0) - (all[i] < 0));
  run(SMR_VUNARY_BIT_NOT, SAMARA_INT8, 256, all, y);
  for (int i = 0; i < 256; i++) CHECK_EQ_INT(y[i], ~all[i]);
  run(SMR_VUNARY_RELU, SAMARA_INT8, 256, all, all);
  for (int i = 0; i < 256; i++) CHECK_EQ_INT(all[i], i < 128 ? 0 : i - 128);
}

SMR_TEST(wider) {
  int64_t x = INT64_MIN, y;
  run(SMR_VUNARY_ABS, SAMARA_INT64, 1, &x, &y);
  CHECK_EQ_INT(y, INT64_MIN);
  run(SMR_VUNARY_BIT_NOT, SAMARA_INT64, 1, &x, &y);
  CHECK_EQ_INT(y, INT64_MAX);
  int32_t a = INT32_MIN, b;
  run(SMR_VUNARY_NEG, SAMARA_INT32, 1, &a, &b);
  CHECK_EQ_INT(b, INT32_MIN);
  run(SMR_VUNARY_SIGN, SAMARA_INT32, 1, &a, &b);
  CHECK_EQ_INT(b, -1);
  uint8_t u = 200, v;
  run(SMR_VUNARY_RELU, SAMARA_UINT8, 1, &u, &v);
  CHECK_EQ_INT(v, 200);
  run(SMR_VUNARY_NOT, SAMARA_BOOL, 1, &u, &v);
  CHECK_EQ_INT(v, 0);
}

SMR_TEST(infinities) {
  const float x[4] = {NAN, INFINITY, -INFINITY, 1};
  static const struct {
    enum smr_vunary function;
    uint8_t want[4];
  } cases[] = {{SMR_VUNARY_IS_NAN, {1, 0, 0, 0}},
               {SMR_VUNARY_IS_INF, {0, 1, 1, 0}},
               {SMR_VUNARY_IS_INF_POSITIVE, {0, 1, 0, 0}},
               {SMR_VUNARY_IS_INF_NEGATIVE, {0, 0, 1, 0}}};
  for (int i = 0; i < 4; i++) {
    uint8_t y[4];
    run(cases[i].function, SAMARA_FLOAT32, 4, x, y);
    CHECK_MEM(y, cases[i].want, 4);
  }
}

SMR_TEST(infinities_of_doubles) {
  const double x[4] = {NAN, INFINITY, -INFINITY, 1e300};
  uint8_t y[4];
  run(SMR_VUNARY_IS_INF, SAMARA_FLOAT64, 4, x, y);
  CHECK_MEM(y, ((const uint8_t[]){0, 1, 1, 0}), 4);
  run(SMR_VUNARY_IS_INF_NONE, SAMARA_FLOAT64, 4, x, y);
  CHECK_MEM(y, ((const uint8_t[]){0, 0, 0, 0}), 4);
}

// Every length around a block; nothing beyond it changes.
SMR_TEST(lengths) {
  enum { MOST = 2 * SMR_VUNARY_BLOCK + 3 };
  uint64_t x[MOST];
  for (size_t n = 0; n <= MOST; n++) {
    for (size_t i = 0; i < MOST; i++) x[i] = UINT64_MAX - i;
    run(SMR_VUNARY_BIT_NOT, SAMARA_UINT64, n, x, x);
    for (size_t i = 0; i < MOST; i++) CHECK(x[i] == (i < n ? i : UINT64_MAX - i));
  }
}

SMR_TEST(what_there_is) {
  CHECK(smr_vunary_kernel(SMR_VUNARY_NEG, SAMARA_FLOAT32).blocks == NULL);
  CHECK(smr_vunary_kernel(SMR_VUNARY_NEG, SAMARA_BOOL).blocks == NULL);
  CHECK(smr_vunary_kernel(SMR_VUNARY_NOT, SAMARA_INT8).blocks == NULL);
  CHECK(smr_vunary_kernel(SMR_VUNARY_NEG, 99).blocks == NULL);
}

SMR_TEST_MAIN(RUN(every_int8); RUN(wider); RUN(infinities); RUN(infinities_of_doubles);
              RUN(lengths); RUN(what_there_is))
