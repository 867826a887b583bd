// SPDX-License-Identifier: Apache-2.0
// Functions of two elements: every pair of int8 values, limits of the wider types, steps.
#include "base/fp.h"

#include "kernels/vbinary/vbinary.h"

#include <samara/samara.h>

#include "harness.h"

#include <math.h>
#include <string.h>

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
      const struct smr_vbinary_kernel kernel = smr_vbinary_kernel(functions[f], SAMARA_INT8);
      smr_vbinary_run(&kernel, 256, &all[i], 0, all, 1, y);
      for (int j = 0; j < 256; j++) CHECK_EQ_INT(y[j], exact(functions[f], all[i], all[j]));
      smr_vbinary_run(&kernel, 256, all, 1, &all[i], 0, y);
      for (int j = 0; j < 256; j++) CHECK_EQ_INT(y[j], exact(functions[f], all[j], all[i]));
    }
}

static void run(enum smr_vbinary f, uint8_t dtype, size_t n, const void *a, const void *b,
                void *y) {
  const struct smr_vbinary_kernel kernel = smr_vbinary_kernel(f, dtype);
  smr_vbinary_run(&kernel, n, a, 1, b, 1, y);
}

static void check_i64(enum smr_vbinary f, int64_t a, int64_t b, int64_t want) {
  int64_t y = 0;
  run(f, SAMARA_INT64, 1, &a, &b, &y);
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
  run(SMR_VBINARY_MOD, SAMARA_FLOAT32, 6, a, b, y);
  const float mod[5] = {1.5f, 0.5f, -0.5f, -1.5f, 0};
  for (int i = 0; i < 5; i++) CHECK(y[i] == mod[i]);
  CHECK(isnan(y[5]));
  run(SMR_VBINARY_FMOD, SAMARA_FLOAT32, 6, a, b, y);
  const float fmods[5] = {1.5f, -1.5f, 1.5f, -1.5f, 0};
  for (int i = 0; i < 5; i++) CHECK(y[i] == fmods[i]);
  uint8_t equal[6];
  run(SMR_VBINARY_EQ, SAMARA_FLOAT32, 6, a, a, equal);
  for (int i = 0; i < 6; i++) CHECK_EQ_INT(equal[i], i < 5);
}

// Values that a signed or a 53-bit detour would change.
SMR_TEST(unsigned_64_bits) {
  const uint64_t high = (uint64_t)1 << 63;
  static const struct {
    enum smr_vbinary function;
    uint64_t a, b, want;
  } cases[] = {
      {SMR_VBINARY_DIV, UINT64_MAX, 2, INT64_MAX},
      {SMR_VBINARY_DIV, 1, UINT64_MAX, 0},
      {SMR_VBINARY_MOD, UINT64_MAX, 10, 5},
      {SMR_VBINARY_FMOD, UINT64_MAX, 10, 5},
      {SMR_VBINARY_MIN, UINT64_MAX, 1, 1},
      {SMR_VBINARY_MAX, UINT64_MAX - 1, UINT64_MAX, UINT64_MAX},
      {SMR_VBINARY_SHR, UINT64_MAX, 63, 1},
      {SMR_VBINARY_SHR, UINT64_MAX, 64, 0},
      {SMR_VBINARY_SHR, UINT64_MAX, UINT64_MAX, 0},
      {SMR_VBINARY_POW, 3, UINT64_MAX, 12297829382473034411u},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint64_t y;
    run(cases[i].function, SAMARA_UINT64, 1, &cases[i].a, &cases[i].b, &y);
    CHECK(y == cases[i].want);
  }
  uint8_t less;
  run(SMR_VBINARY_LT, SAMARA_UINT64, 1, &high, &(const uint64_t){1}, &less);
  CHECK_EQ_INT(less, 0);
  uint8_t narrow[2];
  run(SMR_VBINARY_SHR, SAMARA_UINT8, 2, (const uint8_t[]){200, 200}, (const uint8_t[]){8, 7},
      narrow);
  CHECK_EQ_INT(narrow[0], 0);
  CHECK_EQ_INT(narrow[1], 1);
  uint16_t product;
  run(SMR_VBINARY_MUL, SAMARA_UINT16, 1, (const uint16_t[]){65535}, (const uint16_t[]){65535},
      &product);
  CHECK_EQ_INT(product, 1);
}

SMR_TEST(doubles) {
  const double a[4] = {NAN, 1, -5.5, INFINITY}, b[4] = {1, NAN, 2, 3};
  double y[4];
  run(SMR_VBINARY_MIN, SAMARA_FLOAT64, 4, a, b, y);
  CHECK(isnan(y[0]) && isnan(y[1]) && y[2] == -5.5 && y[3] == 3);
  run(SMR_VBINARY_MAX, SAMARA_FLOAT64, 4, a, b, y);
  CHECK(isnan(y[0]) && isnan(y[1]) && y[2] == 2 && y[3] == INFINITY);
  run(SMR_VBINARY_MOD, SAMARA_FLOAT64, 4, a, b, y);
  CHECK(y[2] == 0.5);
  run(SMR_VBINARY_PRELU, SAMARA_FLOAT64, 4, a, b, y);
  CHECK(isnan(y[0]) && y[1] == 1 && y[2] == -11 && y[3] == INFINITY);
}

// Every length around a block, in place; nothing beyond it changes.
SMR_TEST(lengths) {
  enum { MOST = 2 * SMR_VBINARY_BLOCK + 3 };
  const struct smr_vbinary_kernel add = smr_vbinary_kernel(SMR_VBINARY_ADD, SAMARA_INT64);
  int64_t a[MOST], b[MOST];
  for (size_t n = 0; n <= MOST; n++) {
    for (size_t i = 0; i < MOST; i++) {
      a[i] = -(int64_t)i;
      b[i] = (int64_t)i * 1000003;
    }
    smr_vbinary_run(&add, n, a, 1, b, 1, a);
    for (size_t i = 0; i < MOST; i++) {
      CHECK(a[i] == (i < n ? (int64_t)i * 1000002 : -(int64_t)i));
    }
  }
}

SMR_TEST(what_there_is) {
  CHECK(smr_vbinary_kernel(SMR_VBINARY_ADD, SAMARA_FLOAT32).blocks == NULL);
  CHECK(smr_vbinary_kernel(SMR_VBINARY_ADD, SAMARA_FLOAT16).blocks == NULL);
  CHECK(smr_vbinary_kernel(SMR_VBINARY_ADD, SAMARA_BOOL).blocks == NULL);
  CHECK(smr_vbinary_kernel(SMR_VBINARY_ADD, 200).blocks == NULL);
  CHECK(smr_vbinary_kernel(SMR_VBINARY_XOR, SAMARA_BOOL).blocks != NULL);
}

SMR_TEST(zeros) {
  CHECK(smr_vbinary_has_zero(SAMARA_INT64, 3, (const int64_t[]){1, 2, 0}));
  CHECK(!smr_vbinary_has_zero(SAMARA_INT64, 2, (const int64_t[]){1, (int64_t)1 << 32}));
  CHECK(smr_vbinary_has_zero(SAMARA_INT32, 2, (const int32_t[]){0, 2}));
  CHECK(!smr_vbinary_has_zero(SAMARA_UINT8, 2, (const uint8_t[]){128, 1}));
  CHECK(!smr_vbinary_has_zero(SAMARA_INT8, 0, NULL));
}

SMR_TEST_MAIN(RUN(every_pair_of_int8); RUN(limits_of_int64); RUN(floats); RUN(unsigned_64_bits);
              RUN(doubles); RUN(lengths); RUN(what_there_is); RUN(zeros))
