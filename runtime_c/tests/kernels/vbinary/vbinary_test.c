// SPDX-License-Identifier: Apache-2.0
// Functions of two elements: every pair of int8 values, limits of the wider types, steps.
#include "base/fp.h"

#include "kernels/vbinary/vbinary.h"

#include <samara/samara.h>

#include "harness.h"

static int exact(enum smr_vbinary f, int a, int b) {
  switch (f) {
    case SMR_VBINARY_ADD:
      return (int8_t)(a + b);
    case SMR_VBINARY_SUB:
      return (int8_t)(a - b);
    case SMR_VBINARY_MUL:
      return (int8_t)(a * b);
    case SMR_VBINARY_DIV:
      return b == 0 ? 0 : (int8_t)(a / b);
    case SMR_VBINARY_FMOD:
      return b == 0 ? 0 : a % b;
    case SMR_VBINARY_MOD:
      return b == 0 ? 0 : (a % b != 0 && (a < 0) != (b < 0)) ? a % b + b : a % b;
    case SMR_VBINARY_MIN:
      return a < b ? a : b;
    case SMR_VBINARY_MAX:
      return a > b ? a : b;
    case SMR_VBINARY_EQ:
      return a == b;
    case SMR_VBINARY_LT:
      return a < b;
    case SMR_VBINARY_LE:
      return a <= b;
    case SMR_VBINARY_BIT_AND:
      return a & b;
    case SMR_VBINARY_BIT_OR:
      return a | b;
    case SMR_VBINARY_BIT_XOR:
      return a ^ b;
    case SMR_VBINARY_SHL:
      return b < 0 || b > 7 ? 0 : (int8_t)(uint8_t)((unsigned)a << b);
    default:
      return b < 0 || b > 7 ? (a < 0 ? -1 : 0) : a >> b;  // SHR
  }
}

SMR_TEST(every_pair_of_int8) {
  static const enum smr_vbinary functions[] = {
      SMR_VBINARY_ADD,    SMR_VBINARY_SUB,     SMR_VBINARY_MUL, SMR_VBINARY_DIV,
      SMR_VBINARY_FMOD,   SMR_VBINARY_MOD,     SMR_VBINARY_MIN, SMR_VBINARY_MAX,
      SMR_VBINARY_EQ,     SMR_VBINARY_LT,      SMR_VBINARY_LE,  SMR_VBINARY_BIT_AND,
      SMR_VBINARY_BIT_OR, SMR_VBINARY_BIT_XOR, SMR_VBINARY_SHL, SMR_VBINARY_SHR};
  int8_t all[256], y[256];
  for (int i = 0; i < 256; i++) all[i] = (int8_t)(i - 128);
  for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++)
    for (int i = 0; i < 256; i++) {
      const smr_vbinary_ukernel kernel = smr_vbinary_kernel(functions[f], SAMARA_INT8);
      kernel(256, &all[i], 0, all, 1, y);
      for (int j = 0; j < 256; j++) CHECK_EQ_INT(y[j], exact(functions[f], all[i], all[j]));
      kernel(256, all, 1, &all[i], 0, y);
      for (int j = 0; j < 256; j++) CHECK_EQ_INT(y[j], exact(functions[f], all[j], all[i]));
    }
}

static void check_i64(enum smr_vbinary f, int64_t a, int64_t b, int64_t want) {
  int64_t y = 0;
  smr_vbinary_kernel(f, SAMARA_INT64)(1, &a, 1, &b, 1, &y);
  CHECK_EQ_INT(y, want);
}

SMR_TEST(limits_of_int64) {
  check_i64(SMR_VBINARY_ADD, INT64_MAX, 1, INT64_MIN);
  check_i64(SMR_VBINARY_MUL, INT64_MIN, -1, INT64_MIN);
  check_i64(SMR_VBINARY_DIV, INT64_MIN, -1, INT64_MIN);
  check_i64(SMR_VBINARY_MOD, INT64_MIN, -1, 0);
  check_i64(SMR_VBINARY_MOD, -7, 5, 3);
  check_i64(SMR_VBINARY_FMOD, -7, 5, -2);
  check_i64(SMR_VBINARY_SHL, 1, 63, INT64_MIN);
  check_i64(SMR_VBINARY_SHL, 1, 64, 0);
  check_i64(SMR_VBINARY_SHR, INT64_MIN, 63, -1);
  check_i64(SMR_VBINARY_SHR, INT64_MIN, -1, -1);
  check_i64(SMR_VBINARY_POW, 3, 39, 4052555153018976267);
  check_i64(SMR_VBINARY_POW, 2, 64, 0);
  check_i64(SMR_VBINARY_POW, 0, 0, 1);
  check_i64(SMR_VBINARY_POW, 2, -1, 0);
  check_i64(SMR_VBINARY_POW, -1, -3, -1);
  check_i64(SMR_VBINARY_POW, -1, -4, 1);
  check_i64(SMR_VBINARY_POW, 1, INT64_MIN, 1);
}

SMR_TEST(floats) {
  const float a[6] = {5.5f, -5.5f, 5.5f, -5.5f, 4, NAN}, b[6] = {2, 2, -2, -2, 2, 2};
  float y[6];
  smr_vbinary_kernel(SMR_VBINARY_MOD, SAMARA_FLOAT32)(6, a, 1, b, 1, y);
  const float mod[5] = {1.5f, 0.5f, -0.5f, -1.5f, 0};
  for (int i = 0; i < 5; i++) CHECK(y[i] == mod[i]);
  CHECK(isnan(y[5]));
  smr_vbinary_kernel(SMR_VBINARY_FMOD, SAMARA_FLOAT32)(6, a, 1, b, 1, y);
  const float fmods[5] = {1.5f, -1.5f, 1.5f, -1.5f, 0};
  for (int i = 0; i < 5; i++) CHECK(y[i] == fmods[i]);
  uint8_t equal[6];
  smr_vbinary_kernel(SMR_VBINARY_EQ, SAMARA_FLOAT32)(6, a, 1, a, 1, equal);
  for (int i = 0; i < 6; i++) CHECK_EQ_INT(equal[i], i < 5);
}

SMR_TEST(what_there_is) {
  CHECK(smr_vbinary_kernel(SMR_VBINARY_ADD, SAMARA_FLOAT32) == NULL);
  CHECK(smr_vbinary_kernel(SMR_VBINARY_ADD, SAMARA_FLOAT16) == NULL);
  CHECK(smr_vbinary_kernel(SMR_VBINARY_ADD, SAMARA_BOOL) == NULL);
  CHECK(smr_vbinary_kernel(SMR_VBINARY_ADD, 200) == NULL);
  CHECK(smr_vbinary_kernel(SMR_VBINARY_XOR, SAMARA_BOOL) != NULL);
}

SMR_TEST(zeros) {
  CHECK(smr_vbinary_has_zero(SAMARA_INT64, 3, (const int64_t[]){1, 2, 0}, 1));
  CHECK(!smr_vbinary_has_zero(SAMARA_INT64, 2, (const int64_t[]){1, (int64_t)1 << 32}, 1));
  CHECK(smr_vbinary_has_zero(SAMARA_INT32, 2, (const int32_t[]){0, 2}, 1));
  CHECK(!smr_vbinary_has_zero(SAMARA_UINT8, 2, (const uint8_t[]){128, 1}, 1));
  CHECK(!smr_vbinary_has_zero(SAMARA_INT8, 0, NULL, 1));
}

SMR_TEST_MAIN(RUN(every_pair_of_int8); RUN(limits_of_int64); RUN(floats); RUN(what_there_is);
              RUN(zeros))
