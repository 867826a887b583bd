// SPDX-License-Identifier: Apache-2.0
// Tests reading outputs of every type, and refusals.
#include "base/fp.h"

#include "media/answer_elements.h"

#include <math.h>

#include "harness.h"
#include "media/answer_data.h"

static const struct smr_answer_outputs no_outputs = {NULL, 0};

static float load_one(samara_dtype dtype, const void *data, size_t bytes, float scale,
                      int32_t zero) {
  const samara_tensor t = {.data = (void *)(uintptr_t)data,
                           .size_bytes = bytes,
                           .rank = 0,
                           .dtype = dtype,
                           .scale = scale,
                           .zero_point = zero};
  float y = NAN;
  smr_answer_load(&t, 0, 1, 1, &y);
  return y;
}

SMR_TEST(reads_every_type) {
  const float f = 1.5f;
  const uint16_t half = 0x3e00;
  const int8_t i8 = -3;
  const uint8_t u8 = 250;
  const int32_t i32 = 16777217;
  const int64_t i64 = INT64_MIN;
  CHECK(load_one(SAMARA_FLOAT32, &f, 4, 0, 0) == 1.5f);
  CHECK(load_one(SAMARA_FLOAT16, &half, 2, 0, 0) == 1.5f);
  CHECK(load_one(SAMARA_INT8, &i8, 1, 0, 0) == -3.0f);
  CHECK(load_one(SAMARA_QINT8, &i8, 1, 0.5f, -13) == 5.0f);
  CHECK(load_one(SAMARA_UINT8, &u8, 1, 0, 0) == 250.0f);
  CHECK(load_one(SAMARA_INT32, &i32, 4, 0, 0) == 16777216.0f);
  CHECK(load_one(SAMARA_INT64, &i64, 8, 0, 0) == -0x1p63f);
  // The zero point counts only with a scale; the difference wraps.
  CHECK(load_one(SAMARA_INT8, &i8, 1, 0, 100) == -3.0f);
  CHECK(load_one(SAMARA_INT64, &i64, 8, 1.0f, 1) == 0x1p63f);
}

SMR_TEST(reads_strides_at_any_address) {
  unsigned char bytes[1 + 6 * 4];
  for (int32_t i = 0; i < 6; i++) memcpy(bytes + 1 + 4 * i, &i, 4);
  const samara_tensor t = {
      .data = bytes + 1, .size_bytes = 24, .shape = {6}, .rank = 1, .dtype = SAMARA_INT32};
  float y[2];
  smr_answer_load(&t, 1, 3, 2, y);
  CHECK(y[0] == 1 && y[1] == 4);
  CHECK_EQ_INT(smr_answer_integer(&t, 5), 5);
}

SMR_TEST(refuses) {
  static float data[6];
  const samara_tensor right = {
      .data = data, .size_bytes = sizeof data, .shape = {2, 3}, .rank = 2, .dtype = SAMARA_FLOAT32};
  samara_tensor t = right;
  const struct smr_answer_outputs outputs = {&t, 1};
  const samara_tensor *found;
  size_t n = 0;
  samara_error error;
  CHECK_EQ_INT(smr_answer_output(&outputs, 0, &found, &n, &error), SAMARA_OK);
  CHECK(found == &t && n == 6);
  CHECK_EQ_INT(smr_answer_output(&outputs, 1, &found, &n, &error), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, "reads output 1, but the model has 1");
  CHECK_EQ_INT(smr_answer_output(&no_outputs, 0, &found, &n, NULL), SAMARA_BAD_ARGUMENT);
  t.dtype = SAMARA_FLOAT64;
  CHECK_EQ_INT(smr_answer_output(&outputs, 0, &found, &n, &error), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(error.text, "elements of type 9");
  const int64_t bad[] = {-1, 0, 3, INT64_MAX, INT64_MIN, (int64_t)1 << 61};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    t = right;
    t.shape[0] = bad[i];
    CHECK_EQ_INT(smr_answer_output(&outputs, 0, &found, &n, &error), SAMARA_BAD_SHAPE);
    CHECK_CONTAINS(error.text, "has 24 bytes");
  }
  t = right, t.rank = SAMARA_MAX_RANK + 1;
  CHECK_EQ_INT(smr_answer_output(&outputs, 0, &found, &n, &error), SAMARA_BAD_SHAPE);
  t = right, t.rank = -1;
  CHECK_EQ_INT(smr_answer_output(&outputs, 0, &found, &n, &error), SAMARA_BAD_SHAPE);
  t = right, t.data = NULL;
  CHECK_EQ_INT(smr_answer_output(&outputs, 0, &found, &n, &error), SAMARA_BAD_SHAPE);
  t = right, t.size_bytes = 23;
  CHECK_EQ_INT(smr_answer_output(&outputs, 0, &found, &n, &error), SAMARA_BAD_SHAPE);
}

SMR_TEST(larger) {
  float best[19];
  int32_t channels[19];
  for (int32_t i = 0; i < 19; i++) {
    best[i] = -INFINITY;
    channels[i] = 7;
  }
  const float x[19] = {0, NAN, -INFINITY, INFINITY, 1,  2,  3,  4,  5, 6,
                       7, 8,   9,         10,       11, 12, 13, -1, 2};
  smr_answer_larger(19, x, 3, best, channels);
  smr_answer_larger(19, x, 4, best, channels);  // equal ones change nothing
  for (int32_t i = 0; i < 19; i++) {
    const bool none = i == 1 || i == 2;
    CHECK(best[i] == (none ? -INFINITY : x[i]) && channels[i] == (none ? 7 : 3));
  }
}

SMR_TEST(functions) {
  CHECK_NEAR(smr_answer_exp(1.0f), 2.718281828, 3e-7);
  CHECK(smr_answer_exp(-INFINITY) == 0);
  CHECK(smr_answer_exp(INFINITY) == INFINITY);
  CHECK(isnan(smr_answer_exp(NAN)));
  CHECK(smr_answer_sigmoid(0) == 0.5f);
  CHECK(smr_answer_sigmoid(INFINITY) == 1 && smr_answer_sigmoid(-INFINITY) == 0);
  CHECK(isnan(smr_answer_sigmoid(NAN)));
  CHECK_EQ_INT(answer_bits(smr_answer_exp(1.0f)), 0x402df854);
  CHECK(smr_answer_power(INFINITY, INFINITY) == 1 && smr_answer_power(3, INFINITY) == 0);
  CHECK(smr_answer_power(2, 3) == smr_answer_exp(-1));
}

SMR_TEST_MAIN(RUN(reads_every_type); RUN(reads_strides_at_any_address); RUN(refuses); RUN(larger);
              RUN(functions))
