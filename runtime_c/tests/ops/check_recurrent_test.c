// SPDX-License-Identifier: Apache-2.0
// Check classes of the recurrent networks.
#include "base/fp.h"

#include "check_harness.h"

SMR_TEST(lstm) {
  CHECK_CASES(
      {"lstm",
       "f32[5,2,3] f32[1,16,3] f32[1,16,4] f32[1,32] - f32[1,2,4] f32[1,2,4] f32[1,12]"
       " -> f32[5,1,2,4] f32[1,2,4] f32[1,2,4]",
       "hidden=4", NULL},
      {"lstm", "f32[5,2,3] f32[2,16,3] f32[2,16,4] - i32[2] -> f32[5,2,2,4] f32[2,2,4] f32[2,2,4]",
       "hidden=4 direction=bidirectional", NULL},
      {"lstm", "f32[5,2,3] f32[1,12,3] f32[1,16,4] -> f32[5,1,2,4] f32[1,2,4] f32[1,2,4]",
       "hidden=4", "w has dims"},
      {"lstm", "f32[5,2,3] f32[1,16,3] f32[1,16,4] -> f32[5,1,2,4] f32[1,2,4] f32[2,1,4]",
       "hidden=4", "y_c has dims"},
      {"lstm", "f32[5,2,3] f32[1,16,3] f32[1,16,4] - i64[2] -> f32[5,1,2,4] f32[1,2,4] f32[1,2,4]",
       "hidden=4", "lengths cannot have dtype"},
      {"lstm", "f32[5,2,3] f32[1,16,3] f32[1,16,4] -> f32[5,1,2,4] f32[1,2,4] f32[1,2,4]",
       "hidden=0", "hidden is 0"},
      {"lstm", "f32[5,2,3] f32[1,16,3] f32[1,16,4] -> f32[5,1,2,4] f32[1,2,4] f32[1,2,4]",
       "hidden=4 direction=3", "direction 3"});
}

SMR_TEST(gru) {
  CHECK_CASES({"gru", "f32[5,2,3] f32[1,12,3] f32[1,12,4] f32[1,24] -> f32[5,1,2,4] f32[1,2,4]",
               "hidden=4", NULL},
              {"gru", "f32[5,2,3] f32[1,12,3] f32[1,12,4] f32[1,12] -> f32[5,1,2,4] f32[1,2,4]",
               "hidden=4", "bias has dims"},
              {"gru", "f32[5,2,3] f32[1,12,3] f32[1,12,4] -> f32[5,2,1,4] f32[1,2,4]", "hidden=4",
               "y has dims"});
}

SMR_TEST_MAIN(RUN(lstm); RUN(gru))
