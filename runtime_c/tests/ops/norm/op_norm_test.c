// SPDX-License-Identifier: Apache-2.0
// lrn: how much work a tile is. Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"

SMR_TEST(a_tile_of_lrn_is_little_work) {
  static const struct {
    int64_t pixels, channels, size;
    size_t tiles;
  } cases[] = {
      {3, 100, 5, 3},                 // a pixel is one tile
      {2, 3000, 1001, 2 * 375},       // 8 channels of 1001 squares
      {1, 9000, 1 << 30, 9000},       // a channel each
      {2, 50, INT64_MAX / 2 + 1, 2},  // 50 squares of 50 channels
      {1, 1 << 22, 1, (1 << 22) / 8192},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const int64_t pixels = cases[i].pixels, channels = cases[i].channels;
    struct op_test t;
    op_begin(&t, "lrn");
    op_in(&t, SAMARA_FLOAT32, 2, DIMS(pixels, channels), NULL);
    op_out(&t, SAMARA_FLOAT32, 2, DIMS(pixels, channels));
    op_int(&t, "size", cases[i].size);
    op_f32(&t, "alpha", 0.5f);
    op_f32(&t, "beta", 0.75f);
    op_f32(&t, "bias", 1);
    CHECK_EQ_INT(cases[i].channels < 9000 ? op_run(&t) : op_test_plan(&t), SAMARA_OK);
    CHECK_EQ_INT(t.job.tiles, cases[i].tiles);
    op_end(&t);
  }
}

SMR_TEST_MAIN(RUN(a_tile_of_lrn_is_little_work))
