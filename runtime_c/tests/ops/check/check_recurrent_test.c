// SPDX-License-Identifier: Apache-2.0
// Check classes of the recurrent networks.
#include "base/fp.h"

#include "ops/check/check_harness.h"

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
       "hidden=0", "hidden is 0"},
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
       "states before has dims"},
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
      {"lstm_grad", KEPT "f32[1,16,4]" MADE, "hidden=0", "hidden is 0"},
      {"lstm_grad", KEPT "f32[1,16,4]" MADE, "hidden=4 direction=3", "direction 3"},
      {"lstm_grad", KEPT "f32[1,16,4]" MADE, "hidden=4 direction=2", "gates has dims"},
      {"lstm_grad", "f32[5,2,16] f32[1,5,2,4] f32[1,16,4]" MADE, "hidden=4", "gates has rank 3"},
      {"lstm_grad", "f32[1,5,2,16] f32[1,5,1,4] f32[1,16,4]" MADE, "hidden=4", "before has dims"},
      {"lstm_grad", KEPT "f32[1,12,4]" MADE, "hidden=4", "r has dims"},
      {"lstm_grad", KEPT "f32[1,16,4] i64[2]" MADE, "hidden=4", "lengths cannot have dtype"},
      {"lstm_grad", KEPT "f32[1,16,4] i32[3]" MADE, "hidden=4", "lengths has dims"},
      {"lstm_grad", KEPT "f32[1,16,4] - f32[1,5,2,4]" MADE, "hidden=4", "dy has dims"},
      {"lstm_grad", KEPT "f32[1,16,4] - - f32[1,1,4]" MADE, "hidden=4", "dy_h has dims"},
      {"lstm_grad", KEPT "f32[1,16,4] - - - f32[1,1,4]" MADE, "hidden=4", "dy_c has dims"},
      {"lstm_grad", KEPT "f32[1,16,4] - - - - f32[1,4]" MADE, "hidden=4", "p has dims"},
      {"lstm_grad", KEPT "f32[1,16,4] -> f32[1,5,2,16] f32[1,2,4] f32[1,1,4]", "hidden=4",
       "output has dims"});
}

SMR_TEST(gru_grad) {
  CHECK_CASES(
      {"gru_grad",
       KEPT "f32[1,12,4] i32[2] f32[5,1,2,4] f32[1,2,4] -> f32[1,5,2,12] f32[1,5,2,12] f32[1,2,4]",
       "hidden=4", NULL},
      {"gru_grad", KEPT "f32[1,16,4] -> f32[1,5,2,12] f32[1,5,2,12] f32[1,2,4]", "hidden=4",
       "r has dims"},
      {"gru_grad", KEPT "f32[1,12,4] -> f32[1,5,2,12] f32[1,5,2,16] f32[1,2,4]", "hidden=4",
       "output has dims"});
}

SMR_TEST_MAIN(RUN(lstm); RUN(gru); RUN(twins); RUN(lstm_grad); RUN(gru_grad))
