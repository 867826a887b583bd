// SPDX-License-Identifier: Apache-2.0
// cross_entropy and its gradient: targets that are no class.
// Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/matmul/linear_data.h"

#include <math.h>

static void refused_target(int64_t target, const char *text) {
  struct op_test t;
  op_begin(&t, "cross_entropy");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(2, 3), NULL);
  op_in(&t, SAMARA_INT64, 1, DIMS(2), (int64_t[]){0, target});
  for (int i = 0; i < 3; i++) op_out(&t, SAMARA_FLOAT32, 1, DIMS(2));
  op_finish(&t, SAMARA_BAD_DATA, text);
  op_begin(&t, "cross_entropy_grad");
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(2), NULL);
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(2, 3), NULL);
  op_in(&t, SAMARA_INT64, 1, DIMS(2), (int64_t[]){0, target});
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(2), NULL);
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(2, 3));
  op_finish(&t, SAMARA_BAD_DATA, text);
}

SMR_TEST(targets_are_checked) {
  refused_target(3, "target 3 at position 1 is out of range for 3 classes");
  refused_target(-1, "target -1 at position 1");
  refused_target(INT64_MIN, "target -9223372036854775808 at position 1");
}

SMR_TEST_MAIN(RUN(targets_are_checked))
