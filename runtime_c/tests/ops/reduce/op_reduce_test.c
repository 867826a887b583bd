// SPDX-License-Identifier: Apache-2.0
// Reductions along columns: the last tile is smaller than the others.
#include "base/fp.h"

#include "ops/op_harness.h"

enum { WIDTH = 12000 };  // 47 blocks of columns, which tiles do not divide

SMR_TEST(the_last_columns_belong_to_one_tile) {
  float *x = (float *)malloc(2 * WIDTH * sizeof(float));
  for (size_t i = 0; i < 2 * (size_t)WIDTH; i++) x[i] = (float)(i % 1000);
  struct op_test t;
  op_begin(&t, "reduce_sum");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(2, WIDTH), x);
  op_out(&t, SAMARA_FLOAT32, 1, DIMS(WIDTH));
  op_ints(&t, "axes", 1, (int64_t[]){0});
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    CHECK(t.tiles > 1);
    int right = 1;
    for (size_t j = 0; j < WIDTH; j++)
      right = right && ((const float *)t.out[0].data)[j] == x[j] + x[WIDTH + j];
    CHECK(right);
  }
  op_end(&t);
  free(x);
}

SMR_TEST_MAIN(RUN(the_last_columns_belong_to_one_tile))
