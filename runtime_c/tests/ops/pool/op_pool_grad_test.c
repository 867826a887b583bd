// SPDX-License-Identifier: Apache-2.0
// Gradients of pools: windows as large as numbers in a file get.
// Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/matmul/linear_data.h"

// As large as numbers in a file get: the window meets one element, nothing overflows.
SMR_TEST(huge_windows) {
  for (int avg = 0; avg < 2; avg++) {
    struct op_test t;
    op_begin(&t, avg ? "avg_pool_grad" : "max_pool_grad");
    op_in(&t, SAMARA_FLOAT32, 3, DIMS(1, 1, 1), (const float[]){3});
    if (!avg) op_in(&t, SAMARA_FLOAT32, 3, DIMS(1, 1, 1), (const float[]){5});
    op_out(&t, SAMARA_FLOAT32, 3, DIMS(1, 1, 1));
    op_ints(&t, "kernel", 1, DIMS(INT32_MAX));
    op_ints(&t, "strides", 1, DIMS(INT32_MAX));
    op_ints(&t, "dilations", 1, DIMS(1));
    op_ints(&t, "pads", 2, DIMS(0, INT32_MAX - 1));
    if (avg) op_ints(&t, "extend", 1, DIMS(0));
    if (avg) op_ints(&t, "size", 1, DIMS(1));
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) op_expect_f32(&t, 0, (const float[]){3}, 1, 0);
    op_end(&t);
  }
}

SMR_TEST_MAIN(RUN(huge_windows))
