// SPDX-License-Identifier: Apache-2.0
// Check classes of operators that address by index tensors.
#include "base/fp.h"

#include "ops/check/check_harness.h"

SMR_TEST(gather) {
  CHECK_CASES({"gather", "f32[5,6,7] i64[2,3] -> f32[5,2,3,7]", "axis=1", NULL},
              {"gather", "f32[5] i32[] -> f32[]", "axis=0", NULL},
              {"gather", "f32[5] f32[2] -> f32[2]", "axis=0", "indices cannot have dtype"},
              {"gather", "f32[7] i64[3] -> i8[3]", "axis=0", "dtype"},
              {"gather", "f32[] i32[2] -> f32[2]", "axis=0", "out of range"},
              {"gather", "f32[5,6] i64[2] -> f32[2,5]", "axis=0", "output has dims"},
              {"gather", "f32[1,1,1,1,1,1] i64[1,1,1,1] -> f32[1]", "axis=0", "rank above 8"});
}

SMR_TEST(elements) {
  CHECK_CASES(
      {"gather_elements", "f32[3,4] i64[2,9] -> f32[2,9]", "axis=1", NULL},
      {"gather_elements", "f32[3,4] i64[4,4] -> f32[4,4]", "axis=1", "along axis 0"},
      {"gather_elements", "f32[3,4] i64[3] -> f32[3]", "axis=0", "indices has rank 1"},
      {"scatter_elements", "f32[3,4] i64[2,4] f32[2,4] -> f32[3,4]", "axis=0", NULL},
      {"scatter_elements", "f32[3,4] i64[2,4] f32[2,3] -> f32[3,4]", "axis=0", "updates has"},
      {"scatter_elements", "f32[3,4] i64[2,4] i8[2,4] -> f32[3,4]", "axis=0", "dtype"},
      {"scatter_elements", "bool[3] i64[1] bool[1] -> bool[3]", "axis=0 reduction=add", "bool"},
      {"scatter_elements", "f32[3,4] i64[2,5] f32[2,5] -> f32[3,4]", "axis=0", "along axis 1"},
      {"scatter_elements", "f32[3,4] i64[2,4] f32[2,4] -> f32[2,4]", "axis=0", "output has"});
}

SMR_TEST(nd) {
  CHECK_CASES({"gather_nd", "f32[3,4,5] i64[2,2] -> f32[2,5]", "", NULL},
              {"gather_nd", "f32[3,4,5] i64[3,7,1] -> f32[3,7,5]", "batch_dims=1", NULL},
              {"gather_nd", "f32[3,4] i64[2,3] -> f32[2]", "", "address 3 axes"},
              {"gather_nd", "f32[3,4] i64[] -> f32[]", "", "indices has rank 0"},
              {"gather_nd", "f32[3,4] i64[2,1] -> f32[2]", "batch_dims=1", "batch axis 0 is 3"},
              {"gather_nd", "f32[3,4] i64[3] -> f32[3]", "batch_dims=-1", "batch_dims is -1"},
              {"scatter_nd", "f32[3,4] i64[2,1] f32[2,4] -> f32[3,4]", "", NULL},
              {"scatter_nd", "f32[3,4] i64[2,1] f32[2,3] -> f32[3,4]", "", "updates has dims"},
              {"scatter_nd", "f32[3] i64[1,1] f32[1] -> f32[3]", "reduction=9", "reduction 9"},
              {"scatter_nd", "f32[3,4] i64[2,3] f32[2] -> f32[3,4]", "", "address 3 axes"});
}

SMR_TEST_MAIN(RUN(gather); RUN(elements); RUN(nd))
