// SPDX-License-Identifier: Apache-2.0
// Check classes of resize and its gradient.
#include "base/fp.h"

#include "ops/check/check_harness.h"

SMR_TEST(resize) {
  CHECK_CASES(
      {"resize", "f32[1,4,5,3] -> f32[1,8,2,3]", "sizes=[8,2]", NULL},
      {"resize", "f32[1,4,5,3] -> f32[1,8,2,3]", "sizes=[8]", "sizes has 1"},
      {"resize", "f32[1,4,5,3] -> f32[1,8,2,4]", "sizes=[8,2]", "output has dims"},
      {"resize", "f32[1,0,5,3] -> f32[1,8,2,3]", "sizes=[8,2]", "cannot become 8"},
      {"resize", "f32[4,3] -> f32[4,3]", "sizes=[]", "input has rank 2"},
      {"resize", "f32[1,4,5,3] -> f32[1,8,2,3]", "sizes=[8,-1]", "sizes[1] is -1"},
      {"resize", "f32[1,4,5,3] -> f32[1,8,2,3]", "sizes=[8,2] scales=[0]", "scales has 1"},
      {"resize", "i8[1,2,1] -> i8[1,4,1]", "sizes=[4] mode=linear", "int8"},
      // The bits of -1, infinity, NaN and -0.
      {"resize", "f32[1,2,1] -> f32[1,4,1]", "sizes=[4] scales=[3212836864]", "scale"},
      {"resize", "f32[1,2,1] -> f32[1,4,1]", "sizes=[4] scales=[2139095040]", "scale"},
      {"resize", "f32[1,2,1] -> f32[1,4,1]", "sizes=[4] scales=[2143289344]", "scale"},
      {"resize", "f32[1,2,1] -> f32[1,4,1]", "sizes=[4] scales=[2147483648]", "scale"},
      {"resize", "f32[1,2,1] -> f32[1,4,1]", "sizes=[4] coordinate=tf_crop_and_resize", "roi"},
      {"resize", "f32[1,2,1] -> f32[1,4,1]", "sizes=[4] coordinate=7", "coordinate 7"});
}

SMR_TEST(resize_grad) {
  CHECK_CASES({"resize_grad", "f32[1,8,2,3] -> f32[1,4,5,3]", "size=[4,5]", NULL},
              {"resize_grad", "f32[1,0,2,3] -> f32[1,4,5,3]", "size=[4,5]", NULL},
              {"resize_grad", "f32[1,8,2,3] -> f32[1,0,5,3]", "size=[0,5]", "0 cannot become 8"},
              {"resize_grad", "f32[1,8,2,3] -> f32[1,4,5,3]", "size=[4]", "size has 1"},
              {"resize_grad", "f32[1,8,2,3] -> f32[1,4,6,3]", "size=[4,5]", "output has dims"},
              {"resize_grad", "i8[1,6,2] -> i8[1,2,2]", "size=[2]", "int8"},
              {"resize_grad", "f32[1,6,2] -> f32[1,2,2]", "size=[2] mode=3", "mode 3"},
              {"resize_grad", "f32[8,3] -> f32[4,3]", "size=[]", "input has rank 2"});
}

SMR_TEST_MAIN(RUN(resize), RUN(resize_grad))
