// SPDX-License-Identifier: Apache-2.0
// Check classes of transforms, determinants and sorted rows.
#include "base/fp.h"

#include "ops/check/check_harness.h"

SMR_TEST(dft) {
  CHECK_CASES({"dft", "f32[2,8,1] -> f32[2,8,2]", "length=8", NULL},
              {"dft", "f32[2,8,2] -> f32[2,6,2]", "length=11 onesided=1", NULL},
              {"dft", "f32[2,8,2] -> f32[2,11,1]", "length=11 onesided=1 inverse=1", NULL},
              {"dft", "f16[2,8,1] -> f16[5,8,2]", "length=5 axis=0", NULL},
              {"dft", "f32[8] -> f32[8]", "length=8", "input has rank 1"},
              {"dft", "f32[2,8,3] -> f32[2,8,2]", "length=8", "no axis of real or complex"},
              {"dft", "f32[2,8,2] -> f32[2,8,2]", "length=8 axis=2", "no axis of real or complex"},
              {"dft", "f32[2,8,2] -> f32[2,8,2]", "length=8 axis=3", "axis"},
              {"dft", "f32[2,8,1] -> f32[2,0,2]", "length=0", "length is 0"},
              {"dft", "f32[2,8,1] -> f32[2,33554433,2]", "length=33554433", "length is 33554433"},
              {"dft", "f32[2,8,1] -> f32[2,9,2]", "length=8", "output has dims"},
              {"dft", "f32[2,8,1] -> f32[2,8,1]", "length=8", "output has dims"},
              {"dft", "f32[2,8,1] -> f16[2,8,2]", "length=8", "input and output"},
              {"dft", "i32[2,8,1] -> i32[2,8,2]", "length=8", "input"});
}

SMR_TEST(det) {
  CHECK_CASES({"det", "f32[4,3,3] -> f32[4]", "", NULL}, {"det", "f32[3,3] -> f32[]", "", NULL},
              {"det", "f16[0,0] -> f16[]", "", NULL},
              {"det", "f32[3] -> f32[]", "", "x has rank 1"},
              {"det", "f32[3,4] -> f32[]", "", "x has dims [3, 4]"},
              {"det", "f32[4,3,3] -> f32[3]", "", "y has dims [3]"},
              {"det", "i32[3,3] -> i32[]", "", "input"});
}

SMR_TEST(sort_rows) {
  CHECK_CASES({"sort_rows", "f32[4,3] -> i64[4] bool[4]", "", NULL},
              {"sort_rows", "bool[4,0] -> i64[4] bool[4]", "", NULL},
              {"sort_rows", "f32[4] -> i64[4] bool[4]", "", "x has rank 1"},
              {"sort_rows", "f32[4,3] -> i64[4] bool[3]", "", "first has dims [3]"},
              {"sort_rows", "f32[4,3] -> i32[4] bool[4]", "", "the order"},
              {"sort_rows", "f32[4,3] -> i64[4] u8[4]", "", "the first ones"},
              {"sort_rows", "qs8[4,3] -> i64[4] bool[4]", "", "input"});
}

SMR_TEST(mel_weights) {
  CHECK_CASES(
      {"mel_weights", "i64[] i64[] f32[] f32[] -> f32[9,8]", "shape=[9,8]", NULL},
      {"mel_weights", "i64[] i64[] f32[] f32[] -> f32[9,8]", "shape=[9,7]", "y has dims [9, 8]"},
      {"mel_weights", "i64[] i64[] f32[] f32[] -> f32[9]", "shape=[9]", "output has rank 1"},
      {"mel_weights", "i64[1] i64[] f32[] f32[] -> f32[9,8]", "shape=[9,8]", "length has rank 1"},
      {"mel_weights", "i64[] i32[] f32[] f32[] -> f32[9,8]", "shape=[9,8]", "an input"},
      {"mel_weights", "i64[] i64[] f32[] f16[] -> f32[9,8]", "shape=[9,8]", "an input"});
}

SMR_TEST_MAIN(RUN(dft), RUN(det), RUN(sort_rows), RUN(mel_weights))
