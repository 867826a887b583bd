// SPDX-License-Identifier: Apache-2.0
// Check classes of operators that generate tensors.
#include "base/fp.h"

#include "ops/check/check_harness.h"

SMR_TEST(sources) {
  CHECK_CASES({"range", "i64[] i64[] i64[] -> i64[0]", "", NULL},
              {"range", "i64[] i64[1] i64[] -> i64[0]", "", NULL},
              {"range", "i64[] i64[2] i64[] -> i64[0]", "", "an input has dims [2]"},
              {"range", "i64[] i32[] i64[] -> i64[0]", "", "dtype"},
              {"range", "i64[] i64[] i64[] -> i64[0,0]", "", "y has rank 2"},
              {"iota", "-> i64[5]", "length=5 dtype=7", NULL},
              {"iota", "-> i64[5]", "length=4 dtype=7", "y has dims [5]"},
              {"iota", "-> i32[5]", "length=5 dtype=7", "dtype is 7"},
              {"iota", "-> i8[5]", "length=5 dtype=3", "cannot have dtype"},
              {"iota", "-> i64[5]", "length=-5 dtype=7", "y has dims [5]"},
              {"nonzero", "f32[2,3] -> i64[2,0]", "", NULL},
              {"nonzero", "f32[2,3] -> i64[3,0]", "", "3 rows for an input of rank 2"},
              {"nonzero", "f32[2,3] -> i32[2,0]", "", "dtype"},
              {"dims", "-> i64[2]", "values=[3,4] dtype=7", NULL},
              {"dims", "-> i64[]", "values=[3] dtype=7 scalar=1", NULL},
              {"dims", "-> i64[]", "values=[3,4] dtype=7 scalar=1", "holds one value, not 2"},
              {"dims", "-> i64[3]", "values=[3,4] dtype=7", "output has dims"});
}

SMR_TEST(shaped) {
  CHECK_CASES({"random_uniform", "i64[2] -> f32[3,4]", "shape=[3,4]", NULL},
              {"random_uniform", "i64[2] -> f32[]", "shape=[]", NULL},
              {"random_uniform", "i64[2] -> f32[3,4]", "shape=[3]", "y has rank 2"},
              {"random_uniform", "i64[2] -> f32[3,4]", "shape=[3,5]", "y has dims [3, 4]"},
              {"random_uniform", "i64[2] -> f32[3,4]", "shape=[3,-4]", "y has dims [3, 4]"});
}

SMR_TEST_MAIN(RUN(sources), RUN(shaped))
