// SPDX-License-Identifier: Apache-2.0
// quantize, dequantize, requantize, reinterpret.
#include "base/fp.h"

#include "ops/op_harness.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

static const float per_tensor_scale[] = {0.5f};
static const int32_t per_tensor_zero[] = {-3};
static const float axis_scales[] = {1.0f, 0.5f, 0.25f};
static const int32_t axis_zeros[] = {0, 10, -10};

// Quantizing along any axis and back gives the values again, which are multiples of every scale.
static void check_round_trip(uint32_t rank, const int64_t *dims, int32_t axis) {
  size_t n = 1;
  for (uint32_t i = 0; i < rank; i++) n *= (size_t)dims[i];
  float *x = malloc(n * sizeof *x + 1);
  for (size_t i = 0; i < n; i++) x[i] = (float)((int)(i * 7 % 23) - 11);
  struct op_test to, back;
  op_begin(&to, "quantize");
  op_in(&to, SAMARA_FLOAT32, rank, dims, x);
  struct smr_tensor *q = op_out(&to, SAMARA_QINT8, rank, dims);
  if (axis < 0)
    op_quant(&to, q, 1, per_tensor_scale, per_tensor_zero, -1);
  else
    op_quant(&to, q, 3, axis_scales, axis_zeros, axis);
  if (CHECK_EQ_INT(op_run(&to), SAMARA_OK)) {
    op_begin(&back, "dequantize");
    struct smr_tensor *in = op_in(&back, SAMARA_QINT8, rank, dims, to.out[0].data);
    in->quant = q->quant;
    op_out(&back, SAMARA_FLOAT32, rank, dims);
    if (CHECK_EQ_INT(op_run(&back), SAMARA_OK)) op_expect_f32(&back, 0, x, n, 0);
    op_end(&back);
  }
  op_end(&to);
  free(x);
}

SMR_TEST(values_survive_a_round_trip) {
  check_round_trip(0, NULL, -1);
  check_round_trip(1, DIMS(33), -1);
  check_round_trip(1, DIMS(3), 0);
  check_round_trip(3, DIMS(3, 4, 5), 0);
  check_round_trip(3, DIMS(4, 3, 5), 1);
  check_round_trip(3, DIMS(4, 5, 3), 2);
  check_round_trip(2, DIMS(9001, 3), 1);
  check_round_trip(3, DIMS(3, 3, 3001), 1);
  check_round_trip(2, DIMS(0, 3), 1);
}

SMR_TEST(requantize_goes_between_axes) {
  static const int8_t x[] = {4, 20, -6, 8, 22, -2};  // reals 4 5 1 / 8 6 2
  static const int8_t want[] = {5, 7, -1, 13, 9, 1};
  struct op_test t;
  op_begin(&t, "requantize");
  op_quant(&t, op_in(&t, SAMARA_QINT8, 2, DIMS(2, 3), x), 3, axis_scales, axis_zeros, 1);
  op_quant(&t, op_out(&t, SAMARA_QINT8, 2, DIMS(2, 3)), 1, per_tensor_scale, per_tensor_zero, -1);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, want, sizeof want);
  op_end(&t);
}

static void check_reinterpret(uint8_t from, uint8_t to, const uint8_t *x, const uint8_t *want) {
  struct op_test t;
  op_begin(&t, "reinterpret");
  struct smr_tensor *in = op_in(&t, from, 1, DIMS(4), x);
  struct smr_tensor *out = op_out(&t, to, 1, DIMS(4));
  if (from == SAMARA_QINT8) op_quant(&t, in, 1, per_tensor_scale, per_tensor_zero, -1);
  if (to == SAMARA_QINT8) op_quant(&t, out, 1, per_tensor_scale, per_tensor_zero, -1);
  op_int(&t, "to", to);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_bytes(&t, 0, want, 4);
  op_end(&t);
}

SMR_TEST(reinterpret_shifts_between_signs_only) {
  static const uint8_t x[] = {0, 1, 127, 255}, shifted[] = {128, 129, 255, 127};
  check_reinterpret(SAMARA_UINT8, SAMARA_INT8, x, shifted);
  check_reinterpret(SAMARA_INT8, SAMARA_UINT8, x, shifted);
  check_reinterpret(SAMARA_UINT8, SAMARA_QINT8, x, shifted);
  check_reinterpret(SAMARA_INT8, SAMARA_QINT8, x, x);
  check_reinterpret(SAMARA_QINT8, SAMARA_UINT8, x, shifted);
}

SMR_TEST(wrong_dtypes_and_parameters_are_refused) {
  struct op_test t;
  op_begin(&t, "quantize");
  op_in(&t, SAMARA_INT32, 1, DIMS(4), NULL);
  op_quant(&t, op_out(&t, SAMARA_QINT8, 1, DIMS(4)), 1, per_tensor_scale, per_tensor_zero, -1);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);

  op_begin(&t, "quantize");  // three scales along an axis of four
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(4), NULL);
  op_quant(&t, op_out(&t, SAMARA_QINT8, 1, DIMS(4)), 3, axis_scales, axis_zeros, 0);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);

  op_begin(&t, "reinterpret");  // the attribute says int8
  op_in(&t, SAMARA_INT8, 1, DIMS(4), NULL);
  op_out(&t, SAMARA_UINT8, 1, DIMS(4));
  op_int(&t, "to", SAMARA_INT8);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(values_survive_a_round_trip); RUN(requantize_goes_between_axes);
              RUN(reinterpret_shifts_between_signs_only);
              RUN(wrong_dtypes_and_parameters_are_refused))
