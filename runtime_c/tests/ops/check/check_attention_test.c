// SPDX-License-Identifier: Apache-2.0
// Check classes of attention and its gradient.
#include "base/fp.h"

#include "ops/check/check_harness.h"

SMR_TEST(dims) {
  CHECK_CASES(
      {"attention", "f32[5,4] f32[7,4] f32[7,6] -> f32[5,6]", "", NULL},
      {"attention", "f16[2,3,5,4] f16[2,3,7,4] f16[2,3,7,6] -> f16[2,3,5,6]", "causal=1", NULL},
      {"attention", "f32[5,3,4] f32[7,3,4] f32[7,3,6] -> f32[5,3,6]", "layout=bshd", NULL},
      {"attention", "f32[2,0,4] f32[2,7,4] f32[2,7,0] -> f32[2,0,0]", "", NULL},
      {"attention", "f32[4] f32[4] f32[4] -> f32[4]", "", "q has rank 1"},
      {"attention", "f32[5,4] f32[7,4] f32[7,6] -> f32[5,6]", "layout=bshd", "q has rank 2"},
      {"attention", "f32[1,1,1,1,5,4] f32[1,1,1,1,7,4] f32[1,1,1,1,7,6] -> f32[1,1,1,1,5,6]", "",
       "q has rank 6"},
      {"attention", "f32[1,5,4] f32[7,4] f32[1,7,6] -> f32[1,5,6]", "", "k has rank 2"},
      {"attention", "f32[5,4] f32[7,3] f32[7,6] -> f32[5,6]", "", "k has dims [7, 3]"},
      {"attention", "f32[2,5,4] f32[1,7,4] f32[2,7,6] -> f32[2,5,6]", "", "k has dims [1, 7, 4]"},
      {"attention", "f32[2,5,4] f32[2,7,4] f32[1,7,6] -> f32[2,5,6]", "", "v has dims [1, 7, 6]"},
      {"attention", "f32[5,4] f32[7,4] f32[8,6] -> f32[5,6]", "", "v has dims [8, 6]"},
      {"attention", "f32[5,4] f32[7,4] f32[7,6] -> f32[5,4]", "", "output has dims [5, 4]"},
      {"attention", "f32[3,5,4] f32[3,7,4] f32[3,7,6] -> f32[3,5,6]", "layout=bshd",
       "k has dims [3, 7, 4]"},
      {"attention", "f32[5,4] f32[7,4] f32[7,6] -> f32[5,6]", "layout=2", "unknown layout 2"});
}

SMR_TEST(masks) {
#define QKV "f32[2,3,5,4] f32[2,3,7,4] f32[2,3,7,6] "
#define TURNED "f32[2,5,3,4] f32[2,7,3,4] f32[2,7,3,6] "
  CHECK_CASES(
      {"attention", QKV "f32[2,3,5,7] -> f32[2,3,5,6]", "", NULL},
      {"attention", QKV "f32[2,1,1,7] -> f32[2,3,5,6]", "", NULL},
      {"attention", QKV "f32[5,1] -> f32[2,3,5,6]", "", NULL},
      {"attention", QKV "f32[] -> f32[2,3,5,6]", "", NULL},
      {"attention", TURNED "f32[2,3,5,7] -> f32[2,5,3,6]", "layout=bshd", NULL},
      {"attention", TURNED "f32[3,5,7] -> f32[2,5,3,6]", "layout=bshd", NULL},
      {"attention", QKV "f32[5,6] -> f32[2,3,5,6]", "",
       "mask [5, 6] does not broadcast to the scores [2, 3, 5, 7]"},
      {"attention", QKV "f32[3,1,1,1] -> f32[2,3,5,6]", "", "does not broadcast"},
      {"attention", QKV "f32[-1,1,5,7] -> f32[2,3,5,6]", "", "-1"},
      {"attention", QKV "f32[1,1,1,5,7] -> f32[2,3,5,6]", "", "mask has rank 5"},
      {"attention", TURNED "f32[2,5,3,7] -> f32[2,5,3,6]", "layout=bshd", "does not broadcast"});
}

SMR_TEST(dtypes) {
  CHECK_CASES({"attention", "i32[5,4] i32[7,4] i32[7,6] -> i32[5,6]", "", "int32"},
              {"attention", "f32[5,4] f16[7,4] f32[7,6] -> f32[5,6]", "", "float16"},
              {"attention", "f32[5,4] f32[7,4] f16[7,6] -> f32[5,6]", "", "float16"},
              {"attention", "f32[5,4] f32[7,4] f32[7,6] f16[7] -> f32[5,6]", "", "float16"},
              {"attention", "f32[5,4] f32[7,4] f32[7,6] -> f16[5,6]", "", "float16"});
}

SMR_TEST(gradient) {
#define MADE " -> f32[2,3,5,4] f32[2,3,7,4] f32[2,3,7,6]"
  CHECK_CASES({"attention_grad", QKV "f32[2,3,5,6]" MADE, "", NULL},
              {"attention_grad", QKV "f32[2,3,5,6] f32[5,7]" MADE, "causal=1", NULL},
              {"attention_grad", QKV "f32[2,3,5,4]" MADE, "", "dy has dims"},
              {"attention_grad", QKV "f32[2,3,5,6] f32[7,5]" MADE, "", "does not broadcast"},
              {"attention_grad", QKV "f16[2,3,5,6]" MADE, "", "float16"},
              {"attention_grad", QKV "f32[2,3,5,6] -> f32[2,3,5,4] f32[2,3,7,4] f32[2,3,7,4]", "",
               "gradient has dims"},
              {"attention_grad", QKV "f32[2,3,5,6] -> f32[2,3,5,4] f32[2,3,7,4] f16[2,3,7,6]", "",
               "float16"});
}

SMR_TEST_MAIN(RUN(dims); RUN(masks); RUN(dtypes); RUN(gradient))
