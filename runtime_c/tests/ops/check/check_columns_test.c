// SPDX-License-Identifier: Apache-2.0
// Check classes of operators that unfold windows into columns and fold them.
#include "base/fp.h"

#include "ops/check/check_harness.h"

#define WINDOW "kernel=[2,3] strides=[1,2] dilations=[1,1] pads=[0,1,0,1]"

SMR_TEST(deform_columns) {
  CHECK_CASES(
      {"deform_columns", "f32[2,4,5,6] f32[2,3,3,12] f32[2,3,3,6] -> f32[2,3,3,36]", WINDOW, NULL},
      {"deform_columns", "f32[2,4,5,6] f32[2,3,3,36] -> f32[2,3,3,36]",
       WINDOW " groups=2 offset_groups=3", NULL},
      {"deform_columns", "f32[2,4,5] f32[2,3,3,12] -> f32[2,3,3,36]", WINDOW, "x has rank 3"},
      {"deform_columns", "f32[2,4,5,6] f32[2,3,3,11] -> f32[2,3,3,36]", WINDOW, "offset has dims"},
      {"deform_columns", "f32[2,4,5,6] f32[2,3,3,12] f32[2,3,3,5] -> f32[2,3,3,36]", WINDOW,
       "mask has dims"},
      {"deform_columns", "f32[2,4,5,6] f32[2,3,3,12] -> f32[2,3,3,30]", WINDOW, "output has dims"},
      {"deform_columns", "f32[2,4,5,6] f32[2,3,3,12] -> f32[2,3,3,36]", WINDOW " groups=4",
       "4 groups"},
      {"deform_columns", "f32[2,4,5,6] f32[2,3,3,12] -> f32[2,3,3,36]", WINDOW " offset_groups=0",
       "0 offset groups"},
      {"deform_columns", "f32[2,1,5,6] f32[2,3,3,12] -> f32[2,3,3,36]", WINDOW,
       "extent 2 does not fit 1"},
      {"deform_columns", "f32[2,4,5,6] f32[2,3,3,12] -> f32[2,3,3,36]",
       "kernel=[2,3] strides=[0,2] dilations=[1,1] pads=[0,1,0,1]", "strides"},
      {"deform_columns", "f32[2,4,5,6] f32[2,3,3,12] -> f32[2,3,3,36]",
       "kernel=[2,3] strides=[1,2] dilations=[1,1] pads=[0,1,0]", "pads"},
      {"deform_columns", "f32[2,4,5,6] f16[2,3,3,12] -> f32[2,3,3,36]", WINDOW, "inputs"});
}

SMR_TEST(fold) {
  CHECK_CASES(
      {"fold", "f32[2,3,2,3,3,3] -> f32[2,3,4,5]",
       "size=[4,5] strides=[1,2] dilations=[1,1] pads=[0,1,0,1]", NULL},
      {"fold", "f16[2,3,4,6] -> f16[2,3,9]", "size=[9] strides=[1] dilations=[1] pads=[0,0]", NULL},
      {"fold", "f32[1,1,1,2,1,2,2,3] -> f32[1,1,2,3,3]",
       "size=[2,3,3] strides=[1,1,1] dilations=[1,1,1] pads=[0,0,0,0,0,0]", NULL},
      {"fold", "f32[2,3,4] -> f32[2,3,9]", "size=[9] strides=[1] dilations=[1] pads=[0,0]",
       "x has rank 3"},
      {"fold", "f32[2,3,4,5,6] -> f32[2,3,9]", "size=[9] strides=[1] dilations=[1] pads=[0,0]",
       "rank 5"},
      {"fold", "f32[2,3,4,5] -> f32[2,3,9]", "size=[9] strides=[1] dilations=[1] pads=[0,0]",
       "x has dims"},
      {"fold", "f32[2,3,4,6] -> f32[2,3,8]", "size=[9] strides=[1] dilations=[1] pads=[0,0]",
       "output has dims"},
      {"fold", "f32[2,3,0,6] -> f32[2,3,9]", "size=[9] strides=[1] dilations=[1] pads=[0,0]",
       "a window of 0"},
      {"fold", "f32[2,3,10,1] -> f32[2,3,9]", "size=[9] strides=[1] dilations=[1] pads=[0,0]",
       "extent 10 does not fit 9"},
      {"fold", "f32[2,3,4,6] -> i8[2,3,9]", "size=[9] strides=[1] dilations=[1] pads=[0,0]",
       "x and output"});
}

SMR_TEST_MAIN(RUN(deform_columns), RUN(fold))
