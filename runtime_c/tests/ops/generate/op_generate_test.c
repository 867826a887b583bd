// SPDX-License-Identifier: Apache-2.0
// range: limits and steps that give no range. Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"

// BAD_DATA where the text is not NULL, and then it is part of the message.
static void range(uint8_t dtype, const void *start, const void *limit, const void *delta,
                  const char *refusal) {
  struct op_test t;
  op_begin(&t, "range");
  op_in(&t, dtype, 0, NULL, start);
  op_in(&t, dtype, 0, NULL, limit);
  op_in(&t, dtype, 0, NULL, delta);
  op_out(&t, dtype, 1, DIMS(0));
  CHECK_EQ_INT(op_run(&t), refusal == NULL ? SAMARA_OK : SAMARA_BAD_DATA);
  if (refusal != NULL) CHECK_CONTAINS(t.error.text, refusal);
  op_end(&t);
}

SMR_TEST(no_ranges_of_floats) {
  static const float cases[][3] = {{0, 1, 0}, {0, NAN, 1}, {0, INFINITY, 1}, {0, 1, 1e-30f}};
  for (size_t i = 0; i < 4; i++)
    range(SAMARA_FLOAT32, &cases[i][0], &cases[i][1], &cases[i][2],
          i == 3 ? "from 0 to 1 by 1e-30" : "from 0");
}

SMR_TEST(no_ranges_of_integers) {
  range(SAMARA_INT64, DIMS(0), DIMS(5), DIMS(0), "from 0");
  range(SAMARA_INT64, DIMS(INT64_MIN), DIMS(INT64_MAX), DIMS(1), "from -9223372036854775808");
}

SMR_TEST_MAIN(RUN(no_ranges_of_floats); RUN(no_ranges_of_integers))
