// SPDX-License-Identifier: Apache-2.0
// Check classes of operators over regions of images.
#include "base/fp.h"

#include "ops/check/check_harness.h"

SMR_TEST(roi_align) {
  CHECK_CASES(
      {"roi_align", "f32[2,4,5,3] f32[6,4] i64[6] -> f32[6,2,7,3]", "size=[2,7]", NULL},
      {"roi_align", "f16[2,4,5,3] f16[0,4] i32[0] -> f16[0,2,7,3]", "size=[2,7] mode=max", NULL},
      {"roi_align", "f32[2,4,5,3] f32[6,4] i64[6] -> f32[6,2,7,3]", "size=[2,7] sampling=4096",
       NULL},
      {"roi_align", "f32[2,4,5] f32[6,4] i64[6] -> f32[6,2,7,3]", "size=[2,7]", "x has rank 3"},
      {"roi_align", "f32[2,4,5,3] f32[6,5] i64[6] -> f32[6,2,7,3]", "size=[2,7]",
       "regions has dims"},
      {"roi_align", "f32[2,4,5,3] f32[6,4] i64[5] -> f32[6,2,7,3]", "size=[2,7]",
       "images has dims"},
      {"roi_align", "f32[2,4,5,3] f32[6,4] f32[6] -> f32[6,2,7,3]", "size=[2,7]", "images"},
      {"roi_align", "f32[2,0,5,3] f32[6,4] i64[6] -> f32[6,2,7,3]", "size=[2,7]", "has extent 0"},
      {"roi_align", "f32[2,4,5,3] f32[6,4] i64[6] -> f32[6,2,6,3]", "size=[2,7]",
       "output has dims"},
      {"roi_align", "f32[2,4,5,3] f32[6,4] i64[6] -> f32[6,2,7,3]", "size=[2]", "size"},
      {"roi_align", "f32[2,4,5,3] f32[6,4] i64[6] -> f32[6,2,7,3]", "size=[2,-7]", "size"},
      {"roi_align", "f32[2,4,5,3] f16[6,4] i64[6] -> f32[6,2,7,3]", "size=[2,7]", "regions"},
      {"roi_align", "f32[2,4,5,3] f32[6,4] i64[6] -> f32[6,2,7,3]", "size=[2,7] sampling=4097",
       "4097 samples"},
      {"roi_align", "f32[2,4,5,3] f32[6,4] i64[6] -> f32[6,2,7,3]", "size=[2,7] mode=2", "mode 2"});
}

SMR_TEST(roi_pool) {
  CHECK_CASES(
      {"roi_pool", "f32[2,4,5,3] f32[6,5] -> f32[6,2,7,3]", "size=[2,7]", NULL},
      {"roi_pool", "f32[2,4,5,3] f32[6,4] -> f32[6,2,7,3]", "size=[2,7]", "regions has dims"},
      {"roi_pool", "f32[2,4,5,3] f32[6,5] -> f16[6,2,7,3]", "size=[2,7]", "x and output"},
      {"roi_pool", "i8[2,4,5,3] i8[6,5] -> i8[6,2,7,3]", "size=[2,7]", "int8"});
}

SMR_TEST(nms) {
  CHECK_CASES({"nms", "f32[2,9,4] f32[2,3,9] i64[] f32[] f32[] -> i64[2,3,5]", "limit=5", NULL},
              {"nms", "f32[2,9,4] f32[2,3,9] -> i64[2,3,0]", "limit=0", NULL},
              {"nms", "f32[2,9,4] f32[2,3,9] - f32[] -> i64[2,3,50]", "limit=50", NULL},
              {"nms", "f32[2,9,5] f32[2,3,9] -> i64[2,3,5]", "limit=5", "boxes has dims"},
              {"nms", "f32[2,9,4] f32[1,3,9] -> i64[2,3,5]", "limit=5", "scores has dims"},
              {"nms", "f32[2,9,4] f32[2,3,8] -> i64[2,3,5]", "limit=5", "scores has dims"},
              {"nms", "f32[2,9,4] f32[2,3,9] i64[1] -> i64[2,3,5]", "limit=5", "scalar has rank 1"},
              {"nms", "f32[2,9,4] f32[2,3,9] f32[] -> i64[2,3,5]", "limit=5", "float32"},
              {"nms", "f32[2,9,4] f32[2,3,9] -> i64[2,3,5]", "limit=-1", "limit -1"},
              {"nms", "f32[2,9,4] f32[2,3,9] -> i64[2,3,4]", "limit=5", "output has dims"},
              {"nms", "f32[2,9,4] f32[2,3,9] -> i32[2,3,5]", "limit=5", "int32"});
}

SMR_TEST_MAIN(RUN(roi_align), RUN(roi_pool), RUN(nms))
