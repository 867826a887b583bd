// SPDX-License-Identifier: Apache-2.0
// argmax and argmin: ties, NaN, every axis and dtype.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "simd/half.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

static void arg_case(const char *op, uint8_t dtype, uint32_t rank, const int64_t *dims,
                     const void *x, int64_t axis, bool last, uint32_t out_rank,
                     const int64_t *out_dims, const int64_t *want) {
  struct op_test t;
  op_begin(&t, op);
  op_in(&t, dtype, rank, dims, x);
  op_out(&t, SAMARA_INT64, out_rank, out_dims);
  op_int(&t, "axis", axis);
  op_int(&t, "select_last", last);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, want, t.out[0].size_bytes);
  op_end(&t);
}

SMR_TEST(ties) {
  const float x[6] = {3, 1, 3, 1, 2, 1};
  arg_case("argmax", SAMARA_FLOAT32, 1, DIMS(6), x, 0, false, 0, NULL, DIMS(0));
  arg_case("argmax", SAMARA_FLOAT32, 1, DIMS(6), x, 0, true, 0, NULL, DIMS(2));
  arg_case("argmin", SAMARA_FLOAT32, 1, DIMS(6), x, 0, false, 0, NULL, DIMS(1));
  arg_case("argmin", SAMARA_FLOAT32, 1, DIMS(6), x, 0, true, 0, NULL, DIMS(5));
}

SMR_TEST(nan_wins) {
  const float x[5] = {1, NAN, 9, NAN, -9};
  arg_case("argmax", SAMARA_FLOAT32, 1, DIMS(5), x, 0, false, 0, NULL, DIMS(1));
  arg_case("argmax", SAMARA_FLOAT32, 1, DIMS(5), x, 0, true, 0, NULL, DIMS(3));
  arg_case("argmin", SAMARA_FLOAT32, 1, DIMS(5), x, 0, false, 0, NULL, DIMS(1));
}

SMR_TEST(axes_and_dtypes) {
  const int8_t x[6] = {1, 5, -3, 4, -128, 127};
  arg_case("argmax", SAMARA_INT8, 2, DIMS(2, 3), x, 0, false, 1, DIMS(3), DIMS(1, 0, 1));
  arg_case("argmax", SAMARA_INT8, 2, DIMS(2, 3), x, -1, false, 1, DIMS(2), DIMS(1, 2));
  arg_case("argmax", SAMARA_UINT8, 2, DIMS(2, 3), x, 1, false, 1, DIMS(2), DIMS(2, 1));
  const int64_t y[2] = {INT64_MIN, INT64_MAX};
  arg_case("argmin", SAMARA_INT64, 1, DIMS(2), y, 0, false, 0, NULL, DIMS(0));
  const int32_t z[2] = {5, -5};
  arg_case("argmin", SAMARA_INT32, 1, DIMS(2), z, 0, false, 0, NULL, DIMS(1));
  const uint16_t h[3] = {smr_f32_to_f16(0.5f), smr_f32_to_f16(2), smr_f32_to_f16(-1)};
  arg_case("argmax", SAMARA_FLOAT16, 1, DIMS(3), h, 0, false, 0, NULL, DIMS(1));
}

SMR_TEST_MAIN(RUN(ties); RUN(nan_wins); RUN(axes_and_dtypes))
