// SPDX-License-Identifier: Apache-2.0
// transpose, slice and expand: which kernel moves the elements. Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/check/check_harness.h"

static void moved_by(const char *kernel, const char *op, const char *tensors, const char *attrs) {
  struct op_test t;
  op_begin(&t, op);
  check_tensors(&t, tensors);
  check_attrs(&t, attrs);
  if (CHECK_EQ_INT(op_test_plan(&t), SAMARA_OK)) CHECK_STR(t.job.kernel, kernel);
  op_end(&t);
}

SMR_TEST(kernels) {
  moved_by("view_transpose", "transpose", "f32[1,61,47,35] -> f32[1,35,61,47]", "perm=[0,3,1,2]");
  moved_by("view_rows", "slice", "i32[2,4,3] -> i32[2,2,3]",
           "begin=[0,1,0] end=[2,3,3] step=[1,1,1]");  // rows stay rows
  moved_by("view_fill", "expand", "i64[] -> i64[300,301]", "shape=[300,301]");
}

// An empty tensor needs no tiles.
SMR_TEST(empty) {
  struct op_test t;
  op_begin(&t, "reshape");
  check_tensors(&t, "f32[0,5] -> f32[3,0]");
  check_attrs(&t, "shape=[3,0]");
  CHECK_EQ_INT(op_test_plan(&t), SAMARA_OK);
  CHECK_EQ_INT(t.job.tiles, 0);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(kernels); RUN(empty))
