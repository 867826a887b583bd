// SPDX-License-Identifier: Apache-2.0
// Transposed convolution of one channel per group: when blocks of 2x2 outputs are chosen.
#include "base/fp.h"

#include "ops/conv/conv_transpose.h"

#include "ops/conv/conv_grad_data.h"

static bool makes_quads(const struct conv_grad_case *c) {
  struct op_test t;
  conv_grad_plan(&t, c, SAMARA_FLOAT32);
  const struct smr_conv_transpose *s = t.job.state;
  const bool quads = t.job.algorithm == &smr_conv_transpose_depthwise && s->quads;
  op_end(&t);
  return quads;
}

static struct conv_grad_case case_of(int64_t channels, int64_t height, int64_t width, int64_t pad) {
  return (struct conv_grad_case){.n = 2,
                                 .c = channels,
                                 .o = channels,
                                 .groups = channels,
                                 .in = {height, width},
                                 .k = {3, 3},
                                 .stride = {2, 2},
                                 .dilation = {1, 1},
                                 .pad = {pad, pad, pad, pad}};
}

SMR_TEST(chosen_for_3x3_stride_2) {
  struct conv_grad_case c = case_of(6, 9, 8, 1);
  CHECK(makes_quads(&c));
  c.stride[1] = 1;
  CHECK(!makes_quads(&c));
  c.stride[1] = 2, c.k[0] = 2;
  CHECK(!makes_quads(&c));
  c.k[0] = 3, c.dilation[0] = 2;
  CHECK(!makes_quads(&c));
}

// Every remainder of the extents, and pads that leave no quad inside, or whole quads outside.
SMR_TEST(chosen_at_every_border) {
  for (int64_t pad = 0; pad <= 5; pad++)
    for (int64_t height = 3; height <= 7; height++)
      for (int64_t width = 3; width <= 8; width++) {
        const struct conv_grad_case c = case_of(5, height, width, pad);
        CHECK(makes_quads(&c));
      }
}

SMR_TEST_MAIN(RUN(chosen_for_3x3_stride_2); RUN(chosen_at_every_border))
