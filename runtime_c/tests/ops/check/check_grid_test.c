// SPDX-License-Identifier: Apache-2.0
// Check classes of grid_sample and its gradient.
#include "base/fp.h"

#include "ops/check/check_harness.h"

SMR_TEST(grid_sample) {
  CHECK_CASES(
      {"grid_sample", "f32[2,4,5,3] f32[2,6,7,2] -> f32[2,6,7,3]", "", NULL},
      {"grid_sample", "f32[2,3,4,5,1] f32[2,6,0,7,3] -> f32[2,6,0,7,1]", "", NULL},
      {"grid_sample", "f32[2,4,3] f32[2,6,1] -> f32[2,6,3]", "", "x has rank 3"},
      {"grid_sample", "f32[2,4,5,3] f32[2,6,2] -> f32[2,6,7,3]", "", "grid has rank 3"},
      {"grid_sample", "f32[2,4,5,3] f32[1,6,7,2] -> f32[2,6,7,3]", "", "grid has dims"},
      {"grid_sample", "f32[2,4,5,3] f32[2,6,7,3] -> f32[2,6,7,3]", "", "grid has dims"},
      {"grid_sample", "f32[2,4,0,3] f32[2,6,7,2] -> f32[2,6,7,3]", "", "has extent 0"},
      {"grid_sample", "f32[2,4,5,3] f32[2,6,7,2] -> f32[2,6,7,2]", "", "samples has dims"},
      {"grid_sample", "f32[2,4,5,3] f16[2,6,7,2] -> f32[2,6,7,3]", "", "inputs"},
      {"grid_sample", "f32[2,4,5,3] f32[2,6,7,2] -> f32[2,6,7,3]", "mode=3", "mode 3"},
      {"grid_sample", "f32[2,3,4,5,1] f32[2,6,6,7,3] -> f32[2,6,6,7,1]", "mode=cubic", NULL});
}

SMR_TEST(grid_sample_grad) {
  CHECK_CASES(
      {"grid_sample_grad", "f32[2,6,7,3] f32[2,4,5,3] f32[2,6,7,2] -> f32[2,4,5,3] f32[2,6,7,2]",
       "", NULL},
      {"grid_sample_grad", "f32[2,6,8,3] f32[2,4,5,3] f32[2,6,7,2] -> f32[2,4,5,3] f32[2,6,7,2]",
       "", "samples has dims"},
      {"grid_sample_grad", "f32[2,6,7,3] f32[2,4,5,3] f32[2,6,7,2] -> f32[2,4,4,3] f32[2,6,7,2]",
       "", "gradient of x has dims"},
      {"grid_sample_grad", "f32[2,6,7,3] f32[2,4,5,3] f32[2,6,7,2] -> f32[2,4,5,3] f32[2,6,7,3]",
       "", "gradient of grid has dims"});
}

SMR_TEST_MAIN(RUN(grid_sample), RUN(grid_sample_grad))
