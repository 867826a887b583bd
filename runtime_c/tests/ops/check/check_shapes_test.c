// SPDX-License-Identifier: Apache-2.0
// The check class of operators whose rows state the dims of their tensors.
#include "base/fp.h"

#include "ops/check/check_harness.h"

// Checks of operators beyond the dims that their rows state.
SMR_TEST(own) {
  CHECK_CASES(
      {"roi_align", "f32[2,4,5,3] f32[6,4] i64[6] -> f32[6,2,7,1,3]", "size=[2,7,1]",
       "size has 3 elements, expected 2"},
      {"roi_pool", "f32[2,4,5,3] f32[0,5] -> f32[0,2,2147483648,3]", "size=[2,2147483648]",
       "size[1] is 2147483648"},
      {"roi_pool", "f32[0,4,2147483648,3] f32[6,5] -> f32[6,2,7,3]", "size=[2,7]",
       "spatial axis 1 of x has extent 2147483648"},
      {"nms", "f32[0,9,4] f32[0,3,9] -> i64[0,3,2147483648]", "limit=2147483648",
       "limit is 2147483648 for 9 boxes"},
      {"nms", "f32[0,2147483648,4] f32[0,3,2147483648] -> i64[0,3,1]", "limit=1",
       "limit is 1 for 2147483648 boxes"},
      {"grid_sample", "f32[2,4,5,3] f32[2,6,2] -> f32[2,6,3]", "", "grid has rank 3"},
      {"grid_sample", "f32[2,3] f32[2,0] -> f32[2,3]", "", "x has rank 2"},
      {"qresize", "qs8[4,3] i32[8,3] -> qs8[4,3]", "", "input has rank 2"},
      {"qresize", "qs8[1,2,3,4,3] i32[8,3] i32[2,3] -> qs8[1,8,2,4,3]", "", "input has rank 5"},
      {"qresize", "qs8[1,4,3] i32[8,3] -> qs8[1,8,1,3]", "", "output has rank 4"},
      {"lstm", "f32[5,2,3] f32[1,0,3] f32[1,0,0] -> f32[5,1,2,0] f32[1,2,0] f32[1,2,0]", "hidden=0",
       "hidden is 0"},
      {"lstm",
       "f32[0,0,0] f32[0,800000000,0] f32[0,800000000,200000000] -> f32[0,0,0,200000000]"
       " f32[0,0,200000000] f32[0,0,200000000]",
       "hidden=200000000", "hidden is 200000000"},
      {"gru", "f32[5,2,3] f32[1,12,3] f32[1,12,4] -> f32[5,1,2,4] f32[1,2,4]",
       "hidden=4 direction=bidirectional", "hidden is 4, direction 2 with dims for 1 directions"},
      {"gru", "f32[5,2,3] f32[3,12,3] f32[3,12,4] -> f32[5,3,2,4] f32[3,2,4]", "hidden=4",
       "hidden is 4, direction 0 with dims for 3 directions"},
      {"lstm_grad", "f32[1,5,2,0] f32[1,5,2,0] f32[1,0,0] -> f32[1,5,2,0] f32[1,2,0] f32[1,2,0]",
       "hidden=0", "hidden is 0"},
      {"gru_grad",
       "f32[2,5,2,16] f32[2,5,2,4] f32[2,12,4] -> f32[2,5,2,12] f32[2,5,2,12] f32[2,2,4]",
       "hidden=4", "hidden is 4, direction 0 with dims for 2 directions"},
      {"nonzero", "f32[2,3] -> i64[0]", "", "y has rank 1"});
}

// Terms: runs of any length, multiples that overflow, lists longer than a rank can be.
SMR_TEST(terms) {
  CHECK_CASES({"det", "f32[2,1,1,1,1,1,3,3] -> f32[2,1,1,1,1,1]", "", NULL},
              {"det", "f32[2,5,3,3] -> f32[2]", "", "y has rank 1"},
              {"det", "f32[5,3,3] -> f32[4]", "", "y has dims [4]"},
              {"gather_blocks", "i4[7,33] f16[7,3] i64[1,1,1,1,1,1,2,1] -> f32[1,1,1,1,1,1,2,33]",
               "block=16", "y has rank 8"},
              {"lstm", "f32[5,2,3] f32[1,0,3] f32[1,16,4] -> f32[5,1,2,4] f32[1,2,4] f32[1,2,4]",
               "hidden=4611686018427387904", "w has dims [1, 0, 3]"},
              {"lstm",
               "f32[5,2,3] f32[1,16,3] f32[1,16,4] - - f32[2,2,4] -> f32[5,1,2,4] f32[1,2,4]"
               " f32[1,2,4]",
               "hidden=4", "h0 has dims [2, 2, 4]"},
              {"random_uniform", "i64[2] -> f32[3]", "shape=[3,1,1,1,1,1,1,1,1]", "y has rank 1"},
              {"random_uniform", "i64[2] -> f32[3]", "shape=[]", "y has rank 1"});
}

SMR_TEST(roi_align) {
  CHECK_CASES(
      {"roi_align", "f32[2,4,5,3] f32[6,4] i64[6] -> f32[6,2,7,3]", "size=[2,7]", NULL},
      {"roi_align", "f16[2,4,5,3] f16[0,4] i32[0] -> f16[0,2,7,3]", "size=[2,7] mode=max", NULL},
      {"roi_align", "f32[2,4,5,3] f32[6,4] i64[6] -> f32[6,2,7,3]", "size=[2,7] sampling=4096",
       NULL},
      {"roi_align", "f32[2,4,5] f32[6,4] i64[6] -> f32[6,2,7,3]", "size=[2,7]", "x has rank 3"},
      {"roi_align", "f32[2,4,5,3] f32[6,5] i64[6] -> f32[6,2,7,3]", "size=[2,7]",
       "regions has dims"},
      {"roi_align", "f32[2,4,5,3] f32[6,4] i64[5] -> f32[6,2,7,3]", "size=[2,7]",
       "images has dims"},
      {"roi_align", "f32[2,4,5,3] f32[6,4] f32[6] -> f32[6,2,7,3]", "size=[2,7]", "images"},
      {"roi_align", "f32[2,0,5,3] f32[6,4] i64[6] -> f32[6,2,7,3]", "size=[2,7]", "has extent 0"},
      {"roi_align", "f32[2,4,5,3] f32[6,4] i64[6] -> f32[6,2,6,3]", "size=[2,7]",
       "y has dims [6, 2, 6, 3]"},
      {"roi_align", "f32[2,4,5,3] f32[6,4] i64[6] -> f32[6,2,7,3]", "size=[2]", "y has rank 4"},
      {"roi_align", "f32[2,4,5,3] f32[6,4] i64[6] -> f32[6,2,7,3]", "size=[2,-7]",
       "y has dims [6, 2, 7, 3]"},
      {"roi_align", "f32[2,4,5,3] f16[6,4] i64[6] -> f32[6,2,7,3]", "size=[2,7]", "regions"},
      {"roi_align", "f32[2,4,5,3] f32[6,4] i64[6] -> f32[6,2,7,3]", "size=[2,7] sampling=4097",
       "sampling 4097"},
      {"roi_align", "f32[2,4,5,3] f32[6,4] i64[6] -> f32[6,2,7,3]", "size=[2,7] mode=2",
       "mode is 2"});
}

SMR_TEST(roi_pool) {
  CHECK_CASES(
      {"roi_pool", "f32[2,4,5,3] f32[6,5] -> f32[6,2,7,3]", "size=[2,7]", NULL},
      {"roi_pool", "f32[2,4,5,3] f32[6,4] -> f32[6,2,7,3]", "size=[2,7]", "regions has dims"},
      {"roi_pool", "f32[2,4,5,3] f32[6,5] -> f16[6,2,7,3]", "size=[2,7]", "x and output"},
      {"roi_pool", "i8[2,4,5,3] i8[6,5] -> i8[6,2,7,3]", "size=[2,7]", "int8"});
}

SMR_TEST(nms) {
  CHECK_CASES({"nms", "f32[2,9,4] f32[2,3,9] i64[] f32[] f32[] -> i64[2,3,5]", "limit=5", NULL},
              {"nms", "f32[2,9,4] f32[2,3,9] -> i64[2,3,0]", "limit=0", NULL},
              {"nms", "f32[2,9,4] f32[2,3,9] - f32[] -> i64[2,3,50]", "limit=50", NULL},
              {"nms", "f32[2,9,5] f32[2,3,9] -> i64[2,3,5]", "limit=5", "boxes has dims"},
              {"nms", "f32[2,9,4] f32[1,3,9] -> i64[2,3,5]", "limit=5", "scores has dims"},
              {"nms", "f32[2,9,4] f32[2,3,8] -> i64[2,3,5]", "limit=5", "scores has dims"},
              {"nms", "f32[2,9,4] f32[2,3,9] i64[1] -> i64[2,3,5]", "limit=5", "count has rank 1"},
              {"nms", "f32[2,9,4] f32[2,3,9] f32[] -> i64[2,3,5]", "limit=5", "float32"},
              {"nms", "f32[2,9,4] f32[2,3,9] -> i64[2,3,5]", "limit=-1", "y has dims [2, 3, 5]"},
              {"nms", "f32[2,9,4] f32[2,3,9] -> i64[2,3,4]", "limit=5", "y has dims [2, 3, 4]"},
              {"nms", "f32[2,9,4] f32[2,3,9] -> i32[2,3,5]", "limit=5", "int32"});
}

SMR_TEST(grid_sample) {
  CHECK_CASES(
      {"grid_sample", "f32[2,4,5,3] f32[2,6,7,2] -> f32[2,6,7,3]", "", NULL},
      {"grid_sample", "f32[2,3,4,5,1] f32[2,6,0,7,3] -> f32[2,6,0,7,1]", "", NULL},
      {"grid_sample", "f32[2,4,3] f32[2,6,1] -> f32[2,6,3]", "", "x has rank 3"},
      {"grid_sample", "f32[2,4,5,3] f32[2,6,2] -> f32[2,6,7,3]", "", "y has rank 4"},
      {"grid_sample", "f32[2,4,5,3] f32[1,6,7,2] -> f32[2,6,7,3]", "", "grid has dims"},
      {"grid_sample", "f32[2,4,5,3] f32[2,6,7,3] -> f32[2,6,7,3]", "", "grid has 3 coordinates"},
      {"grid_sample", "f32[2,4,0,3] f32[2,6,7,2] -> f32[2,6,7,3]", "", "has extent 0"},
      {"grid_sample", "f32[2,4,5,3] f32[2,6,7,2] -> f32[2,6,7,2]", "", "y has dims [2, 6, 7, 2]"},
      {"grid_sample", "f32[2,4,5,3] f16[2,6,7,2] -> f32[2,6,7,3]", "", "inputs"},
      {"grid_sample", "f32[2,4,5,3] f32[2,6,7,2] -> f32[2,6,7,3]", "mode=3", "mode 3"},
      {"grid_sample", "f32[2,3,4,5,1] f32[2,6,6,7,3] -> f32[2,6,6,7,1]", "mode=cubic", NULL});
}

SMR_TEST(grid_sample_grad) {
  CHECK_CASES(
      {"grid_sample_grad", "f32[2,6,7,3] f32[2,4,5,3] f32[2,6,7,2] -> f32[2,4,5,3] f32[2,6,7,2]",
       "", NULL},
      {"grid_sample_grad", "f32[2,6,8,3] f32[2,4,5,3] f32[2,6,7,2] -> f32[2,4,5,3] f32[2,6,7,2]",
       "", "grid has dims [2, 6, 7, 2]"},
      {"grid_sample_grad", "f32[2,6,7,3] f32[2,4,5,3] f32[2,6,7,2] -> f32[2,4,4,3] f32[2,6,7,2]",
       "", "dx has dims [2, 4, 4, 3]"},
      {"grid_sample_grad", "f32[2,6,7,3] f32[2,4,5,3] f32[2,6,7,2] -> f32[2,4,5,3] f32[2,6,7,3]",
       "", "dgrid has dims [2, 6, 7, 3]"});
}

SMR_TEST(qresize) {
  CHECK_CASES(
      {"qresize", "qs8[1,4,3] i32[8,3] -> qs8[1,8,3]", "", NULL},
      {"qresize", "qs8[1,4,5,3] i32[8,3] i32[2,3] -> qs8[1,8,2,3]", "", NULL},
      {"qresize", "qs8[1,4,5,3] i32[8,3] i32[2,3] -> qs8[1,8,3,3]", "",
       "spatial axis 1 of the output has extent 3, there are taps for 2"},
      {"qresize", "qs8[1,4,5,3] i32[8,3] i32[2,3] -> qs8[1,8,2,4]", "", "y has dims [1, 8, 2, 4]"},
      {"qresize", "qs8[1,4,5,3] i32[8,3] -> qs8[1,8,5,3]", "", "x has 2 spatial axes"},
      {"qresize", "qs8[1,4,3] i32[8,3] i32[2,3] -> qs8[1,8,3]", "", "x has 1 spatial axes"},
      {"qresize", "qs8[1,4,3] i32[8,2] -> qs8[1,8,3]", "", "taps_0 has dims"},
      {"qresize", "qs8[1,4,3] i32[8] -> qs8[1,8,3]", "", "taps_0 has rank 1"},
      {"qresize", "qs8[1,4,3] i64[8,3] -> qs8[1,8,3]", "", "taps_0 cannot have dtype int64"},
      {"qresize", "qs8[1,4,5,3] i32[8,3] f32[2,3] -> qs8[1,8,2,3]", "", "taps_1 cannot have dtype"},
      {"qresize", "qs8[4,3] i32[8,3] -> qs8[8,3]", "", "y has dims [8, 3]"},
      {"qresize", "qs8[1,2,3,4,3] i32[8,3] i32[2,3] -> qs8[1,8,2,4,3]", "", "input has rank 5"});
}

SMR_TEST(lstm) {
  CHECK_CASES(
      {"lstm",
       "f32[5,2,3] f32[1,16,3] f32[1,16,4] f32[1,32] - f32[1,2,4] f32[1,2,4] f32[1,12]"
       " -> f32[5,1,2,4] f32[1,2,4] f32[1,2,4]",
       "hidden=4", NULL},
      {"lstm", "f32[5,2,3] f32[2,16,3] f32[2,16,4] - i32[2] -> f32[5,2,2,4] f32[2,2,4] f32[2,2,4]",
       "hidden=4 direction=bidirectional", NULL},
      {"lstm", "f32[5,2,3] f32[1,12,3] f32[1,16,4] -> f32[5,1,2,4] f32[1,2,4] f32[1,2,4]",
       "hidden=4", "w has dims"},
      {"lstm", "f32[5,2,3] f32[1,16,3] f32[1,16,4] -> f32[5,1,2,4] f32[1,2,4] f32[2,1,4]",
       "hidden=4", "y_c has dims"},
      {"lstm", "f32[5,2,3] f32[1,16,3] f32[1,16,4] - i64[2] -> f32[5,1,2,4] f32[1,2,4] f32[1,2,4]",
       "hidden=4", "lengths cannot have dtype"},
      {"lstm", "f32[5,2,3] f32[1,16,3] f32[1,16,4] -> f32[5,1,2,4] f32[1,2,4] f32[1,2,4]",
       "hidden=0", "w has dims [1, 16, 3]"},
      {"lstm", "f32[5,2,3] f32[1,16,3] f32[1,16,4] -> f32[5,1,2,4] f32[1,2,4] f32[1,2,4]",
       "hidden=4 direction=3", "direction 3"});
}

SMR_TEST(gru) {
  CHECK_CASES({"gru", "f32[5,2,3] f32[1,12,3] f32[1,12,4] f32[1,24] -> f32[5,1,2,4] f32[1,2,4]",
               "hidden=4", NULL},
              {"gru", "f32[5,2,3] f32[1,12,3] f32[1,12,4] f32[1,12] -> f32[5,1,2,4] f32[1,2,4]",
               "hidden=4", "bias has dims"},
              {"gru", "f32[5,2,3] f32[1,12,3] f32[1,12,4] -> f32[5,2,1,4] f32[1,2,4]", "hidden=4",
               "y has dims"});
}

#define LSTM "f32[5,2,3] f32[1,16,3] f32[1,16,4] -> f32[5,1,2,4] f32[1,2,4] f32[1,2,4] "
#define GRU "f32[5,2,3] f32[1,12,3] f32[1,12,4] -> f32[5,1,2,4] f32[1,2,4] "
SMR_TEST(twins) {
  CHECK_CASES(
      {"lstm_train", LSTM "f32[1,5,2,16] f32[1,5,2,4] f32[1,5,2,4]", "hidden=4", NULL},
      {"lstm_train", LSTM "f32[5,1,2,16] f32[1,5,2,4] f32[1,5,2,4]", "hidden=4", "gates has dims"},
      {"lstm_train", LSTM "f32[1,5,2,16] f32[1,5,2,4] f32[1,5,2,3]", "hidden=4",
       "c has dims [1, 5, 2, 3]"},
      {"gru_train", GRU "f32[1,5,2,16] f32[1,5,2,4]", "hidden=4", NULL},
      {"gru_train", GRU "f32[1,5,2,12] f32[1,5,2,4]", "hidden=4", "gates has dims"});
}

SMR_TEST(lstm_grad) {
#define KEPT "f32[1,5,2,16] f32[1,5,2,4] "
#define MADE "-> f32[1,5,2,16] f32[1,2,4] f32[1,2,4]"
  CHECK_CASES(
      {"lstm_grad", KEPT "f32[1,16,4] i32[2] f32[5,1,2,4] f32[1,2,4] f32[1,2,4] f32[1,12]" MADE,
       "hidden=4", NULL},
      {"lstm_grad", KEPT "f32[1,16,4]" MADE, "hidden=4", NULL},
      {"lstm_grad", KEPT "f32[1,16,4]" MADE, "hidden=5", "gates has dims"},
      {"lstm_grad", KEPT "f32[1,16,4]" MADE, "hidden=0", "gates has dims [1, 5, 2, 16]"},
      {"lstm_grad", KEPT "f32[1,16,4]" MADE, "hidden=4 direction=3", "direction 3"},
      {"lstm_grad", KEPT "f32[1,16,4]" MADE, "hidden=4 direction=2",
       "hidden is 4, direction 2 with dims for 1 directions"},
      {"lstm_grad", "f32[5,2,16] f32[1,5,2,4] f32[1,16,4]" MADE, "hidden=4", "gates has rank 3"},
      {"lstm_grad", "f32[1,5,2,16] f32[1,5,1,4] f32[1,16,4]" MADE, "hidden=4",
       "c has dims [1, 5, 1, 4]"},
      {"lstm_grad", KEPT "f32[1,12,4]" MADE, "hidden=4", "r has dims"},
      {"lstm_grad", KEPT "f32[1,16,4] i64[2]" MADE, "hidden=4", "lengths cannot have dtype"},
      {"lstm_grad", KEPT "f32[1,16,4] i32[3]" MADE, "hidden=4", "lengths has dims"},
      {"lstm_grad", KEPT "f32[1,16,4] - f32[1,5,2,4]" MADE, "hidden=4", "dy has dims"},
      {"lstm_grad", KEPT "f32[1,16,4] - - f32[1,1,4]" MADE, "hidden=4", "dy_h has dims"},
      {"lstm_grad", KEPT "f32[1,16,4] - - - f32[1,1,4]" MADE, "hidden=4", "dy_c has dims"},
      {"lstm_grad", KEPT "f32[1,16,4] - - - - f32[1,4]" MADE, "hidden=4", "p has dims"},
      {"lstm_grad", KEPT "f32[1,16,4] -> f32[1,5,2,16] f32[1,2,4] f32[1,1,4]", "hidden=4",
       "dc0 has dims [1, 1, 4]"});
}

SMR_TEST(gru_grad) {
  CHECK_CASES(
      {"gru_grad",
       KEPT "f32[1,12,4] i32[2] f32[5,1,2,4] f32[1,2,4] -> f32[1,5,2,12] f32[1,5,2,12] f32[1,2,4]",
       "hidden=4", NULL},
      {"gru_grad", KEPT "f32[1,16,4] -> f32[1,5,2,12] f32[1,5,2,12] f32[1,2,4]", "hidden=4",
       "r has dims"},
      {"gru_grad", KEPT "f32[1,12,4] -> f32[1,5,2,12] f32[1,5,2,16] f32[1,2,4]", "hidden=4",
       "dinner has dims [1, 5, 2, 16]"});
}

SMR_TEST_MAIN(RUN(own), RUN(terms), RUN(roi_align), RUN(roi_pool), RUN(nms), RUN(grid_sample),
              RUN(grid_sample_grad), RUN(qresize), RUN(lstm), RUN(gru), RUN(twins), RUN(lstm_grad),
              RUN(gru_grad))
