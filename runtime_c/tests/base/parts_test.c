// SPDX-License-Identifier: Apache-2.0
// Parts that a build leaves out: their nodes are refused by name and never replaced, and the needs
// of a node are noted. The operators of this test are compiled with the parts of parts_left_out
// (CMakeLists.txt) at 0.
#include "base/fp.h"

#include "ops/op_harness.h"

static const float some[512];

// Prepares; checks that it succeeds, or is refused for want of `part`.
static void expect(struct op_test *t, const char *part) {
  struct smr_parts parts = {{0}};
  t->job.parts = &parts;
  const samara_status status = op_test_plan(t);
  if (part == NULL) {
    CHECK_EQ_INT(status, SAMARA_OK);
  } else if (CHECK_EQ_INT(status, SAMARA_UNSUPPORTED)) {
    CHECK_CONTAINS(t->error.text, part);
  }
  t->job.parts = NULL;
}

static bool noted(struct op_test *t, size_t part) {
  struct smr_parts parts = {{0}};
  t->job.parts = &parts;
  const samara_status status = op_test_plan(t);
  t->job.parts = NULL;
  return status == SAMARA_OK && smr_parts_have(&parts, part) != 0;
}

// A product of m rows by packed weights [32][columns].
static void matmul_begin(struct op_test *t, int64_t m, int64_t columns) {
  op_begin(t, "matmul");
  op_in(t, SAMARA_FLOAT32, 2, DIMS(m, 8), some);
  op_constant(t, SAMARA_FLOAT32, 2, DIMS(8, columns), some);
  op_out(t, SAMARA_FLOAT32, 2, DIMS(m, columns));
}

SMR_TEST(products) {
  struct op_test t;
  matmul_begin(&t, 9, 16);
  CHECK(noted(&t, SMR_PART_f32_gemm));
  CHECK(noted(&t, SMR_PART_linear_pack));
  CHECK(!noted(&t, SMR_PART_f32_gemm_short));
  // Another batch might be a single row.
  t.job.dims_vary = true;
  expect(&t, "f32_gemv");
  op_end(&t);
  matmul_begin(&t, 1, 16);
  expect(&t, "f32_gemv");
  op_end(&t);
  matmul_begin(&t, 9, 20);
  expect(&t, "f32_gemm_half");
  op_end(&t);
  matmul_begin(&t, 9, 32);
  op_enum(&t, "post", "gelu");
  CHECK(noted(&t, SMR_PART_f32_vunary_gelu));
  op_enum(&t, "post", "tanh");
  expect(&t, "f32_vunary");
  op_end(&t);
}

SMR_TEST(other_types_of_products) {
  struct op_test t;
  op_begin(&t, "matmul");
  op_in(&t, SAMARA_INT32, 2, DIMS(2, 2), some);
  op_in(&t, SAMARA_INT32, 2, DIMS(2, 2), some);
  op_out(&t, SAMARA_INT32, 2, DIMS(2, 2));
  expect(&t, "matmul_int32");
  op_end(&t);
}

static void conv_begin(struct op_test *t, int64_t channels, int64_t groups) {
  op_begin(t, "conv");
  op_in(t, SAMARA_FLOAT32, 4, DIMS(1, 4, 4, channels), some);
  op_constant(t, SAMARA_FLOAT32, 4, DIMS(16, 3, 3, channels / groups), some);
  op_out(t, SAMARA_FLOAT32, 4, DIMS(1, 4, 4, 16));
  op_int(t, "groups", groups);
  op_ints(t, "strides", 2, DIMS(1, 1));
  op_ints(t, "dilations", 2, DIMS(1, 1));
  op_ints(t, "pads", 4, DIMS(1, 1, 1, 1));
}

SMR_TEST(paths_of_convolutions) {
  struct op_test t;
  conv_begin(&t, 3, 1);
  expect(&t, "how conv computes this node, direct");
  op_end(&t);
  conv_begin(&t, 16, 16);
  CHECK(noted(&t, SMR_PART_f32_dwconv_3s1));
  CHECK(!noted(&t, SMR_PART_f32_dwconv_part));
  op_end(&t);
}

SMR_TEST(functions_by_type) {
  struct op_test t;
  op_begin(&t, "exp");
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(4), some);
  op_out(&t, SAMARA_FLOAT32, 1, DIMS(4));
  expect(&t, "f32_vunary");
  op_end(&t);
  op_begin(&t, "log");
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(4), some);
  op_out(&t, SAMARA_FLOAT32, 1, DIMS(4));
  CHECK(noted(&t, SMR_PART_f32_vunary_log));
  op_end(&t);
  op_begin(&t, "add");
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(4), some);
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(4), some);
  op_out(&t, SAMARA_FLOAT32, 1, DIMS(4));
  CHECK(noted(&t, SMR_PART_f32_vbinary_add));
  CHECK(!noted(&t, SMR_PART_f32_vbinary_broadcast));
  op_end(&t);
  op_begin(&t, "add");
  op_in(&t, SAMARA_INT64, 1, DIMS(4), some);
  op_in(&t, SAMARA_INT64, 1, DIMS(4), some);
  op_out(&t, SAMARA_INT64, 1, DIMS(4));
  expect(&t, "vbinary");
  op_end(&t);
}

static void reduce_begin(struct op_test *t, int64_t axis) {
  op_begin(t, "reduce_sum");
  op_in(t, SAMARA_FLOAT32, 2, DIMS(4, 8), some);
  op_out(t, SAMARA_FLOAT32, 1, DIMS(axis == 0 ? 8 : 4));
  op_ints(t, "axes", 1, DIMS(axis));
}

SMR_TEST(rows_and_columns) {
  struct op_test t;
  reduce_begin(&t, 1);
  expect(&t, "f32_reduce_row");
  op_end(&t);
  reduce_begin(&t, 0);
  CHECK(noted(&t, SMR_PART_f32_reduce_columns_sum));
  t.job.dims_vary = true;
  expect(&t, "f32_reduce_row");
  op_end(&t);
  op_begin(&t, "log_softmax");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(4, 8), some);
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(4, 8));
  op_int(&t, "axis", -1);
  expect(&t, "f32_softmax");
  op_end(&t);
}

SMR_TEST_MAIN(RUN(products); RUN(other_types_of_products); RUN(paths_of_convolutions);
              RUN(functions_by_type); RUN(rows_and_columns))
