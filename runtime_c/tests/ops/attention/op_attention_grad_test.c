// SPDX-License-Identifier: Apache-2.0
// attention_grad: keys that no row sees, rows without elements, float16 that is rounded once.
// Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include <math.h>

#include "ops/attention/attention_data.h"

// A value that no row sees may have any bits.
SMR_TEST(unseen_keys_are_not_looked_at) {
  const struct attention_case c = {1, 1, 4, 9, 3, 5, false, true};
  struct op_test t;
  attention_begin(&t, true, &c, 1.0f);
  for (size_t i = 4 * c.d; i < c.t * c.d; i++) ((float *)t.in_data[1])[i] = NAN;
  for (size_t i = 4 * c.dv; i < c.t * c.dv; i++) ((float *)t.in_data[2])[i] = INFINITY;
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    for (size_t i = 0; i < c.t * c.d; i++) {
      const float dk = ((const float *)t.out[1].data)[i];
      CHECK(i < 4 * c.d ? isfinite(dk) : dk == 0);
    }
    for (size_t i = 0; i < c.t * c.dv; i++) CHECK(isfinite(((const float *)t.out[2].data)[i]));
  }
  op_end(&t);
}

// The largest number of rows, without elements: no loop may run over the rows.
SMR_TEST(rows_without_elements) {
  const size_t many = SIZE_MAX >> 8;
  const struct attention_case cases[] = {{1, 1, many, 0, 0, 0, false, false},
                                         {1, 1, many, 3, 0, 0, true, false},
                                         {1, many, 0, 0, 3, 4, false, true}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct op_test t;
    attention_begin(&t, true, &cases[i], 1.0f);
    CHECK_EQ_INT(op_run(&t), SAMARA_OK);
    CHECK_EQ_INT(t.job.tiles, 0);
    op_end(&t);
  }
}

SMR_TEST(float16_rounds_once) { attention_rounds_once(true); }

SMR_TEST_MAIN(RUN(unseen_keys_are_not_looked_at); RUN(rows_without_elements);
              RUN(float16_rounds_once))
