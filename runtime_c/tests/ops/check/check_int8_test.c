// SPDX-License-Identifier: Apache-2.0
// Checks of operators on int8 tensors of one scale.
#include "base/fp.h"

#include "ops/check/check_harness.h"

static const float scales[2] = {0.5f, 1.0f};
static const int32_t zeros[2] = {0, -128};

SMR_TEST(tensors) {
  const struct smr_quant one = {scales, zeros, 1, -1}, along = {scales, zeros, 2, 0};
  struct op_test t;
  op_begin(&t, "qlookup");
  check_tensors(&t, "qs8[2,3] i8[256] -> qs8[2,3]");
  t.in[0].quant = &one;
  CHECK_EQ_INT(smr_expect_q8(&t.job, &t.in[0], "x"), SAMARA_OK);
  t.in[0].quant = &along;
  CHECK_EQ_INT(smr_expect_q8(&t.job, &t.in[0], "x"), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(t.error.text, "qlookup: x is quantized along axis 0");
  t.in[0].quant = NULL;
  CHECK_EQ_INT(smr_expect_q8(&t.job, &t.in[0], "x"), SAMARA_BAD_SHAPE);
  CHECK_EQ_INT(smr_expect_q8(&t.job, &t.in[1], "x"), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(t.error.text, "x cannot have dtype int8");
  op_end(&t);
}

static void output(float scale, int64_t zero, int64_t lo, int64_t hi, const char *text) {
  struct op_test t;
  op_begin(&t, "qmul");
  check_tensors(&t, "qs8[2] qs8[2] -> qs8[2]");
  op_f32(&t, "scale", scale);
  op_int(&t, "zero_point", zero);
  op_int(&t, "lo", lo);
  op_int(&t, "hi", hi);
  CHECK_EQ_INT(smr_expect_q8_output(&t.job, SMR_ATTR_GROUP(&t.job, qmul, int8_output)),
               text == NULL ? SAMARA_OK : SAMARA_BAD_SHAPE);
  if (text != NULL) CHECK_CONTAINS(t.error.text, text);
  op_end(&t);
}

SMR_TEST(outputs) {
  output(0.5f, -128, -128, 127, NULL);
  output(0.0f, 0, -128, 127, "scale 0");
  output(INFINITY, 0, -128, 127, "scale inf");
  output(NAN, 0, -128, 127, "scale");
  output(1.0f, INT64_MIN, 0, 0, "zero point -9223372036854775808");
  output(1.0f, 0, 5, 4, "clamp from 5 to 4");
  output(1.0f, 0, -129, 4, "clamp from -129 to 4");
  output(1.0f, 0, 0, INT64_MAX, "clamp from 0");
}

// Of an operator without a clamp.
SMR_TEST(scales_and_zero_points) {
  struct op_test t;
  op_begin(&t, "qlookup");
  check_tensors(&t, "qs8[2] i8[256] -> qs8[2]");
  CHECK_EQ_INT(smr_expect_q8_quant(&t.job, 0.5f, 127), SAMARA_OK);
  CHECK_EQ_INT(smr_expect_q8_quant(&t.job, 0.5f, 128), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(t.error.text, "zero point 128");
  CHECK_EQ_INT(smr_expect_q8_quant(&t.job, 0, 0), SAMARA_BAD_SHAPE);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(tensors); RUN(outputs); RUN(scales_and_zero_points))
