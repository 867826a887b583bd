// SPDX-License-Identifier: Apache-2.0
// Spreading over few channels: when it is chosen, and its bands against the definition.
#include "base/fp.h"

#include "ops/conv/conv_transpose.h"

#include "ops/conv/conv_grad_data.h"

// Whether conv_grad_input folds; its result is compared with the definition.
static bool folds(const struct conv_grad_case *c, uint8_t dtype) {
  const struct conv_grad_dims d = conv_grad_dims(c);
  const uint32_t rank = c->spatial + 2;
  const size_t n = linear_count(d.x, rank);
  float *dy = linear_floats(linear_count(d.y, rank), 13);
  float *w = linear_floats(linear_count(d.w, rank), 14);
  double *want = calloc(n + 1, sizeof *want);
  conv_grad_define(c, &d, dy, NULL, w, want, NULL);
  struct op_test t;
  op_begin(&t, "conv_grad_input");
  linear_in(&t, dtype, rank, d.y, dy);
  linear_in(&t, dtype, rank, d.w, w);
  op_out(&t, dtype, rank, d.x);
  conv_grad_attrs(&t, c);
  op_ints(&t, "size", c->spatial, c->in);
  CHECK_EQ_INT(op_run(&t), SAMARA_OK);
  const double tolerance = dtype == SAMARA_FLOAT16 ? 0.1 : 1e-4;
  for (size_t i = 0; i < n; i++)
    if (!CHECK_NEAR(linear_out(&t, i), want[i], tolerance)) break;
  const bool chosen = t.job.algorithm == &smr_conv_transpose_fold;
  op_end(&t);
  free(dy), free(w), free(want);
  return chosen;
}

SMR_TEST(chosen_for_few_channels) {
  struct conv_grad_case c = {2, 2, 3, 16, 1, {90, 20}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
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
  struct conv_grad_case c = {2, 1, 8, 4, 1, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  CHECK(!folds(&c, SAMARA_FLOAT32));
  c.stride[1] = 2;
  CHECK(folds(&c, SAMARA_FLOAT32));
}

// Pixels of 16 channels, two phases of which make whole vectors; and a last pixel of one phase.
SMR_TEST(strided) {
  struct conv_grad_case c = {2, 2, 16, 9, 1, {33, 37}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}};
  CHECK(folds(&c, SAMARA_FLOAT32));
  c.in[1] = 64;
  CHECK(folds(&c, SAMARA_FLOAT32));
}

SMR_TEST_MAIN(RUN(chosen_for_few_channels); RUN(not_for_many_channels); RUN(strided))
