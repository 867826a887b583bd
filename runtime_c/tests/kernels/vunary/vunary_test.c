// SPDX-License-Identifier: Apache-2.0
// Functions of one element: every int8 value, limits of the wider types.
#include "base/fp.h"

#include "kernels/vunary/vunary.h"

#include <samara/samara.h>

#include "harness.h"

SMR_TEST(every_int8) {
  int8_t all[256], y[256];
  for (int i = 0; i < 256; i++) all[i] = (int8_t)(i - 128);
  smr_vunary_kernel(SMR_VUNARY_NEG, SAMARA_INT8)(256, all, y);
  for (int i = 0; i < 256; i++) CHECK_EQ_INT(y[i], (int8_t)-all[i]);
  smr_vunary_kernel(SMR_VUNARY_ABS, SAMARA_INT8)(256, all, y);
  for (int i = 0; i < 256; i++) CHECK_EQ_INT(y[i], (int8_t)(all[i] < 0 ? -all[i] : all[i]));
  smr_vunary_kernel(SMR_VUNARY_SIGN, SAMARA_INT8)(256, all, y);
  for (int i = 0; i < 256; i++) CHECK_EQ_INT(y[i], (all[i] > 0) - (all[i] < 0));
  smr_vunary_kernel(SMR_VUNARY_BIT_NOT, SAMARA_INT8)(256, all, y);
  for (int i = 0; i < 256; i++) CHECK_EQ_INT(y[i], ~all[i]);
  smr_vunary_kernel(SMR_VUNARY_RELU, SAMARA_INT8)(256, all, all);
  for (int i = 0; i < 256; i++) CHECK_EQ_INT(all[i], i < 128 ? 0 : i - 128);
}

SMR_TEST(wider) {
  int64_t x = INT64_MIN, y;
  smr_vunary_kernel(SMR_VUNARY_ABS, SAMARA_INT64)(1, &x, &y);
  CHECK_EQ_INT(y, INT64_MIN);
  smr_vunary_kernel(SMR_VUNARY_BIT_NOT, SAMARA_INT64)(1, &x, &y);
  CHECK_EQ_INT(y, INT64_MAX);
  int32_t a = INT32_MIN, b;
  smr_vunary_kernel(SMR_VUNARY_NEG, SAMARA_INT32)(1, &a, &b);
  CHECK_EQ_INT(b, INT32_MIN);
  smr_vunary_kernel(SMR_VUNARY_SIGN, SAMARA_INT32)(1, &a, &b);
  CHECK_EQ_INT(b, -1);
  uint8_t u = 200, v;
  smr_vunary_kernel(SMR_VUNARY_RELU, SAMARA_UINT8)(1, &u, &v);
  CHECK_EQ_INT(v, 200);
  smr_vunary_kernel(SMR_VUNARY_NOT, SAMARA_BOOL)(1, &u, &v);
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
    smr_vunary_kernel(cases[i].function, SAMARA_FLOAT32)(4, x, y);
    CHECK_MEM(y, cases[i].want, 4);
  }
}

SMR_TEST(what_there_is) {
  CHECK(smr_vunary_kernel(SMR_VUNARY_NEG, SAMARA_FLOAT32) == NULL);
  CHECK(smr_vunary_kernel(SMR_VUNARY_NEG, SAMARA_BOOL) == NULL);
  CHECK(smr_vunary_kernel(SMR_VUNARY_NOT, SAMARA_INT8) == NULL);
  CHECK(smr_vunary_kernel(SMR_VUNARY_NEG, 99) == NULL);
}

SMR_TEST_MAIN(RUN(every_int8); RUN(wider); RUN(infinities); RUN(what_there_is))
