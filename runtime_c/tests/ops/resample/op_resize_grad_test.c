// SPDX-License-Identifier: Apache-2.0
// resize_grad: what it refuses. Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "simd/half.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

SMR_TEST(refuses) {
  struct op_test t;
  op_begin(&t, "resize_grad");
  op_in(&t, SAMARA_INT8, 3, DIMS(1, 6, 2), NULL);  // integers have no gradient
  op_out(&t, SAMARA_INT8, 3, DIMS(1, 2, 2));
  op_ints(&t, "size", 1, DIMS(2));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  op_begin(&t, "resize_grad");
  op_in(&t, SAMARA_FLOAT32, 3, DIMS(1, 6, 2), NULL);
  op_out(&t, SAMARA_FLOAT32, 3, DIMS(1, 2, 2));
  op_ints(&t, "size", 1, DIMS(2));
  op_int(&t, "mode", 3);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(refuses))
