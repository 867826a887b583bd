// SPDX-License-Identifier: Apache-2.0
// Check classes of convolutions and pools.
#include "base/fp.h"

#include "ops/check/check_harness.h"

#define ONES "strides=[1,1] dilations=[1,1] "

SMR_TEST(conv) {
  CHECK_CASES(
      {"conv", "f32[1,5,6,4] f32[8,3,3,4] f32[8] -> f32[1,3,4,8]", ONES "pads=[0,0,0,0]", NULL},
      {"conv", "f32[1,5,6,4] f32[8,3,3,2] -> f32[1,5,6,8]", ONES "pads=[1,1,1,1] groups=2", NULL},
      {"conv", "f32[1,5,6,4] f32[8,3,3,4] -> f32[1,3,3,8]", ONES "pads=[0,0,0,0]",
       "output has dims"},
      {"conv", "f32[1,2,6,4] f32[8,3,3,4] -> f32[1,0,4,8]", ONES "pads=[0,0,0,0]", NULL},
      {"conv", "f32[1,1,6,4] f32[8,3,3,4] -> f32[1,0,4,8]", ONES "pads=[0,0,0,0]",
       "output has dims"},
      {"conv", "f32[1,5,6,4] f32[8,3,3,4] -> f32[1,3,4,8]", ONES "pads=[0,0,0]", "pads has 3"},
      {"conv", "f32[1,5,6,4] f32[8,3,3,4] -> f32[1,3,4,8]", ONES "pads=[0,0,0,-1]",
       "pads[3] is -1"},
      {"conv", "f32[1,5,6,4] f32[8,3,3,4] -> f32[1,3,4,8]",
       "strides=[0,1] dilations=[1,1] pads=[0,0,0,0]", "strides[0] is 0"},
      {"conv", "f32[1,5,6,4] f32[8,3,3,4] -> f32[1,3,4,8]",
       "strides=[1] dilations=[1,1] pads=[0,0,0,0]", "strides has 1"},
      {"conv", "f32[1,5,6,4] f32[8,3,3,4] -> f32[1,3,4,8]",
       "strides=[1,1] dilations=[1,2147483647] pads=[0,0,0,0]", "dilated by 2147483647"},
      {"conv", "f32[1,5,6,4] f32[8,0,3,4] -> f32[1,3,4,8]", ONES "pads=[0,0,0,0]",
       "kernel[0] is 0"},
      {"conv", "f32[1,5,6,4] f32[8,3,3,3] -> f32[1,3,4,8]", ONES "pads=[0,0,0,0]", "channels"},
      {"conv", "f32[1,5,6,4] f32[8,3,3,4] -> f32[1,3,4,8]", ONES "pads=[0,0,0,0] groups=0",
       "groups"},
      {"conv", "f32[1,5,6,4] f32[9,3,3,2] -> f32[1,3,4,9]", ONES "pads=[0,0,0,0] groups=2",
       "groups"},
      {"conv", "f32[1,5,6,4] f32[8,3,3,4] f32[9] -> f32[1,3,4,8]", ONES "pads=[0,0,0,0]",
       "bias has"},
      {"conv", "f32[5,4] f32[8,4] -> f32[5,8]", "strides=[] dilations=[] pads=[]",
       "input has rank 2"},
      {"conv", "f32[1,5,6,4] f32[8,3,3,4] -> f32[1,12,8]", ONES "pads=[0,0,0,0]",
       "output has rank"},
      {"conv", "f32[1,5,6,4] f32[8,3,3,4] f32[8] f32[8] -> f32[1,3,4,8]", ONES "pads=[0,0,0,0]",
       "residual has dims"});
}

SMR_TEST(packed_weights) {
  struct op_test t;
  op_begin(&t, "conv");
  check_tensors(&t, "f32[1,5,6,20] f32[20,3,3,1]! -> f32[1,3,4,20]");
  check_attrs(&t, ONES "pads=[0,0,0,0] groups=20");
  t.in[1].size_bytes = 20 * 9 * 64;  // a panel per group
  CHECK_EQ_INT(smr_op_check(&t.job), SAMARA_OK);
  t.in[1].size_bytes--;
  CHECK_EQ_INT(smr_op_check(&t.job), SAMARA_BAD_SHAPE);
  t.in[1].layout = SMR_LAYOUT_DWPANEL;
  t.in[1].size_bytes = 2 * 9 * 64;
  CHECK_EQ_INT(smr_op_check(&t.job), SAMARA_OK);
  t.in[1].size_bytes--;
  CHECK_EQ_INT(smr_op_check(&t.job), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(t.error.text, "too few for 2 panels of 9 rows");
  t.in[1].size_bytes = 1 << 20;
  t.in[1].constant = -1;
  CHECK_EQ_INT(smr_op_check(&t.job), SAMARA_BAD_SHAPE);
  op_end(&t);
}

SMR_TEST(conv_transpose) {
  CHECK_CASES(
      {"conv_transpose", "f32[1,3,4] f32[8,3,4] -> f32[1,8,8]",
       "strides=[2] dilations=[1] pads=[0,0] output_padding=[1]", NULL},
      {"conv_transpose", "f32[1,3,4] f32[8,3,4] -> f32[1,7,8]",
       "strides=[2] dilations=[1] pads=[0,0] output_padding=[1]", "output has dims"},
      {"conv_transpose", "f32[1,0,4] f32[8,3,4] -> f32[1,1,8]",
       "strides=[2] dilations=[1] pads=[0,0] output_padding=[0]", "spatial axis 0 is empty"},
      {"conv_transpose", "f32[1,3,4] f32[8,3,4] -> f32[1,7,8]",
       "strides=[2] dilations=[1] pads=[0,0] output_padding=[]", "output_padding has 0"},
      {"conv_transpose", "f32[1,3,4] f32[8,3,4]! -> f32[1,7,8]",
       "strides=[2] dilations=[1] pads=[0,0] output_padding=[0]", "packed"});
}

SMR_TEST(pool) {
  CHECK_CASES(
      {"max_pool", "f32[1,5,6,4] -> f32[1,2,3,4]",
       "kernel=[2,2] strides=[2,2] dilations=[1,1] pads=[0,0,0,0]", NULL},
      {"max_pool", "f32[1,5,6,4] -> f32[1,2,3,5]",
       "kernel=[2,2] strides=[2,2] dilations=[1,1] pads=[0,0,0,0]", "output has dims"},
      {"max_pool", "f32[1,5,6,4] -> f32[1,2,3,4]",
       "kernel=[2] strides=[2,2] dilations=[1,1] pads=[0,0,0,0]", "kernel has 1"},
      {"avg_pool", "f32[1,5,6,4] -> f32[1,3,3,4]",
       "kernel=[2,2] strides=[2,2] dilations=[1,1] pads=[0,0,0,0] extend=[1,0]", NULL},
      {"avg_pool", "f32[1,5,6,4] -> f32[1,3,3,4]",
       "kernel=[2,2] strides=[2,2] dilations=[1,1] pads=[0,0,0,0] extend=[0,0]", "output has dims"},
      {"avg_pool", "f32[1,5,6,4] -> f32[1,3,3,4]",
       "kernel=[2,2] strides=[2,2] dilations=[1,1] pads=[0,0,0,0] extend=[1,-1]",
       "extend[1] is -1"});
}

#undef ONES

SMR_TEST_MAIN(RUN(conv); RUN(packed_weights); RUN(conv_transpose); RUN(pool))
