// SPDX-License-Identifier: Apache-2.0
// Elementwise operators of two inputs: division by zero. Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "simd/half.h"

SMR_TEST(division_by_zero) {
  static const char *const ops[] = {"div", "mod"};
  for (int i = 0; i < 2; i++) {
    struct op_test t;
    const int8_t a[3] = {1, 2, 3}, b[3] = {1, 0, 1};
    op_begin(&t, ops[i]);
    op_in(&t, SAMARA_INT8, 1, DIMS(3), a);
    op_in(&t, SAMARA_INT8, 1, DIMS(3), b);
    op_out(&t, SAMARA_INT8, 1, DIMS(3));
    op_finish(&t, SAMARA_BAD_DATA, "by zero");
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

SMR_TEST_MAIN(RUN(division_by_zero))
