// SPDX-License-Identifier: Apache-2.0
// Check class of matmul.
#include "base/fp.h"

#include "ops/check/check_harness.h"

SMR_TEST(dims) {
  CHECK_CASES({"matmul", "f32[2,3] f32[3,4] -> f32[2,4]", "", NULL},
              {"matmul", "f32[3,2] f32[4,3] -> f32[2,4]", "transpose_x=1 transpose_w=1", NULL},
              {"matmul", "f32[5,1,2,3] f32[6,3,4] f32[4] f32[5,6,2,4] -> f32[5,6,2,4]", "", NULL},
              {"matmul", "f32[2,3] f32[4,4] -> f32[2,4]", "", "x has 3 columns, w has 4 rows"},
              {"matmul", "f32[2,2,3] f32[3,3,4] -> f32[3,2,4]", "", "do not broadcast"},
              {"matmul", "f32[2,3] f32[3,4] -> f32[4,2]", "", "output has dims"},
              {"matmul", "f32[3] f32[3,4] -> f32[4]", "", "x has rank 1"},
              {"matmul", "f32[2,3] f32[3,4] f32[2] -> f32[2,4]", "", "bias has dims [2]"},
              {"matmul", "f32[2,3] f32[3,4] - f32[4] -> f32[2,4]", "", "residual has dims [4]"});
}

SMR_TEST(dtypes) {
  CHECK_CASES({"matmul", "f32[2,3] f16[3,4] f16[4] -> f32[2,4]", "", NULL},
              {"matmul", "f32[2,3] f32[3,4] -> f16[2,4]", "", "differ in dtype"},
              {"matmul", "f16[2,3] f32[3,4] - f32[2,4] -> f16[2,4]", "", "x and residual"},
              {"matmul", "i32[2,3] i32[3,4] -> i32[2,4]", "", NULL},
              {"matmul", "i32[2,3] i64[3,4] -> i32[2,4]", "", "inputs differ in dtype"},
              {"matmul", "i32[2,3] i32[3,4] -> i32[2,4]", "post=tanh", "no activation"},
              {"matmul", "i8[2,3] i8[3,4] -> i8[2,4]", "", "x cannot have dtype"});
}

// [K, N] = [3, 20] takes two panels of three rows, 192 bytes each.
SMR_TEST(panels) {
  struct op_test t;
  op_begin(&t, "matmul");
  check_tensors(&t, "f32[2,3] f32[3,20]! -> f32[2,20]");
  t.in[1].size_bytes = 384;
  CHECK_EQ_INT(smr_op_check(&t.job), SAMARA_OK);
  t.in[1].size_bytes = 383;
  CHECK_EQ_INT(smr_op_check(&t.job), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(t.error.text, "383 bytes, too few for 2 panels of 3 rows");
  t.in[1].size_bytes = 384;
  t.in[1].layout = SMR_LAYOUT_DWPANEL;
  CHECK_EQ_INT(smr_op_check(&t.job), SAMARA_BAD_SHAPE);
  t.in[1].layout = 9;
  CHECK_EQ_INT(smr_op_check(&t.job), SAMARA_BAD_SHAPE);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(dims); RUN(dtypes); RUN(panels))
