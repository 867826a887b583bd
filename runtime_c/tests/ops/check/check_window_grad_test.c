// SPDX-License-Identifier: Apache-2.0
// Check classes of the gradients of convolutions and pools.
#include "base/fp.h"

#include "ops/check/check_harness.h"

#define ONES "strides=[1,1] dilations=[1,1] "
#define PLAIN ONES "pads=[0,0,0,0] "

SMR_TEST(conv_grad_input) {
  CHECK_CASES(
      {"conv_grad_input", "f32[1,3,4,8] f32[8,3,3,4] -> f32[1,5,6,4]", PLAIN "size=[5,6]", NULL},
      {"conv_grad_input", "f32[1,3,4,8] f32[8,3,3,2] -> f32[1,5,6,4]", PLAIN "size=[5,6] groups=2",
       NULL},
      {"conv_grad_input", "f32[1,2,2,8] f32[8,3,3,4] -> f32[1,6,5,4]",
       "strides=[2,2] dilations=[1,1] pads=[0,0,0,0] size=[6,5]", NULL},
      {"conv_grad_input", "f32[1,3,4,8] f32[8,3,3,4] -> f32[1,5,6,4]", PLAIN "size=[5,7]",
       "output has dims"},
      {"conv_grad_input", "f32[1,3,4,8] f32[8,3,3,4] -> f32[1,6,6,4]", PLAIN "size=[6,6]",
       "dy has dims"},
      {"conv_grad_input", "f32[1,3,4,8] f32[8,3,3,4] -> f32[2,5,6,4]", PLAIN "size=[5,6]",
       "output has dims"},
      {"conv_grad_input", "f32[1,3,4,8] f32[8,3,3,3] -> f32[1,5,6,4]", PLAIN "size=[5,6]",
       "output has dims"},
      {"conv_grad_input", "f32[1,3,4,8] f32[9,3,3,4] -> f32[1,5,6,4]", PLAIN "size=[5,6]",
       "dy has dims"},
      {"conv_grad_input", "f32[1,3,4,8] f32[8,3,3,4] -> f32[1,5,6,4]", PLAIN "size=[5,6] groups=3",
       "groups"},
      {"conv_grad_input", "f32[1,3,4,8] f32[8,3,3,4] -> f32[1,5,6,4]", PLAIN "size=[5]",
       "size has 1"},
      {"conv_grad_input", "f32[1,3,4,8] f32[8,3,4] -> f32[1,5,6,4]", PLAIN "size=[5,6]",
       "w has rank"},
      {"conv_grad_input", "f32[1,3,4,8] f32[8,0,3,4] -> f32[1,5,6,4]", PLAIN "size=[5,6]",
       "kernel[0] is 0"});
}

SMR_TEST(conv_grad_weight) {
  CHECK_CASES(
      {"conv_grad_weight", "f32[1,3,4,8] f32[1,5,6,4] -> f32[8,3,3,4]", PLAIN "kernel=[3,3]", NULL},
      {"conv_grad_weight", "f32[1,3,4,8] f32[1,5,6,4] -> f32[8,3,3,2]",
       PLAIN "kernel=[3,3] groups=2", NULL},
      {"conv_grad_weight", "f32[2,3,4,8] f32[1,5,6,4] -> f32[8,3,3,4]", PLAIN "kernel=[3,3]",
       "dy has dims"},
      {"conv_grad_weight", "f32[1,3,4,8] f32[1,5,6,4] -> f32[8,3,3,4]", PLAIN "kernel=[3,2]",
       "output has dims"},
      {"conv_grad_weight", "f32[1,3,4,8] f32[1,5,6,4] -> f32[8,3,3,4]", PLAIN "kernel=[3,0]",
       "kernel[1] is 0"},
      {"conv_grad_weight", "f32[1,3,4,8] f32[1,5,6,4] -> f32[8,3,3,1]",
       PLAIN "kernel=[3,3] groups=3", "groups"},
      {"conv_grad_weight", "f32[1,3,4,8] f32[1,7,6,4] -> f32[8,3,3,4]", PLAIN "kernel=[3,3]",
       "dy has dims"},
      {"conv_grad_weight", "f32[3,8] f32[5,4] -> f32[8,4]",
       "strides=[] dilations=[] pads=[] kernel=[]", "x has rank"});
}

SMR_TEST(pools) {
#define WINDOW "kernel=[2,2] strides=[2,2] dilations=[1,1] pads=[0,0,0,0] "
  CHECK_CASES(
      {"max_pool_grad", "f32[1,2,3,4] f32[1,4,6,4] -> f32[1,4,6,4]", WINDOW, NULL},
      {"max_pool_grad", "f32[1,2,3,4] f32[1,4,6,4] -> f32[1,4,7,4]", WINDOW, "output has dims"},
      {"max_pool_grad", "f32[1,2,3,4] f32[1,6,6,4] -> f32[1,6,6,4]", WINDOW, "dy has dims"},
      {"max_pool_grad", "f32[1,2,3,4] f32[1,4,6,5] -> f32[1,4,6,5]", WINDOW, "dy has dims"},
      {"max_pool_grad", "f32[1,2,3,4] f16[1,4,6,4] -> f32[1,4,6,4]", WINDOW, "float"},
      {"avg_pool_grad", "f32[1,2,3,4] -> f32[1,4,6,4]", WINDOW "extend=[0,0] size=[4,6]", NULL},
      {"avg_pool_grad", "f32[1,3,3,4] -> f32[1,5,6,4]", WINDOW "extend=[1,0] size=[5,6]", NULL},
      {"avg_pool_grad", "f32[1,2,3,4] -> f32[1,4,6,4]", WINDOW "extend=[0,0] size=[4,7]",
       "output has dims"},
      {"avg_pool_grad", "f32[1,2,3,4] -> f32[1,6,6,4]", WINDOW "extend=[0,0] size=[6,6]",
       "dy has dims"},
      {"avg_pool_grad", "f32[1,2,3,4] -> f32[1,4,6,4]", WINDOW "extend=[0] size=[4,6]",
       "extend has 1"},
      {"max_pool_indices", "f32[1,4,6,4] -> i64[1,2,3,4]", WINDOW, NULL},
      {"max_pool_indices", "f32[1,4,6,4] -> i32[1,2,3,4]", WINDOW, "int32"});
#undef WINDOW
}

SMR_TEST_MAIN(RUN(conv_grad_input); RUN(conv_grad_weight); RUN(pools))
