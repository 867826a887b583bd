// SPDX-License-Identifier: Apache-2.0
// conv_dynamic: the parts that a build keeps for symbolic dims. Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/algorithm.h"
#include "ops/op_harness.h"

// 1x1 without padding is a product of rows, unless a resize may bring padding.
SMR_TEST(what_symbolic_dims_keep) {
  static const int8_t w[8 * 4] = {0};
  static const float x[6 * 6 * 4] = {0};
  for (int pads_vary = 0; pads_vary < 2; pads_vary++) {
    struct op_test t;
    struct smr_parts parts = {{0}};
    op_begin(&t, "conv_dynamic");
    op_in(&t, SAMARA_FLOAT32, 4, DIMS(1, 6, 6, 4), x);
    struct smr_tensor *weights = op_constant(&t, SAMARA_QINT8, 4, DIMS(8, 1, 1, 4), w);
    op_quant(&t, weights, 1, (const float[]){0.5f}, (const int32_t[]){0}, -1);
    op_out(&t, SAMARA_FLOAT32, 4, DIMS(1, 6, 6, 8));
    op_ints(&t, "strides", 2, DIMS(1, 1));
    op_ints(&t, "dilations", 2, DIMS(1, 1));
    op_ints(&t, "pads", 4, DIMS(0, 0, 0, 0));
    op_test_show(&t, false);
    t.job.dims_vary = true;
    t.job.parts = &parts;
    op_test_attr(&t, "pads")->varies = pads_vary;
    CHECK_EQ_INT(smr_op_prepare(&t.job), SAMARA_OK);
    CHECK_STR(t.job.algorithm->name, "point");
    CHECK_EQ_INT(smr_parts_have(&parts, SMR_PART_i8_gemm_windows), pads_vary);
    op_end(&t);
  }
}

SMR_TEST_MAIN(RUN(what_symbolic_dims_keep))
