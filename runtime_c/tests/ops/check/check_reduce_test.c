// SPDX-License-Identifier: Apache-2.0
// Check classes of reductions, arg and top_k.
#include "base/fp.h"

#include "ops/check/check_harness.h"

SMR_TEST(reduce) {
  CHECK_CASES({"reduce_sum", "f32[2,3,4] -> f32[3]", "axes=[0,-1]", NULL},
              {"reduce_sum", "f32[2,3,4] -> f32[1,3,1]", "axes=[0,2] keepdims=1", NULL},
              {"reduce_sum", "f32[2,3] -> f32[2,3]", "axes=[]", NULL},
              {"reduce_sum", "f32[2,3] -> f32[]", "axes=[0,-2]", "axis -2 is given twice"},
              {"reduce_sum", "f32[2,3] -> f32[3]", "axes=[2]", "axis 2 is out of range"},
              {"reduce_sum", "f32[2,3] -> f32[2]", "axes=[0]", "output has dims [2]"},
              {"reduce_sum", "f32[2,3] -> i32[3]", "axes=[0]", "differ in dtype"},
              {"reduce_sum", "bool[2,3] -> bool[3]", "axes=[0]", "cannot have dtype"},
              {"reduce_max", "bool[2,3] -> bool[3]", "axes=[0]", NULL});
}

SMR_TEST(arg) {
  CHECK_CASES({"argmax", "f32[2,3] -> i64[2]", "axis=1", NULL},
              {"argmax", "f32[2,3] -> i64[2,1]", "axis=1 keepdims=1", NULL},
              {"argmax", "f32[0,3] -> i64[3]", "axis=0", "axis 0 is empty"},
              {"argmax", "f32[0,3] -> i64[0]", "axis=1", NULL},
              {"argmin", "f32[2,3] -> f32[2]", "axis=1", "output cannot have dtype"},
              {"argmin", "f32[] -> i64[]", "axis=0", "out of range"});
}

SMR_TEST(top_k) {
  CHECK_CASES({"top_k", "f32[2,5] -> f32[2,3] i64[2,3]", "k=3", NULL},
              {"top_k", "f32[2,5] -> f32[2,6] i64[2,6]", "k=6", "k is 6, axis 1 has 5"},
              {"top_k", "f32[2,5] -> f32[2,3] i64[2,3]", "k=-1", "k is -1"},
              {"top_k", "f32[2,5] -> f32[2,3] i64[2,2]", "k=3", "indices has dims"},
              {"top_k", "f32[2,5] -> i8[2,3] i64[2,3]", "k=3", "differ in dtype"},
              {"top_k", "f32[2,5] -> f32[2,3] i32[2,3]", "k=3", "indices cannot have dtype"},
              {"top_k", "f32[2,5] -> f32[2,3]", "k=3", "has 1 outputs"});
}

SMR_TEST_MAIN(RUN(reduce); RUN(arg); RUN(top_k))
