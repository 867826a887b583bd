// SPDX-License-Identifier: Apache-2.0
// range, iota, dims and nonzero.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "simd/half.h"

static samara_status range(struct op_test *t, uint8_t dtype, const void *start, const void *limit,
                           const void *delta) {
  op_begin(t, "range");
  op_in(t, dtype, 0, NULL, start);
  op_in(t, dtype, 0, NULL, limit);
  op_in(t, dtype, 0, NULL, delta);
  op_out(t, dtype, 1, DIMS(0));
  return op_run(t);
}

static samara_status range_f32(struct op_test *t, float start, float limit, float delta) {
  return range(t, SAMARA_FLOAT32, &start, &limit, &delta);
}

static samara_status range_i64(struct op_test *t, int64_t start, int64_t limit, int64_t delta) {
  return range(t, SAMARA_INT64, &start, &limit, &delta);
}

SMR_TEST(ranges_of_floats) {
  struct op_test t;
  if (CHECK_EQ_INT(range_f32(&t, 0, 1, 0.1f), SAMARA_OK))  // float32 0.1 is above 0.1: ten of them
    op_expect_f32(&t, 0, (const float[]){0, 0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.7f, 0.8f, 0.9f},
                  10, 1e-7);
  op_end(&t);
  if (CHECK_EQ_INT(range_f32(&t, 5, -1, -2.5f), SAMARA_OK))
    op_expect_f32(&t, 0, (const float[]){5, 2.5f, 0}, 3, 0);
  op_end(&t);
  CHECK_EQ_INT(range_f32(&t, 3, 3, 1), SAMARA_OK);
  CHECK_EQ_INT(t.out[0].dims[0], 0);
  op_end(&t);
  // In float32 alone 2^24 + 1 could not be told from its neighbour.
  if (CHECK_EQ_INT(range_f32(&t, 16777216, 16777220, 0.75f), SAMARA_OK))
    op_expect_f32(
        &t, 0, (const float[]){16777216, 16777216, 16777218, 16777218, 16777220, 16777220}, 6, 0);
  op_end(&t);
  CHECK_EQ_INT(range_f32(&t, 0, 1, 0), SAMARA_BAD_DATA);
  op_end(&t);
  CHECK_EQ_INT(range_f32(&t, 0, NAN, 1), SAMARA_BAD_DATA);
  op_end(&t);
  CHECK_EQ_INT(range_f32(&t, 0, INFINITY, 1), SAMARA_BAD_DATA);
  op_end(&t);
  CHECK_EQ_INT(range_f32(&t, 0, 1, 1e-30f), SAMARA_BAD_DATA);
  CHECK_CONTAINS(t.error.text, "from 0 to 1 by 1e-30");
  op_end(&t);
}

SMR_TEST(ranges_of_integers) {
  struct op_test t;
  if (CHECK_EQ_INT(range_i64(&t, 10, 0, -3), SAMARA_OK))
    op_expect_bytes(&t, 0, DIMS(10, 7, 4, 1), 32);
  op_end(&t);
  if (CHECK_EQ_INT(range_i64(&t, INT64_MIN, INT64_MAX, INT64_MAX), SAMARA_OK))
    op_expect_bytes(&t, 0, DIMS(INT64_MIN, -1, INT64_MAX - 1), 24);
  op_end(&t);
  if (CHECK_EQ_INT(range_i64(&t, INT64_MAX, INT64_MIN, INT64_MIN), SAMARA_OK))
    op_expect_bytes(&t, 0, DIMS(INT64_MAX, -1), 16);
  op_end(&t);
  CHECK_EQ_INT(range_i64(&t, 7, 0, 1), SAMARA_OK);
  CHECK_EQ_INT(t.out[0].dims[0], 0);
  op_end(&t);
  CHECK_EQ_INT(range_i64(&t, 0, 5, 0), SAMARA_BAD_DATA);
  op_end(&t);
  CHECK_EQ_INT(range_i64(&t, INT64_MIN, INT64_MAX, 1), SAMARA_BAD_DATA);
  op_end(&t);
  const int32_t start = 0, limit = 20001, delta = 2;
  if (CHECK_EQ_INT(range(&t, SAMARA_INT32, &start, &limit, &delta), SAMARA_OK) &&
      CHECK_EQ_INT(t.out[0].dims[0], 10001))
    for (int32_t i = 0; i < 10001; i++) CHECK_EQ_INT(((int32_t *)t.out[0].data)[i], 2 * i);
  CHECK(t.tiles > 1);
  op_end(&t);
}

SMR_TEST(iotas) {
  struct op_test t;
  op_begin(&t, "iota");
  op_out(&t, SAMARA_INT32, 1, DIMS(4));
  op_int(&t, "length", 4);
  op_int(&t, "start", 2);
  op_int(&t, "step", -5);
  op_int(&t, "dtype", SAMARA_INT32);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    op_expect_bytes(&t, 0, (const int32_t[]){2, -3, -8, -13}, 16);
  op_end(&t);
  op_begin(&t, "iota");
  op_out(&t, SAMARA_INT64, 1, DIMS(3));
  op_int(&t, "length", 3);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, DIMS(0, 1, 2), 24);
  op_end(&t);
  op_begin(&t, "iota");
  op_out(&t, SAMARA_FLOAT32, 1, DIMS(3));
  op_int(&t, "length", 3);
  op_int(&t, "step", 3);
  op_int(&t, "dtype", SAMARA_FLOAT32);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_f32(&t, 0, (const float[]){0, 3, 6}, 3, 0);
  op_end(&t);
  op_begin(&t, "iota");
  op_out(&t, SAMARA_INT64, 1, DIMS(2));
  op_int(&t, "length", 3);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
}

static void dims(struct op_test *t, uint8_t dtype, uint32_t count, const int64_t *values,
                 bool scalar) {
  op_begin(t, "dims");
  op_out(t, dtype, scalar ? 0 : 1, DIMS((int64_t)count));
  op_ints(t, "values", count, values);
  op_int(t, "dtype", dtype);
  op_int(t, "scalar", scalar);
}

SMR_TEST(dims_become_tensors) {
  struct op_test t;
  dims(&t, SAMARA_INT64, 4, DIMS(2, -1, INT64_MAX, 0), false);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, DIMS(2, -1, INT64_MAX, 0), 32);
  op_end(&t);
  dims(&t, SAMARA_INT32, 1, DIMS(5), true);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, (const int32_t[]){5}, 4);
  op_end(&t);
  dims(&t, SAMARA_FLOAT32, 1, DIMS(9), false);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_f32(&t, 0, (const float[]){9}, 1, 0);
  op_end(&t);
  dims(&t, SAMARA_BOOL, 2, DIMS(256, 0), false);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, (const uint8_t[]){1, 0}, 2);
  op_end(&t);
  dims(&t, SAMARA_INT64, 0, NULL, false);
  CHECK_EQ_INT(op_run(&t), SAMARA_OK);
  op_end(&t);
  dims(&t, SAMARA_INT64, 2, DIMS(1, 2), true);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
}

SMR_TEST(finds_what_is_not_zero) {
  struct op_test t;
  op_begin(&t, "nonzero");
  op_in(&t, SAMARA_INT32, 2, DIMS(2, 3), (const int32_t[]){0, 1, 0, 3, 0, 5});
  op_out(&t, SAMARA_INT64, 2, DIMS(2, 6));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, DIMS(0, 1, 1, 1, 0, 2), 48);
  op_end(&t);

  op_begin(&t, "nonzero");
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(5), (const float[]){0, -0.0f, NAN, 2, 1e-45f});
  op_out(&t, SAMARA_INT64, 2, DIMS(1, 0));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, DIMS(2, 3, 4), 24);
  op_end(&t);

  const uint16_t halves[3] = {0x8000, smr_f32_to_f16(0.5f), 0x7e00};
  op_begin(&t, "nonzero");
  op_in(&t, SAMARA_FLOAT16, 1, DIMS(3), halves);
  op_out(&t, SAMARA_INT64, 2, DIMS(1, 0));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, DIMS(1, 2), 16);
  op_end(&t);

  op_begin(&t, "nonzero");  // the last axes are counted inside the first
  op_in(&t, SAMARA_BOOL, 3, DIMS(2, 1, 2), (const uint8_t[]){0, 1, 1, 1});
  op_out(&t, SAMARA_INT64, 2, DIMS(3, 0));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    op_expect_bytes(&t, 0, DIMS(0, 1, 1, 0, 0, 0, 1, 0, 1), 72);
  op_end(&t);

  op_begin(&t, "nonzero");  // a scalar has no axes to name
  op_in(&t, SAMARA_INT64, 0, NULL, DIMS(4));
  op_out(&t, SAMARA_INT64, 2, DIMS(0, 0));
  CHECK_EQ_INT(op_run(&t), SAMARA_OK);
  CHECK_EQ_INT(t.out[0].dims[1], 1);
  op_end(&t);

  op_begin(&t, "nonzero");
  op_in(&t, SAMARA_UINT8, 2, DIMS(3, 0), NULL);
  op_out(&t, SAMARA_INT64, 2, DIMS(2, 0));
  CHECK_EQ_INT(op_run(&t), SAMARA_OK);
  CHECK_EQ_INT(t.out[0].dims[1], 0);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(ranges_of_floats); RUN(ranges_of_integers); RUN(iotas); RUN(dims_become_tensors);
              RUN(finds_what_is_not_zero))
