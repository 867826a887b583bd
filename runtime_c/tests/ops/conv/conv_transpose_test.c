// SPDX-License-Identifier: Apache-2.0
// Which algorithm computes a transposed convolution.
#include "base/fp.h"

#include "ops/conv/conv_transpose.h"

#include "ops/algorithm.h"
#include "ops/op_harness.h"

struct conv_transpose_case {
  int64_t c, o, groups, k, stride, pad;
  uint8_t dtype;
  const char *algorithm;
};

static const struct conv_transpose_case cases[] = {
    {5, 20, 1, 1, 1, 0, SAMARA_FLOAT32, "point"},
    {6, 9, 3, 1, 1, 0, SAMARA_FLOAT32, "point"},
    {5, 20, 1, 3, 1, 1, SAMARA_FLOAT32, "indirect"},
    {5, 20, 1, 3, 1, 1, SAMARA_FLOAT16, "indirect"},
    {5, 20, 1, 1, 1, 1, SAMARA_FLOAT32, "indirect"},
    {5, 20, 1, 3, 2, 1, SAMARA_FLOAT32, "phases"},
    {6, 6, 6, 3, 1, 1, SAMARA_FLOAT32, "depthwise"},
    {6, 6, 6, 3, 2, 1, SAMARA_FLOAT32, "depthwise"},
    {6, 6, 6, 3, 3, 2, SAMARA_FLOAT32, "depthwise"},
    {6, 6, 6, 2, 3, 0, SAMARA_FLOAT32, "depthwise_phases"},
    {6, 6, 6, 3, 1, 1, SAMARA_FLOAT16, "indirect"},
};

// Images of 4 by 5 with a bias and a residual, planned only. Results: tests/ops.
static void check_choice(const struct conv_transpose_case *c, bool constant) {
  const int64_t h = 3 * c->stride + c->k - 2 * c->pad, w = 4 * c->stride + c->k - 2 * c->pad;
  const int64_t y_dims[] = {2, h, w, c->o};
  struct op_test t;
  op_begin(&t, "conv_transpose");
  op_in(&t, c->dtype, 4, (const int64_t[]){2, 4, 5, c->c}, NULL);
  op_in(&t, c->dtype, 4, (const int64_t[]){c->o, c->k, c->k, c->c / c->groups}, NULL)->constant =
      constant ? 1 : -1;
  op_in(&t, c->dtype, 1, &c->o, NULL)->constant = constant ? 2 : -1;
  op_in(&t, c->dtype, 4, y_dims, NULL);
  op_out(&t, c->dtype, 4, y_dims);
  op_ints(&t, "strides", 2, (const int64_t[]){c->stride, c->stride});
  op_ints(&t, "dilations", 2, (const int64_t[]){1, 1});
  op_ints(&t, "pads", 4, (const int64_t[]){c->pad, c->pad, c->pad, c->pad});
  op_ints(&t, "output_padding", 2, (const int64_t[]){0, 0});
  op_int(&t, "groups", c->groups);
  if (CHECK_EQ_INT(op_test_plan(&t), SAMARA_OK)) CHECK_STR(t.job.algorithm->name, c->algorithm);
  op_end(&t);
}

SMR_TEST(every_path) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (int constant = 0; constant < 2; constant++) check_choice(&cases[i], constant);
}

SMR_TEST_MAIN(RUN(every_path))
