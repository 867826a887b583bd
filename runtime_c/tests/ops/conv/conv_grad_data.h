// SPDX-License-Identifier: Apache-2.0
// Nodes of conv_grad_input, planned only, for their algorithm. Results: tests/ops.
#ifndef SMR_TESTS_CONV_GRAD_DATA_H
#define SMR_TESTS_CONV_GRAD_DATA_H

#include "ops/op_harness.h"

struct conv_grad_case {
  int64_t n, c, o, groups;
  int64_t in[2], k[2], stride[2], dilation[2], pad[4];
};

/// Plan the node.
static inline void conv_grad_plan(struct op_test *t, const struct conv_grad_case *c,
                                  uint8_t dtype) {
  int64_t y[4] = {c->n, 0, 0, c->o};
  for (int i = 0; i < 2; i++)
    y[1 + i] =
        (c->in[i] + c->pad[i] + c->pad[2 + i] - (c->k[i] - 1) * c->dilation[i] - 1) / c->stride[i] +
        1;
  op_begin(t, "conv_grad_input");
  op_in(t, dtype, 4, y, NULL);
  op_in(t, dtype, 4, (const int64_t[]){c->o, c->k[0], c->k[1], c->c / c->groups}, NULL);
  op_out(t, dtype, 4, (const int64_t[]){c->n, c->in[0], c->in[1], c->c});
  op_ints(t, "strides", 2, c->stride);
  op_ints(t, "dilations", 2, c->dilation);
  op_ints(t, "pads", 4, c->pad);
  op_int(t, "groups", c->groups);
  op_ints(t, "size", 2, c->in);
  CHECK_EQ_INT(op_test_plan(t), SAMARA_OK);
}

#endif
