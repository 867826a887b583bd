// SPDX-License-Identifier: Apache-2.0
// concat and split: what they refuse. Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

SMR_TEST(refuses_what_does_not_fit) {
  struct op_test t;
  op_begin(&t, "concat");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(2, 3), NULL);
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(3, 3), NULL);
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(2, 6));
  op_int(&t, "axis", 1);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  op_begin(&t, "split");
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(5), NULL);
  op_out(&t, SAMARA_FLOAT32, 1, DIMS(2));
  op_out(&t, SAMARA_FLOAT32, 1, DIMS(2));
  op_int(&t, "axis", 0);
  op_ints(&t, "sizes", 2, DIMS(2, 2));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
}

// Files may lie: dtypes of inputs and outputs are compared before anything is copied.
SMR_TEST(refuses_mixed_dtypes) {
  struct op_test t;
  op_begin(&t, "concat");
  op_in(&t, SAMARA_INT8, 1, DIMS(2), NULL);
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(2), NULL);
  op_out(&t, SAMARA_INT8, 1, DIMS(4));
  op_int(&t, "axis", 0);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  op_begin(&t, "split");
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(2), NULL);
  op_out(&t, SAMARA_INT8, 1, DIMS(2));
  op_int(&t, "axis", 0);
  op_ints(&t, "sizes", 1, DIMS(2));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(refuses_what_does_not_fit); RUN(refuses_mixed_dtypes))
