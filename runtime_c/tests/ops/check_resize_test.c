// SPDX-License-Identifier: Apache-2.0
// Check class of resize.
#include "base/fp.h"

#include "check_harness.h"

SMR_TEST(resize) {
  CHECK_CASES({"resize", "f32[1,4,5,3] -> f32[1,8,2,3]", "sizes=[8,2]", NULL},
              {"resize", "f32[1,4,5,3] -> f32[1,8,2,3]", "sizes=[8]", "sizes has 1"},
              {"resize", "f32[1,4,5,3] -> f32[1,8,2,4]", "sizes=[8,2]", "output has dims"},
              {"resize", "f32[1,0,5,3] -> f32[1,8,2,3]", "sizes=[8,2]", "cannot become 8"},
              {"resize", "f32[4,3] -> f32[4,3]", "sizes=[]", "input has rank 2"},
              {"resize", "f32[1,4,5,3] -> f32[1,8,2,3]", "sizes=[8,-1]", "sizes[1] is -1"},
              {"resize", "f32[1,4,5,3] -> f32[1,8,2,3]", "sizes=[8,2] scales=[0]", "scales has 1"});
}

SMR_TEST_MAIN(RUN(resize))
