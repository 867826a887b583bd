// SPDX-License-Identifier: Apache-2.0
// Check class of qresize.
#include "base/fp.h"

#include "ops/check/check_harness.h"

SMR_TEST(qresize) {
  CHECK_CASES(
      {"qresize", "qs8[1,4,3] i32[8,3] -> qs8[1,8,3]", "", NULL},
      {"qresize", "qs8[1,4,5,3] i32[8,3] i32[2,3] -> qs8[1,8,2,3]", "", NULL},
      {"qresize", "qs8[1,4,5,3] i32[8,3] i32[2,3] -> qs8[1,8,3,3]", "", "output has dims"},
      {"qresize", "qs8[1,4,5,3] i32[8,3] i32[2,3] -> qs8[1,8,2,4]", "", "output has dims"},
      {"qresize", "qs8[1,4,5,3] i32[8,3] -> qs8[1,8,5,3]", "", "2 spatial axes need as many"},
      {"qresize", "qs8[1,4,3] i32[8,3] i32[2,3] -> qs8[1,8,3]", "", "1 spatial axes need as many"},
      {"qresize", "qs8[1,4,3] i32[8,2] -> qs8[1,8,3]", "", "taps_0 has dims"},
      {"qresize", "qs8[1,4,3] i32[8] -> qs8[1,8,3]", "", "taps_0 has rank 1"},
      {"qresize", "qs8[1,4,3] i64[8,3] -> qs8[1,8,3]", "", "taps_0 cannot have dtype int64"},
      {"qresize", "qs8[1,4,5,3] i32[8,3] f32[2,3] -> qs8[1,8,2,3]", "", "taps_1 cannot have dtype"},
      {"qresize", "qs8[4,3] i32[8,3] -> qs8[8,3]", "", "input has rank 2"},
      {"qresize", "qs8[1,2,3,4,3] i32[8,3] i32[2,3] -> qs8[1,8,2,4,3]", "", "input has rank 5"});
}

SMR_TEST_MAIN(RUN(qresize))
