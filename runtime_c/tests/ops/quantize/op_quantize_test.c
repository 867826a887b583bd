// SPDX-License-Identifier: Apache-2.0
// quantize and reinterpret: what they refuse. Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"

static const float per_tensor_scale[] = {0.5f};
static const int32_t per_tensor_zero[] = {-3};
static const float axis_scales[] = {1.0f, 0.5f, 0.25f};
static const int32_t axis_zeros[] = {0, 10, -10};

SMR_TEST(wrong_dtypes_and_parameters_are_refused) {
  struct op_test t;
  op_begin(&t, "quantize");
  op_in(&t, SAMARA_INT32, 1, DIMS(4), NULL);
  op_quant(&t, op_out(&t, SAMARA_QINT8, 1, DIMS(4)), 1, per_tensor_scale, per_tensor_zero, -1);
  op_finish(&t, SAMARA_BAD_SHAPE, NULL);

  op_begin(&t, "quantize");  // three scales along an axis of four
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(4), NULL);
  op_quant(&t, op_out(&t, SAMARA_QINT8, 1, DIMS(4)), 3, axis_scales, axis_zeros, 0);
  op_finish(&t, SAMARA_BAD_SHAPE, NULL);

  op_begin(&t, "reinterpret");  // the attribute says int8
  op_in(&t, SAMARA_INT8, 1, DIMS(4), NULL);
  op_out(&t, SAMARA_UINT8, 1, DIMS(4));
  op_int(&t, "to", SAMARA_INT8);
  op_finish(&t, SAMARA_BAD_SHAPE, NULL);
}

SMR_TEST_MAIN(RUN(wrong_dtypes_and_parameters_are_refused))
