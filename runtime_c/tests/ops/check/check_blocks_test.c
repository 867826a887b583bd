// SPDX-License-Identifier: Apache-2.0
// Check classes of matmul_blocks and gather_blocks.
#include "base/fp.h"

#include "ops/check/check_harness.h"

SMR_TEST(products) {
  CHECK_CASES(
      {"matmul_blocks", "f32[2,40] i4[3,40] f16[3,3] -> f32[2,3]", "block=16", NULL},
      {"matmul_blocks", "f32[5,2,40] i8[3,40] f32[3,2] i8[3,2] f32[3] -> f32[5,2,3]", "block=32",
       NULL},
      {"matmul_blocks", "f32[2,40] i4[3,40] f16[3,1] u8[3,1] -> f32[2,3]", "block=64", NULL},
      {"matmul_blocks", "f16[2,40] i4[3,40] f16[3,3] -> f16[2,3]", "block=16", "x cannot have"},
      {"matmul_blocks", "f32[2,40] i32[3,40] f16[3,3] -> f32[2,3]", "block=16", "w cannot have"},
      {"matmul_blocks", "f32[2,40] i4[3,41] f16[3,3] -> f32[2,3]", "block=16",
       "w has dims [3, 41]"},
      {"matmul_blocks", "f32[2,40] i4[3,40] f16[3,2] -> f32[2,3]", "block=16", "scales has dims"},
      {"matmul_blocks", "f32[2,40] i4[3,40] f16[3,3] i4[3,2] -> f32[2,3]", "block=16",
       "zero_points has dims"},
      {"matmul_blocks", "f32[2,40] i4[3,40] f16[3,3] - f32[4] -> f32[2,3]", "block=16",
       "bias has dims"},
      {"matmul_blocks", "f32[2,40] i4[3,40] f16[3,3] -> f32[2,4]", "block=16", "y has dims [2, 4]"},
      {"matmul_blocks", "f32[40] i4[3,40] f16[3,3] -> f32[3]", "block=16", "x has rank 1"},
      {"matmul_blocks", "f32[2,40] i4[3,40] f16[3,5] -> f32[2,3]", "block=8", "block is 8"},
      {"matmul_blocks", "f32[2,40] i4[3,40] f16[3,2] -> f32[2,3]", "block=24", "block is 24"},
      {"matmul_blocks", "f32[2,40] i4[3,40] f16[3,0] -> f32[2,3]", "block=-16", "block is -16"});
}

SMR_TEST(rows) {
  CHECK_CASES(
      {"gather_blocks", "i4[7,33] f16[7,3] i64[2,5] -> f32[2,5,33]", "block=16", NULL},
      {"gather_blocks", "i8[7,33] f32[7,2] i32[] i8[7,2] -> f32[33]", "block=32", NULL},
      {"gather_blocks", "i4[7,33] f16[7,3] f32[2] -> f32[2,33]", "block=16", "indices cannot"},
      {"gather_blocks", "i4[7,33] f16[7,3] i64[2] -> f16[2,33]", "block=16", "output cannot"},
      {"gather_blocks", "i4[7,33] f16[6,3] i64[2] -> f32[2,33]", "block=16", "scales has dims"},
      {"gather_blocks", "i4[7,33] f16[7,3] i64[2] -> f32[2,32]", "block=16", "y has dims [2, 32]"},
      {"gather_blocks", "i4[33] f16[7,3] i64[2] -> f32[2,33]", "block=16", "w has rank 1"});
}

// [N, K] = [20, 33] takes two panels of two groups of 32 rows, 256 bytes each; as bytes of nine
// groups of four rows, 576.
SMR_TEST(panels) {
  static const struct {
    const char *tensors;
    size_t bytes;
  } cases[] = {{"f32[2,33] i4[20,33]! f16[20,3] -> f32[2,20]", 2 * 512},
               {"f32[2,33] i8[20,33]! f16[20,3] -> f32[2,20]", 2 * 576}};
  for (size_t i = 0; i < 2; i++) {
    struct op_test t;
    op_begin(&t, "matmul_blocks");
    check_tensors(&t, cases[i].tensors);
    op_int(&t, "block", 16);
    t.in[1].size_bytes = cases[i].bytes;
    CHECK_EQ_INT(smr_op_check(&t.job), SAMARA_OK);
    t.in[1].size_bytes--;
    CHECK_EQ_INT(smr_op_check(&t.job), SAMARA_BAD_SHAPE);
    CHECK_CONTAINS(t.error.text, "too few for 2 panels");
    t.in[1].size_bytes++;
    t.in[1].layout = SMR_LAYOUT_DWPANEL;
    CHECK_EQ_INT(smr_op_check(&t.job), SAMARA_BAD_SHAPE);
    op_end(&t);
  }
}

SMR_TEST_MAIN(RUN(products); RUN(rows); RUN(panels))
