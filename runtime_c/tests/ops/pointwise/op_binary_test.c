// SPDX-License-Identifier: Apache-2.0
// Elementwise operators of two inputs: broadcasting, dtypes, division by zero.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "simd/half.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

// a [2, 3, 4] op b in every way b can broadcast, against the definition.
static void broadcast_case(uint32_t rank, const int64_t *dims) {
  float a[24], b[24];
  int64_t strides[3] = {0, 0, 0}, dense = 1;
  for (uint32_t i = 0; i < rank; i++) {
    const uint32_t axis = rank - 1 - i;
    strides[2 - i] = dims[axis] == 1 ? 0 : dense;
    dense *= dims[axis];
  }
  for (int i = 0; i < 24; i++) a[i] = (float)(i * i % 17), b[i] = (float)(i + 1);
  struct op_test t;
  op_begin(&t, "sub");
  op_in(&t, SAMARA_FLOAT32, 3, DIMS(2, 3, 4), a);
  op_in(&t, SAMARA_FLOAT32, rank, dims, b);
  op_out(&t, SAMARA_FLOAT32, 3, DIMS(2, 3, 4));
  float want[24];
  for (int64_t i = 0; i < 24; i++)
    want[i] = a[i] - b[i / 12 * strides[0] + i / 4 % 3 * strides[1] + i % 4 * strides[2]];
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_f32(&t, 0, want, 24, 0);
  op_end(&t);
}

SMR_TEST(broadcasts) {
  for (int mask = 0; mask < 8; mask++)
    for (uint32_t rank = 0; rank <= 3; rank++) {
      const int64_t dims[3] = {mask & 4 ? 2 : 1, mask & 2 ? 3 : 1, mask & 1 ? 4 : 1};
      broadcast_case(rank, dims + 3 - rank);
    }
}

SMR_TEST(both_ways_in_many_tiles) {
  enum { ROWS = 300, COLUMNS = 129 };
  static float a[ROWS], b[COLUMNS];
  for (int i = 0; i < ROWS; i++) a[i] = (float)i;
  for (int i = 0; i < COLUMNS; i++) b[i] = (float)i * 0.5f;
  struct op_test t;
  op_begin(&t, "mul");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(ROWS, 1), a);
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(COLUMNS), b);
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(ROWS, COLUMNS));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    CHECK(t.tiles > 1);
    const float *y = (const float *)t.out[0].data;
    for (int i = 0; i < ROWS * COLUMNS; i++) CHECK(y[i] == a[i / COLUMNS] * b[i % COLUMNS]);
  }
  op_end(&t);
}

// Few channels beside many rows, on either side; tiles begin in the midst of a row.
static void channels_case(int columns, int is_left) {
  enum { ROWS = 1500, MOST = 128 };
  static float rows[ROWS * MOST], row[MOST];
  for (int i = 0; i < ROWS * columns; i++) rows[i] = (float)(i % 1013) - 300;
  for (int i = 0; i < columns; i++) row[i] = (float)(i * i + 1);
  struct op_test t;
  op_begin(&t, "sub");
  if (is_left) op_in(&t, SAMARA_FLOAT32, 1, DIMS(columns), row);
  op_in(&t, SAMARA_FLOAT32, 3, DIMS(3, ROWS / 3, columns), rows);
  if (!is_left) op_in(&t, SAMARA_FLOAT32, 1, DIMS(columns), row);
  op_out(&t, SAMARA_FLOAT32, 3, DIMS(3, ROWS / 3, columns));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    const float *y = (const float *)t.out[0].data;
    int wrong = 0;
    for (int i = 0; i < ROWS * columns; i++) {
      const float difference = rows[i] - row[i % columns];
      wrong += y[i] != (is_left ? -difference : difference);
    }
    CHECK_EQ_INT(wrong, 0);
  }
  op_end(&t);
}

SMR_TEST(rows_of_few_channels) {
  static const int columns[] = {2, 3, 16, 27, 127, 128};
  for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
    channels_case(columns[i], 0);
    channels_case(columns[i], 1);
  }
}

static void int_case(const char *op, const char *flag, int64_t value, const int32_t *want) {
  const int32_t a[6] = {7, -7, 7, -7, INT32_MIN, 3}, b[6] = {2, 2, -2, -2, -1, 33};
  struct op_test t;
  op_begin(&t, op);
  op_in(&t, SAMARA_INT32, 1, DIMS(6), a);
  op_in(&t, SAMARA_INT32, 1, DIMS(6), b);
  op_out(&t, SAMARA_INT32, 1, DIMS(6));
  if (flag != NULL) op_int(&t, flag, value);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, want, 6 * sizeof *want);
  op_end(&t);
}

SMR_TEST(integers) {
  int_case("add", NULL, 0, (const int32_t[]){9, -5, 5, -9, INT32_MAX, 36});
  int_case("div", NULL, 0, (const int32_t[]){3, -3, -3, 3, INT32_MIN, 0});
  int_case("mod", NULL, 0, (const int32_t[]){1, 1, -1, -1, 0, 3});
  int_case("mod", "fmod", 1, (const int32_t[]){1, -1, 1, -1, 0, 3});
  int_case("pow", NULL, 0, (const int32_t[]){49, 49, 0, 0, 0, -1504003197});
  int_case("min", NULL, 0, (const int32_t[]){2, -7, -2, -7, INT32_MIN, 3});
  int_case("max", NULL, 0, (const int32_t[]){7, 2, 7, -2, -1, 33});
  int_case("shift", NULL, 0, (const int32_t[]){28, -28, 0, 0, 0, 0});
  int_case("shift", "direction", 1, (const int32_t[]){1, -2, 0, -1, -1, 0});
  int_case("bitwise_xor", NULL, 0, (const int32_t[]){5, -5, -7, 7, INT32_MAX, 34});
}

SMR_TEST(division_by_zero) {
  static const char *const ops[] = {"div", "mod"};
  for (int i = 0; i < 2; i++) {
    struct op_test t;
    const int8_t a[3] = {1, 2, 3}, b[3] = {1, 0, 1};
    op_begin(&t, ops[i]);
    op_in(&t, SAMARA_INT8, 1, DIMS(3), a);
    op_in(&t, SAMARA_INT8, 1, DIMS(3), b);
    op_out(&t, SAMARA_INT8, 1, DIMS(3));
    CHECK_EQ_INT(op_run(&t), SAMARA_BAD_DATA);
    CHECK_CONTAINS(t.error.text, "by zero");
    op_end(&t);
  }
  struct op_test t;
  const float zero = 0, one = 1, infinity = INFINITY;
  op_begin(&t, "div");
  op_in(&t, SAMARA_FLOAT32, 0, NULL, &one);
  op_in(&t, SAMARA_FLOAT32, 0, NULL, &zero);
  op_out(&t, SAMARA_FLOAT32, 0, NULL);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_f32(&t, 0, &infinity, 1, 0);
  op_end(&t);
}

SMR_TEST(nan_wins) {
  const float a[3] = {NAN, 1, 2}, b[3] = {1, NAN, 3};
  static const char *const ops[] = {"min", "max"};
  for (int i = 0; i < 2; i++) {
    struct op_test t;
    op_begin(&t, ops[i]);
    op_in(&t, SAMARA_FLOAT32, 1, DIMS(3), a);
    op_in(&t, SAMARA_FLOAT32, 1, DIMS(3), b);
    op_out(&t, SAMARA_FLOAT32, 1, DIMS(3));
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
      op_expect_f32(&t, 0, (const float[]){NAN, NAN, i ? 3.0f : 2.0f}, 3, 0);
    op_end(&t);
  }
}

SMR_TEST(comparisons_and_logic) {
  const float a[4] = {1, 2, NAN, 3}, b[4] = {1, 3, NAN, 2};
  static const struct {
    const char *op;
    uint8_t y[4];
  } cases[] = {{"eq", {1, 0, 0, 0}}, {"lt", {0, 1, 0, 0}}, {"le", {1, 1, 0, 0}}};
  for (size_t i = 0; i < 3; i++) {
    for (int half = 0; half < 2; half++) {
      uint16_t a_half[4], b_half[4];
      for (int j = 0; j < 4; j++)
        a_half[j] = smr_f32_to_f16(a[j]), b_half[j] = smr_f32_to_f16(b[j]);
      const uint8_t dtype = half ? SAMARA_FLOAT16 : SAMARA_FLOAT32;
      struct op_test t;
      op_begin(&t, cases[i].op);
      op_in(&t, dtype, 1, DIMS(4), half ? (const void *)a_half : a);
      op_in(&t, dtype, 1, DIMS(4), half ? (const void *)b_half : b);
      op_out(&t, SAMARA_BOOL, 1, DIMS(4));
      if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, cases[i].y, 4);
      op_end(&t);
    }
  }
  static const struct {
    const char *op;
    uint8_t y[4];
  } logic[] = {{"logical_and", {0, 0, 0, 1}},
               {"logical_or", {0, 1, 1, 1}},
               {"logical_xor", {0, 1, 1, 0}},
               {"eq", {1, 0, 0, 1}}};
  const uint8_t p[4] = {0, 0, 1, 1}, q[4] = {0, 1, 0, 1};
  for (size_t i = 0; i < 4; i++) {
    struct op_test t;
    op_begin(&t, logic[i].op);
    op_in(&t, SAMARA_BOOL, 1, DIMS(4), p);
    op_in(&t, SAMARA_BOOL, 1, DIMS(4), q);
    op_out(&t, SAMARA_BOOL, 1, DIMS(4));
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, logic[i].y, 4);
    op_end(&t);
  }
}

SMR_TEST(float16_rounds_once) {
  enum { N = 2500 };
  static uint16_t a[N];
  for (int i = 0; i < N; i++) a[i] = smr_f32_to_f16((float)i * 0.01f);
  const uint16_t b = smr_f32_to_f16(0.3f);
  struct op_test t;
  op_begin(&t, "mul");
  op_in(&t, SAMARA_FLOAT16, 1, DIMS(N), a);
  op_in(&t, SAMARA_FLOAT16, 0, NULL, &b);
  op_out(&t, SAMARA_FLOAT16, 1, DIMS(N));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    const uint16_t *y = (const uint16_t *)t.out[0].data;
    for (int i = 0; i < N; i++)
      CHECK_EQ_INT(y[i], smr_f32_to_f16(smr_f16_to_f32(a[i]) * smr_f16_to_f32(b)));
  }
  op_end(&t);
}

SMR_TEST(prelu) {
  struct op_test t;
  op_begin(&t, "prelu");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(2, 2), (const float[]){-1, 2, -3, -4});
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(2), (const float[]){0.5f, 2});
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(2, 2));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    op_expect_f32(&t, 0, (const float[]){-0.5f, 2, -1.5f, -8}, 4, 0);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(broadcasts); RUN(both_ways_in_many_tiles); RUN(rows_of_few_channels);
              RUN(integers); RUN(division_by_zero); RUN(nan_wins); RUN(comparisons_and_logic);
              RUN(float16_rounds_once); RUN(prelu))
