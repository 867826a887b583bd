// SPDX-License-Identifier: Apache-2.0
// Which rows depthwise convolutions of floats take and what they need. Results: test_tiles.py.
#include "base/fp.h"

#include "ops/conv/conv.h"

#include "ops/op_harness.h"

// A node of `channels` with `spatial` dims, windows of 3.
static void begin(struct op_test *t, uint32_t spatial, int64_t channels, uint8_t dtype,
                  struct smr_parts *parts) {
  int64_t x[5] = {1}, w[5] = {channels}, ones[3] = {1, 1, 1}, pads[6] = {1, 1, 1, 1, 1, 1};
  for (uint32_t i = 0; i < spatial; i++) {
    x[1 + i] = 8;
    w[1 + i] = 3;
  }
  x[1 + spatial] = channels;
  w[1 + spatial] = 1;
  *parts = (struct smr_parts){{0}};
  op_begin(t, "conv");
  op_in(t, dtype, spatial + 2, x, NULL);
  op_constant(t, dtype, spatial + 2, w, NULL);
  op_out(t, dtype, spatial + 2, x);
  op_ints(t, "strides", spatial, ones);
  op_ints(t, "dilations", spatial, ones);
  op_ints(t, "pads", 2 * spatial, pads);
  op_int(t, "groups", channels);
  t->job.parts = parts;
  CHECK_EQ_INT(op_test_plan(t), SAMARA_OK);
}

SMR_TEST(planes) {
  struct op_test t;
  struct smr_parts parts;
  begin(&t, 2, 32, SAMARA_FLOAT32, &parts);
  CHECK(t.job.algorithm == &smr_conv_depthwise);
  CHECK(smr_parts_have(&parts, SMR_PART_conv_depthwise));
  CHECK(smr_parts_have(&parts, SMR_PART_f32_dwconv_3s1));
  CHECK(!smr_parts_have(&parts, SMR_PART_f32_dwconv_part));
  CHECK(!smr_parts_have(&parts, SMR_PART_conv_depthwise_3d));
  op_end(&t);
}

SMR_TEST(volumes) {
  struct op_test t;
  struct smr_parts parts;
  begin(&t, 3, 20, SAMARA_FLOAT32, &parts);
  CHECK(t.job.algorithm == &smr_conv_depthwise_3d);
  CHECK_EQ_INT(t.job.tiles, 64);
  CHECK(smr_parts_have(&parts, SMR_PART_f32_dwconv_indirect));
  CHECK(smr_parts_have(&parts, SMR_PART_f32_dwconv_part));
  CHECK(!smr_parts_have(&parts, SMR_PART_conv_depthwise));
  op_end(&t);
}

// All of float16 is one tile, with room for x and y as float32.
SMR_TEST(float16_is_widened) {
  struct op_test t;
  struct smr_parts parts;
  begin(&t, 2, 32, SAMARA_FLOAT16, &parts);
  CHECK_EQ_INT(t.job.tiles, 1);
  CHECK(t.job.scratch_bytes >= 2 * 8 * 8 * 32 * sizeof(float));
  CHECK(smr_parts_have(&parts, SMR_PART_f32_dwconv_f16w));
  op_end(&t);
}

SMR_TEST_MAIN(RUN(planes); RUN(volumes); RUN(float16_is_widened))
