// SPDX-License-Identifier: Apache-2.0
// scatter_elements and scatter_nd.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "simd/half.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

static const char *const reductions[] = {"none", "add", "mul", "max", "min"};

static void begin(struct op_test *t, const char *op, uint8_t dtype, uint32_t rank,
                  const int64_t *dims, const void *x, uint32_t index_rank,
                  const int64_t *index_dims, const int64_t *indices, uint32_t update_rank,
                  const int64_t *update_dims, const void *updates, const char *reduction) {
  op_begin(t, op);
  op_in(t, dtype, rank, dims, x);
  op_in(t, SAMARA_INT64, index_rank, index_dims, indices);
  op_in(t, dtype, update_rank, update_dims, updates);
  op_out(t, dtype, rank, dims);
  op_enum(t, "reduction", reduction);
}

static void expect_f32(struct op_test *t, const float *values, size_t n) {
  if (CHECK_EQ_INT(op_run(t), SAMARA_OK)) op_expect_f32(t, 0, values, n, 0);
  op_end(t);
}

SMR_TEST(elements_replace) {
  static const float x[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  struct op_test t;
  begin(&t, "scatter_elements", SAMARA_FLOAT32, 2, DIMS(3, 4), x, 2, DIMS(2, 3),
        DIMS(0, 1, -1, 2, 0, 1), 2, DIMS(2, 3), (const float[]){-1, -2, -3, -4, -5, -6}, "none");
  expect_f32(&t, (const float[]){-1, -5, 2, 3, 4, -2, -6, 7, -4, 9, -3, 11}, 12);
  begin(&t, "scatter_elements", SAMARA_FLOAT32, 2, DIMS(3, 4), x, 2, DIMS(2, 2), DIMS(0, 3, -4, 1),
        2, DIMS(2, 2), (const float[]){-1, -2, -3, -4}, "none");
  op_int(&t, "axis", 1);
  expect_f32(&t, (const float[]){-1, 1, 2, -2, -3, -4, 6, 7, 8, 9, 10, 11}, 12);
  // The last of equal places stays.
  begin(&t, "scatter_elements", SAMARA_FLOAT32, 1, DIMS(3), x, 1, DIMS(3), DIMS(1, 1, 1), 1,
        DIMS(3), (const float[]){-1, -2, -3}, "none");
  expect_f32(&t, (const float[]){0, -3, 2}, 3);
  begin(&t, "scatter_elements", SAMARA_FLOAT32, 2, DIMS(2, 3), x, 2, DIMS(0, 3), NULL, 2,
        DIMS(0, 3), NULL, "none");
  expect_f32(&t, x, 6);
}

// Slabs of axis 0 are tiles; those beyond the updates are copied.
SMR_TEST(elements_by_slabs) {
  enum { A = 40, B = 30, C = 20 };
  static float x[A * B * C], want[A * B * C], updates[(A - 5) * (B - 3) * 5];
  static int64_t indices[(A - 5) * (B - 3) * 5];
  for (int axis = 1; axis <= 2; axis++) {
    const int64_t d1 = axis == 1 ? 7 : B - 3, d2 = axis == 1 ? C - 1 : 5;
    const int64_t extent = axis == 1 ? B : C;
    for (size_t i = 0; i < A * B * C; i++) want[i] = x[i] = (float)i;
    for (int64_t i = 0; i < (A - 5) * d1 * d2; i++) {
      indices[i] = i * 13 % extent - (i % 2 ? extent : 0);
      updates[i] = 0.5f + (float)i;
      const int64_t a = i / (d1 * d2), b = i / d2 % d1, c = i % d2, at = i * 13 % extent;
      want[axis == 1 ? (a * B + at) * C + c : (a * B + b) * C + at] += updates[i];
    }
    struct op_test t;
    begin(&t, "scatter_elements", SAMARA_FLOAT32, 3, DIMS(A, B, C), x, 3, DIMS(A - 5, d1, d2),
          indices, 3, DIMS(A - 5, d1, d2), updates, "add");
    op_int(&t, "axis", axis);
    expect_f32(&t, want, A * B * C);
    CHECK(t.tiles > 1);
  }
}

SMR_TEST(nd_replaces) {
  static const float x[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  struct op_test t;
  begin(&t, "scatter_nd", SAMARA_FLOAT32, 2, DIMS(3, 4), x, 2, DIMS(2, 2), DIMS(0, 1, 2, -1), 1,
        DIMS(2), (const float[]){-1, -2}, "none");
  expect_f32(&t, (const float[]){0, -1, 2, 3, 4, 5, 6, 7, 8, 9, 10, -2}, 12);
  begin(&t, "scatter_nd", SAMARA_FLOAT32, 2, DIMS(3, 4), x, 2, DIMS(2, 1), DIMS(2, 0), 2,
        DIMS(2, 4), (const float[]){-1, -2, -3, -4, -5, -6, -7, -8}, "none");
  expect_f32(&t, (const float[]){-5, -6, -7, -8, 4, 5, 6, 7, -1, -2, -3, -4}, 12);
  // Empty tuples name all of x.
  begin(&t, "scatter_nd", SAMARA_FLOAT32, 1, DIMS(2), x, 2, DIMS(2, 0), NULL, 2, DIMS(2, 2),
        (const float[]){5, 6, 7, 8}, "add");
  expect_f32(&t, (const float[]){12, 15}, 2);
}

// x = [3, -4, 5], places 1, 1, 2, updates 2, -6, 5; and the same in every dtype.
SMR_TEST(reductions_of_every_dtype) {
  static const double x[3] = {3, -4, 5}, updates[3] = {2, -6, 5};
  static const double want[5][3] = {{3, -6, 5}, {3, -8, 10}, {3, 48, 25}, {3, 2, 5}, {3, -6, 5}};
  static const uint8_t dtypes[] = {SAMARA_FLOAT32, SAMARA_FLOAT16, SAMARA_INT8, SAMARA_INT32,
                                   SAMARA_INT64};
  for (size_t d = 0; d < 5; d++)
    for (size_t r = 0; r < 5; r++) {
      unsigned char data[3][24];
      for (size_t i = 0; i < 3; i++)
        for (size_t which = 0; which < 3; which++) {
          const double v = which == 0 ? x[i] : which == 1 ? updates[i] : want[r][i];
          unsigned char *at = data[which] + i * smr_dtype_bytes(dtypes[d]);
          const float f = (float)v;
          const uint16_t h = smr_f32_to_f16(f);
          const int8_t i8 = (int8_t)v;
          const int32_t i32 = (int32_t)v;
          const int64_t i64 = (int64_t)v;
          switch (dtypes[d]) {
            case SAMARA_FLOAT32:
              memcpy(at, &f, 4);
              break;
            case SAMARA_FLOAT16:
              memcpy(at, &h, 2);
              break;
            case SAMARA_INT8:
              memcpy(at, &i8, 1);
              break;
            case SAMARA_INT32:
              memcpy(at, &i32, 4);
              break;
            default:
              memcpy(at, &i64, 8);
              break;
          }
        }
      static const char *const ops[] = {"scatter_elements", "scatter_nd"};
      for (int o = 0; o < 2; o++)
        for (int in_place = 0; in_place < 2; in_place++) {
          struct op_test t;
          begin(&t, ops[o], dtypes[d], 1, DIMS(3), data[0], o ? 2 : 1, DIMS(3, 1), DIMS(1, -2, 2),
                1, DIMS(3), data[1], reductions[r]);
          t.in_place = in_place;
          if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
            op_expect_bytes(&t, 0, data[2], 3 * smr_dtype_bytes(dtypes[d]));
          op_end(&t);
        }
    }
}

SMR_TEST(integers_wrap_and_nan_wins) {
  struct op_test t;
  begin(&t, "scatter_elements", SAMARA_UINT8, 1, DIMS(2), (const uint8_t[]){200, 7}, 1, DIMS(2),
        DIMS(0, 1), 1, DIMS(2), (const uint8_t[]){100, 100}, "add");
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, (const uint8_t[]){44, 107}, 2);
  op_end(&t);
  begin(&t, "scatter_elements", SAMARA_INT64, 1, DIMS(1), DIMS(INT64_MAX), 1, DIMS(1), DIMS(0), 1,
        DIMS(1), DIMS(1), "add");
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, DIMS(INT64_MIN), 8);
  op_end(&t);
  for (int r = 3; r < 5; r++) {
    begin(&t, "scatter_elements", SAMARA_FLOAT32, 1, DIMS(2), (const float[]){NAN, 1}, 1, DIMS(2),
          DIMS(0, 1), 1, DIMS(2), (const float[]){1, NAN}, reductions[r]);
    expect_f32(&t, (const float[]){NAN, NAN}, 2);
  }
}

// Rows of a table are tiles; each takes its updates in the order they come, so sums of floats round
// alike whatever the tiles.
SMR_TEST(nd_adds_rows) {
  enum { ROWS = 3000, COLUMNS = 13, UPDATES = 500 };
  static float x[ROWS * COLUMNS], want[ROWS * COLUMNS], updates[UPDATES * COLUMNS];
  static int64_t indices[UPDATES];
  for (size_t i = 0; i < ROWS * COLUMNS; i++) want[i] = x[i] = (float)(i % 7) * 0.1f;
  for (size_t i = 0; i < UPDATES; i++) {
    const size_t row = i % 3 == 0 ? 7 : i * 971 % ROWS;
    indices[i] = (int64_t)row - (i % 2 ? ROWS : 0);
    for (size_t c = 0; c < COLUMNS; c++) {
      updates[i * COLUMNS + c] = 0.3f * (float)(i % 11) + (float)c;
      want[row * COLUMNS + c] += updates[i * COLUMNS + c];
    }
  }
  struct op_test t;
  begin(&t, "scatter_nd", SAMARA_FLOAT32, 2, DIMS(ROWS, COLUMNS), x, 2, DIMS(UPDATES, 1), indices,
        2, DIMS(UPDATES, COLUMNS), updates, "add");
  expect_f32(&t, want, ROWS * COLUMNS);
  CHECK(t.tiles > 1);
  // The same rows behind an axis more.
  static int64_t pairs[2 * UPDATES];
  for (size_t i = 0; i < UPDATES; i++) {
    const int64_t row = indices[i] < 0 ? indices[i] + ROWS : indices[i];
    pairs[2 * i] = row / 60;
    pairs[2 * i + 1] = row % 60;
  }
  begin(&t, "scatter_nd", SAMARA_FLOAT32, 3, DIMS(ROWS / 60, 60, COLUMNS), x, 2, DIMS(UPDATES, 2),
        pairs, 2, DIMS(UPDATES, COLUMNS), updates, "add");
  expect_f32(&t, want, ROWS * COLUMNS);
}

SMR_TEST(refuses) {
  struct op_test t;
  begin(&t, "scatter_elements", SAMARA_FLOAT32, 1, DIMS(3), NULL, 1, DIMS(1), DIMS(-4), 1, DIMS(1),
        NULL, "none");
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_DATA);
  CHECK_STR(t.error.text,
            "scatter_elements: index -4 at position 0 is out of range, expected -3 to 2");
  op_end(&t);
  begin(&t, "scatter_nd", SAMARA_FLOAT32, 2, DIMS(3, 2), NULL, 2, DIMS(1, 2), DIMS(0, 2), 1,
        DIMS(1), NULL, "none");
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_DATA);
  op_end(&t);
  begin(&t, "scatter_elements", SAMARA_BOOL, 1, DIMS(3), NULL, 1, DIMS(1), DIMS(0), 1, DIMS(1),
        NULL, "add");
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  begin(&t, "scatter_elements", SAMARA_FLOAT32, 1, DIMS(3), NULL, 1, DIMS(1), DIMS(0), 1, DIMS(2),
        NULL, "none");
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  begin(&t, "scatter_nd", SAMARA_FLOAT32, 1, DIMS(3), NULL, 2, DIMS(1, 1), DIMS(0), 1, DIMS(1),
        NULL, "none");
  op_int(&t, "reduction", 9);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(elements_replace); RUN(elements_by_slabs); RUN(nd_replaces); RUN(nd_adds_rows);
              RUN(reductions_of_every_dtype); RUN(integers_wrap_and_nan_wins); RUN(refuses))
