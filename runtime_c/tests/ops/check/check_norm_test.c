// SPDX-License-Identifier: Apache-2.0
// Check classes of the normalisations.
#include "base/fp.h"

#include "ops/check/check_harness.h"

SMR_TEST(norm) {
  CHECK_CASES({"layer_norm", "f32[2,3,4] f32[3,4] f32[3,4] -> f32[2,3,4]", "axis=1", NULL},
              {"layer_norm", "f32[2,4] - f32[4] -> f32[2,4]", "", NULL},
              {"layer_norm", "f32[2,4] f32[1] -> f32[2,4]", "", "scale has dims [1]"},
              {"layer_norm", "f32[2,4] f32[4] f32[2,4] -> f32[2,4]", "", "bias has dims [2, 4]"},
              {"layer_norm", "f32[2,4] f32[4] -> f32[2,5]", "", "output has dims"},
              {"layer_norm", "f32[2,4] f16[4] -> f32[2,4]", "", "differ in dtype"},
              {"rms_norm", "f32[2,4] f32[4] -> f32[2,4]", "axis=2", "axis 2 is out of range"});
}

SMR_TEST(channel_norm) {
  CHECK_CASES({"instance_norm", "f32[2,5,4] f32[4] f32[4] -> f32[2,5,4]", "", NULL},
              {"instance_norm", "f32[2,5,4] f32[5] f32[4] -> f32[2,5,4]", "", "scale has dims [5]"},
              {"instance_norm", "f32[4] f32[4] f32[4] -> f32[4]", "", "input has rank 1"},
              {"instance_norm", "f32[2,5,4] f32[4] f32[4] -> f32[2,4,5]", "", "output has dims"},
              {"lrn", "f32[2,5,4] -> f32[2,5,4]", "size=0", "size must be at least 1"});
}

SMR_TEST(group_norm) {
  CHECK_CASES(
      {"group_norm", "f32[2,5,4] f32[4] f32[4] -> f32[2,5,4]", "groups=2", NULL},
      {"group_norm", "f32[2,4] -> f32[2,4]", "groups=0", NULL},
      {"group_norm", "f32[2,5,4] -> f32[2,5,4]", "groups=3", "3 groups do not divide 4 channels"},
      {"group_norm", "f32[2,5,4] -> f32[2,5,4]", "groups=-1", "-1 groups do not divide"},
      {"group_norm", "f32[2,5,4] f32[3] -> f32[2,5,4]", "groups=2", "scale has dims [3]"},
      {"group_norm_grad", "f32[2,5,4] f32[2,5,4] f32[4] -> f32[2,5,4] f32[4] f32[4]", "groups=2",
       NULL},
      {"group_norm_grad", "f32[2,4,5] f32[2,5,4] -> f32[2,5,4] f32[4] f32[4]", "groups=2",
       "dy has dims"},
      {"group_norm_grad", "f32[2,5,4] f32[2,5,4] -> f32[2,5,4] f32[4] f32[5]", "groups=2",
       "a gradient per channel has dims [5]"},
      {"group_norm_grad", "f32[2,5,4] f32[2,5,4] -> f32[2,5,4] f32[4] f32[4]", "groups=5",
       "5 groups do not divide"});
}

SMR_TEST(batch_norm) {
  CHECK_CASES(
      {"batch_norm", "f32[5,4] - f32[4] -> f32[5,4] f32[4] f32[4]", "", NULL},
      {"batch_norm", "f32[4] -> f32[4] f32[4] f32[4]", "", "input has rank 1"},
      {"batch_norm", "f32[5,4] -> f32[5,4] f32[4] f32[5]", "", "a value per channel has dims [5]"},
      {"batch_norm", "f32[5,4] -> f32[4,5] f32[4] f32[4]", "", "output has dims"},
      {"batch_norm", "f32[5,4] f16[4] -> f32[5,4] f32[4] f32[4]", "", "differ in dtype"},
      {"batch_norm", "f32[5,4] -> f32[5,4] f32[4] f16[4]", "", "differ in dtype"},
      {"batch_norm_grad", "f32[5,4] f32[5,4] f32[4] f32[4] - -> f32[5,4] f32[4] f32[4]", "", NULL},
      {"batch_norm_grad", "f32[5,4] f32[5,4] f32[4] f32[3] -> f32[5,4] f32[4] f32[4]", "",
       "a value per channel has dims [3]"},
      {"batch_norm_grad", "f32[5,4] f32[5,4] f32[4] -> f32[5,4] f32[4] f32[4]", "", "inputs"});
}

SMR_TEST(norm_grad) {
  CHECK_CASES(
      {"layer_norm_grad", "f32[2,3,4] f32[2,3,4] f32[3,4] -> f32[2,3,4] f32[3,4] f32[3,4]",
       "axis=1", NULL},
      {"layer_norm_grad", "f32[2,4] f32[2,4] -> f32[2,4] f32[4] f32[5]", "", "dbias has dims [5]"},
      {"layer_norm_grad", "f32[2,4] f32[2,4] f32[2] -> f32[2,4] f32[4] f32[4]", "",
       "scale has dims [2]"},
      {"layer_norm_grad", "f32[3,4] f32[2,4] -> f32[2,4] f32[4] f32[4]", "", "dy has dims"},
      {"rms_norm_grad", "f32[2,4] f32[2,4] -> f32[2,4] f32[4]", "", NULL},
      {"rms_norm_grad", "f32[2,4] f32[2,4] -> f32[2,4] f32[2]", "", "dscale has dims [2]"},
      {"rms_norm_grad", "f32[2,4] f32[2,4] -> f32[2,4] f32[4]", "axis=2", "axis 2 is out of"});
}

SMR_TEST(cross_entropy) {
  CHECK_CASES(
      {"cross_entropy", "f32[2,4] i32[2] f32[4] -> f32[2] f32[2] f32[2]", "", NULL},
      {"cross_entropy", "f32[2,4] i64[3] -> f32[2] f32[2] f32[2]", "", "target has dims [3]"},
      {"cross_entropy", "f32[2,4] f32[2] -> f32[2] f32[2] f32[2]", "", "target cannot have dtype"},
      {"cross_entropy", "f32[2,4] i64[2] f32[2] -> f32[2] f32[2] f32[2]", "", "weight has dims"},
      {"cross_entropy", "f32[2,4,1] i64[2] -> f32[2] f32[2] f32[2]", "", "x has rank 3"},
      {"cross_entropy", "f32[2,0] i64[2] -> f32[2] f32[2] f32[2]", "", "there are no classes"},
      {"cross_entropy", "f32[2,4] i64[2] -> f32[2] f32[2] f32[4]", "", "share has dims [4]"},
      {"cross_entropy_grad", "f32[2] f32[2,4] i64[2] f32[2] f32[4] -> f32[2,4]", "", NULL},
      {"cross_entropy_grad", "f32[2] f32[2,4] i64[2] f32[4] -> f32[2,4]", "",
       "log_sum has dims [4]"},
      {"cross_entropy_grad", "f32[2] f32[2,4] i64[2] f32[2] -> f32[4,2]", "", "dx has dims [4, 2]"},
      {"cross_entropy_grad", "f32[2] f32[2,4] u8[2] f32[2] -> f32[2,4]", "", "target cannot have"});
}

SMR_TEST_MAIN(RUN(norm); RUN(channel_norm); RUN(group_norm); RUN(batch_norm); RUN(norm_grad);
              RUN(cross_entropy))
