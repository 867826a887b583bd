// SPDX-License-Identifier: Apache-2.0
// Check classes of elementwise operators.
#include "base/fp.h"

#include "ops/check/check_harness.h"

SMR_TEST(same) {
  CHECK_CASES({"exp", "f32[2,3] -> f32[2,3]", "", NULL}, {"exp", "f32[] -> f32[]", "", NULL},
              {"exp", "f32[2,3] -> f32[2,4]", "", "output has dims [2, 4], expected [2, 3]"},
              {"exp", "f32[2,3] -> f32[6]", "", "output has dims [6]"},
              {"exp", "f32[2,3] -> f16[2,3]", "", "differ in dtype"},
              {"exp", "i32[2] -> i32[2]", "", "cannot have dtype int32"},
              {"neg", "i32[2] -> i32[2]", "", NULL}, {"cast", "f32[2] -> i8[2]", "to=3", NULL},
              {"cast", "f32[2] -> i8[2]", "to=6", "not that of `to`"},
              {"isnan", "f32[2] -> f32[2]", "", "output cannot have dtype"},
              {"logical_not", "i8[2] -> i8[2]", "", "cannot have dtype"});
}

SMR_TEST(axis) {
  CHECK_CASES({"softmax", "f32[2,3] -> f32[2,3]", "axis=-2", NULL},
              {"softmax", "f32[2,3] -> f32[2,3]", "axis=2", "axis 2 is out of range for rank 2"},
              {"softmax", "f32[2,3] -> f32[2,3]", "axis=-3", "out of range"},
              {"softmax", "f32[2,3] -> f32[2,3]", "axis=-9223372036854775808", "out of range"},
              {"softmax", "f32[] -> f32[]", "axis=0", "out of range"},
              {"softmax", "f32[2,3] -> f32[3,2]", "axis=0", "output has dims"},
              {"cumsum", "f32[2,3] -> i32[2,3]", "axis=0", "differ in dtype"});
}

SMR_TEST(broadcast) {
  CHECK_CASES({"add", "f32[2,3] f32[3] -> f32[2,3]", "", NULL},
              {"add", "f32[2,1] f32[1,3] -> f32[2,3]", "", NULL},
              {"add", "f32[0,1] f32[5] -> f32[0,5]", "", NULL},
              {"add", "f32[2,3] f32[2] -> f32[2,3]", "", "do not broadcast"},
              {"add", "f32[2,3] f32[3] -> f32[2,1]", "", "output has dims [2, 1]"},
              {"add", "f32[2] f32[2] -> i32[2]", "", "differ in dtype"},
              {"add", "f32[2] i32[2] -> f32[2]", "", "inputs differ in dtype"},
              {"add", "bool[2] bool[2] -> bool[2]", "", "cannot have dtype"},
              {"add", "f32[2] - -> f32[2]", "", "input 1 is required"},
              {"add", "f32[2] -> f32[2]", "", "has 1 inputs"},
              {"eq", "bool[2] bool[2] -> bool[2]", "", NULL},
              {"eq", "f32[2] f32[2] -> f32[2]", "", "output cannot have dtype"},
              {"prelu", "f32[2,3] f32[3] -> f32[2,3]", "", NULL},
              {"prelu", "f32[3] f32[2,3] -> f32[2,3]", "", "output has dims"});
}

SMR_TEST(where) {
  CHECK_CASES(
      {"where", "bool[2,1] f32[3] f32[] -> f32[2,3]", "", NULL},
      {"where", "i8[2] f32[2] f32[2] -> f32[2]", "", "condition cannot have dtype"},
      {"where", "bool[2] f32[3] f32[] -> f32[3]", "", "do not broadcast"},
      {"where", "bool[2] f32[2] f32[2] -> i64[2]", "", "differ in dtype"},
      {"where", "bool[4] f32[1] f32[1] -> f32[1]", "", "output has dims [1], expected [4]"});
}

SMR_TEST(sum_to) {
  CHECK_CASES({"sum_to", "f32[2,3,4] -> f32[3,1]", "shape=[3,1]", NULL},
              {"sum_to", "f32[2,3] -> f32[]", "shape=[]", NULL},
              {"sum_to", "f32[2,3] -> f32[2]", "shape=[2]", "cannot be summed"},
              {"sum_to", "f32[3] -> f32[2,3]", "shape=[2,3]", "cannot be summed"},
              {"sum_to", "f32[2,3] -> f32[3]", "shape=[1]", "output has dims"},
              {"sum_to", "f32[2,3] -> f32[3]", "shape=[3,3]", "shape has 2 elements"});
}

SMR_TEST_MAIN(RUN(same); RUN(axis); RUN(broadcast); RUN(where); RUN(sum_to))
