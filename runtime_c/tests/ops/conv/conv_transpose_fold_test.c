// SPDX-License-Identifier: Apache-2.0
// Transposed convolution into few channels: when it is chosen.
#include "base/fp.h"

#include "ops/conv/conv_transpose.h"

#include "ops/conv/conv_grad_data.h"

static bool folds(const struct conv_grad_case *c, uint8_t dtype) {
  struct op_test t;
  conv_grad_plan(&t, c, dtype);
  const bool chosen = t.job.algorithm == &smr_conv_transpose_fold;
  op_end(&t);
  return chosen;
}

SMR_TEST(chosen_for_few_channels) {
  struct conv_grad_case c = {2, 3, 16, 1, {90, 20}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  CHECK(folds(&c, SAMARA_FLOAT32));
  CHECK(!folds(&c, SAMARA_FLOAT16));
  c.stride[0] = c.stride[1] = 2;
  CHECK(folds(&c, SAMARA_FLOAT32));
  c.stride[1] = 5;  // runs that leave gaps
  CHECK(folds(&c, SAMARA_FLOAT32));
  c.dilation[0] = 3;
  CHECK(folds(&c, SAMARA_FLOAT32));
  c.dilation[1] = 2;
  CHECK(!folds(&c, SAMARA_FLOAT32));
}

SMR_TEST(not_for_many_channels) {
  struct conv_grad_case c = {1, 8, 4, 1, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  CHECK(!folds(&c, SAMARA_FLOAT32));
  c.stride[1] = 2;
  CHECK(folds(&c, SAMARA_FLOAT32));
}

// Pixels of 16 channels, two phases of which make whole vectors.
SMR_TEST(strided) {
  struct conv_grad_case c = {2, 16, 9, 1, {33, 37}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}};
  CHECK(folds(&c, SAMARA_FLOAT32));
  c.in[1] = 64;
  CHECK(folds(&c, SAMARA_FLOAT32));
}

SMR_TEST_MAIN(RUN(chosen_for_few_channels); RUN(not_for_many_channels); RUN(strided))
