// SPDX-License-Identifier: Apache-2.0
// random_uniform continues its stream; what it and dropout refuse.
// Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"

enum { N = 20001 };  // several tiles, the last of them part of a block

static const int64_t dims[] = {N}, two[] = {2};

static void uniform_begin(struct op_test *t, int64_t key, int64_t block) {
  op_begin(t, "random_uniform");
  op_in(t, SAMARA_INT64, 1, two, (const int64_t[]){key, block});
  op_ints(t, "shape", 1, dims);
  op_out(t, SAMARA_FLOAT32, 1, dims);
}

static void dropout_begin(struct op_test *t, const float *x, float p) {
  op_begin(t, "dropout");
  op_in(t, SAMARA_FLOAT32, 1, dims, x);
  op_in(t, SAMARA_INT64, 1, two, (const int64_t[]){77, 5});
  op_out(t, SAMARA_FLOAT32, 1, dims);
  op_f32(t, "p", p);
}

// A later block is a later place of the same stream.
SMR_TEST(blocks_continue) {
  struct op_test a, b;
  uniform_begin(&a, -3, 9);
  uniform_begin(&b, -3, 9 + 100);
  if (CHECK_EQ_INT(op_run(&a), SAMARA_OK) && CHECK_EQ_INT(op_run(&b), SAMARA_OK))
    CHECK_MEM((const float *)a.out[0].data + 400, (const float *)b.out[0].data,
              (N - 400) * sizeof(float));
  op_end(&a);
  op_end(&b);
}

SMR_TEST(refused) {
  struct op_test t;
  static const float bad[] = {-0.5f, 1.5f};
  for (size_t i = 0; i < 2; i++) {
    dropout_begin(&t, NULL, bad[i]);
    op_finish(&t, SAMARA_BAD_SHAPE, NULL);
  }
  dropout_begin(&t, NULL, 0.5f);
  t.in[1].dtype = SAMARA_INT32;
  op_finish(&t, SAMARA_BAD_SHAPE, NULL);
  uniform_begin(&t, 1, 1);
  t.in[0].dims[0] = 1;
  op_finish(&t, SAMARA_BAD_SHAPE, NULL);
  uniform_begin(&t, 1, 1);
  t.out[0].dims[0] = N - 1;
  op_finish(&t, SAMARA_BAD_SHAPE, NULL);
}

SMR_TEST_MAIN(RUN(blocks_continue); RUN(refused))
