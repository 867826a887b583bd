// SPDX-License-Identifier: Apache-2.0
// Reading the geometry of convolutions and pools.
#include "base/fp.h"

#include "ops/conv/window.h"

#include "ops/check/check_harness.h"

SMR_TEST(leading_axes_are_neutral) {
  struct op_test t;
  op_begin(&t, "max_pool");
  check_tensors(&t, "f32[2,9,7] -> f32[2,4,7]");
  check_attrs(&t, "kernel=[3] strides=[2] dilations=[2] pads=[1,2]");
  struct smr_window w;
  const int64_t kernel = 3;
  CHECK_EQ_INT(smr_window_read(&t.job, SMR_ATTR_GROUP(&t.job, max_pool, window), &kernel, &w),
               SAMARA_OK);
  CHECK_EQ_INT(w.spatial, 1);
  CHECK_EQ_INT(w.batch, 2);
  CHECK_EQ_INT(w.channels_in, 7);
  CHECK_EQ_INT(w.channels_out, 7);
  for (int i = 0; i < 2; i++) {
    CHECK_EQ_INT(w.in[i], 1);
    CHECK_EQ_INT(w.out[i], 1);
    CHECK_EQ_INT(w.kernel[i], 1);
    CHECK_EQ_INT(w.stride[i], 1);
    CHECK_EQ_INT(w.pad_begin[i] + w.pad_end[i], 0);
    CHECK_EQ_INT(smr_window_out(&w, (uint32_t)i, 0), 1);
  }
  CHECK_EQ_INT(w.in[2], 9);
  CHECK_EQ_INT(w.pad_begin[2], 1);
  CHECK_EQ_INT(w.pad_end[2], 2);
  CHECK_EQ_INT(smr_window_extent(&w, 2), 5);
  CHECK_EQ_INT(smr_window_out(&w, 2, 0), 4);
  CHECK_EQ_INT(smr_window_out(&w, 2, 1), 5);
  CHECK_EQ_INT(smr_window_pixels(&w), 4);
  CHECK_EQ_INT(smr_window_taps(&w), 3);
  op_end(&t);
}

SMR_TEST(out_rounds_down_below_zero_too) {
  struct smr_window w = {
      .in = {1, 1, 2}, .kernel = {1, 1, 3}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}};
  CHECK_EQ_INT(smr_window_out(&w, 2, 0), 0);
  w.in[2] = 0;
  CHECK_EQ_INT(smr_window_out(&w, 2, 0), -2);
  w.stride[2] = 2;
  CHECK_EQ_INT(smr_window_out(&w, 2, 0), -1);
  w.in[2] = 1;
  CHECK_EQ_INT(smr_window_out(&w, 2, 0), 0);
}

SMR_TEST_MAIN(RUN(leading_axes_are_neutral); RUN(out_rounds_down_below_zero_too))
