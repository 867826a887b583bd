// SPDX-License-Identifier: Apache-2.0
// Check classes of the normalisations.
#include "base/fp.h"

#include "check_harness.h"

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

SMR_TEST_MAIN(RUN(norm); RUN(channel_norm))
