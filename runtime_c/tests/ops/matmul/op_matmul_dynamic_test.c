// SPDX-License-Identifier: Apache-2.0
// matmul_dynamic: what it refuses. Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"

SMR_TEST(weights_must_be_quantized_by_column) {
  const float scales[3] = {1, 1, 1};
  const int32_t zeros[3] = {0, 0, 0};
  struct op_test t;
  op_begin(&t, "matmul_dynamic");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(2, 3), NULL);
  op_quant(&t, op_in(&t, SAMARA_QINT8, 2, DIMS(3, 4), NULL), 3, scales, zeros, 0);
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(2, 4));
  CHECK_EQ_INT(smr_op_check(&t.job), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(t.error.text, "3 scales along axis 0");
  op_end(&t);
}

SMR_TEST_MAIN(RUN(weights_must_be_quantized_by_column))
