// SPDX-License-Identifier: Apache-2.0
// The shape that all convolutions share.
#include "base/fp.h"

#include "ops/conv/conv_shape.h"

#include "ops/algorithm.h"
#include "ops/op_harness.h"

// A node of 4 channels in and `n` out, windows of `kernel` elements along one dim.
static struct smr_conv_shape begin(struct op_test *t, int64_t n, int64_t groups, int64_t kernel,
                                   int64_t stride, int64_t dilation, int64_t pad) {
  const int64_t out = (9 + pad - (kernel - 1) * dilation - 1) / stride + 1;
  op_begin(t, "conv");
  op_in(t, SAMARA_FLOAT32, 3, DIMS(2, 9, 4), NULL);
  op_constant(t, SAMARA_FLOAT32, 3, DIMS(n, kernel, 4 / groups), NULL);
  op_out(t, SAMARA_FLOAT32, 3, DIMS(2, out, n));
  op_ints(t, "strides", 1, &stride);
  op_ints(t, "dilations", 1, &dilation);
  op_ints(t, "pads", 2, DIMS(0, pad));
  op_int(t, "groups", groups);
  op_test_show(t, false);
  CHECK_EQ_INT(t->job.op->funcs->algorithms->begin(&t->job), SAMARA_OK);
  return *(const struct smr_conv_shape *)t->job.state;
}

SMR_TEST(geometry) {
  struct op_test t;
  const struct smr_conv_shape s = begin(&t, 6, 2, 3, 2, 1, 1);
  CHECK(s.groups == 2 && s.taps == 3 && s.channels == 2 && s.n == 3 && s.pixels == 8);
  CHECK(smr_conv_is_padded(&s) && smr_conv_is_strided(&s) && !smr_conv_is_dilated(&s));
  CHECK(!s.depthwise);
  CHECK(!smr_conv_fits_point(&t.job) && !smr_conv_fits_depthwise(&t.job));
  CHECK_EQ_INT((int64_t)smr_conv_tap_work(&t.job), 8 * 6 * 3);
  CHECK_EQ_INT((int64_t)smr_conv_work(&t.job), 8 * 6 * 3 * 2);
  op_end(&t);
}

// Weights of groups lie one after another.
SMR_TEST(weights) {
  struct op_test t;
  struct smr_conv_shape s = begin(&t, 6, 2, 3, 1, 2, 0);
  CHECK(smr_conv_is_dilated(&s) && !smr_conv_is_padded(&s));
  struct smr_linear l;
  smr_conv_linear(&s, &l);
  CHECK(l.groups == 2 && l.taps == 1 && l.k == 6 && l.n == 3);
  CHECK(l.group_stride == 18 && l.n_stride == 6 && l.k_stride == 1);
  CHECK_EQ_INT(l.weight_key, SMR_LINEAR_KEY_CONV | 2);
  struct smr_qlinear q;
  smr_conv_qlinear(&s, &q);
  CHECK(q.groups == 2 && q.taps == 1 && q.k == 6 && q.n == 3 && !q.depthwise);
  CHECK_EQ_INT(q.weight_key, SMR_LINEAR_KEY_CONV | 2);
  s.groups = SMR_LINEAR_KEY_LIMIT;
  smr_conv_linear(&s, &l);
  CHECK_EQ_INT(l.weight_key, 0);
  op_end(&t);
}

SMR_TEST(depthwise) {
  struct op_test t;
  struct smr_conv_shape s = begin(&t, 4, 4, 3, 1, 1, 0);
  CHECK(s.depthwise && smr_conv_fits_depthwise(&t.job) && !smr_conv_fits_depthwise_3d(&t.job));
  struct smr_linear l;
  smr_conv_linear(&s, &l);
  CHECK(l.groups == 1 && l.k == 3 && l.n == 4 && l.weight_key == SMR_LINEAR_KEY_DEPTHWISE);
  struct smr_qlinear q;
  smr_conv_qlinear(&s, &q);
  CHECK(q.depthwise && q.groups == 1 && q.taps == 3 && q.k == 1 && q.n == 4 && q.n_stride == 3);
  op_end(&t);
  s = begin(&t, 8, 4, 3, 1, 1, 0);  // two channels out per group
  CHECK(!s.depthwise);
  op_end(&t);
}

SMR_TEST(points) {
  struct op_test t;
  begin(&t, 6, 1, 1, 1, 3, 0);
  CHECK(smr_conv_fits_point(&t.job) && !smr_conv_is_empty(&t.job));
  op_end(&t);
  begin(&t, 6, 1, 1, 1, 1, 1);
  CHECK(!smr_conv_fits_point(&t.job));
  t.out[0].dims[0] = 0;
  CHECK(smr_conv_is_empty(&t.job));
  CHECK_STR(t.job.kernel, "nothing");
  op_end(&t);
}

SMR_TEST_MAIN(RUN(geometry); RUN(weights); RUN(depthwise); RUN(points))
