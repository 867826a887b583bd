// SPDX-License-Identifier: Apache-2.0
// Packed weights of lstm and gru.
#include "base/fp.h"

#include "ops/recurrent/recurrent_data.h"

static const char *const ops[2] = {"lstm", "gru"};

// Weights packed once per model give the bits of weights packed while running.
SMR_TEST(constants_give_the_same_bits) {
  for (int o = 0; o < 2; o++)
    for (int64_t hidden = 15; hidden <= 33; hidden += 9)
      for (int half = 0; half < 2; half++) {
        struct recurrent_case c = {ops[o],         4,           3, 21, hidden, "bidirectional",
                                   .states = true, .half = half};
        struct op_test computed, constant;
        recurrent_begin(&computed, &c);
        c.constants = true;
        recurrent_begin(&constant, &c);
        if (CHECK_EQ_INT(op_run(&computed), SAMARA_OK) &&
            CHECK_EQ_INT(op_run(&constant), SAMARA_OK)) {
          CHECK_EQ_INT(constant.job.derived[0].input, 1);
          CHECK_EQ_INT(constant.job.derived[1].input, 2);
          CHECK(constant.job.scratch_bytes < computed.job.scratch_bytes);
          for (uint32_t i = 0; i < computed.job.output_count; i++)
            op_expect_bytes(&constant, i, computed.out[i].data, computed.out[i].size_bytes);
        }
        op_end(&computed);
        op_end(&constant);
      }
}

SMR_TEST_MAIN(RUN(constants_give_the_same_bits))
