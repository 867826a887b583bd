// SPDX-License-Identifier: Apache-2.0
// Check classes of operators that rearrange, cut, join and repeat.
#include "base/fp.h"

#include "ops/check/check_harness.h"

SMR_TEST(reshape) {
  CHECK_CASES({"reshape", "f32[2,3] -> f32[6]", "shape=[6]", NULL},
              {"reshape", "f32[2,0] -> f32[0,7]", "shape=[0,7]", NULL},
              {"reshape", "f32[2,3] -> f32[7]", "shape=[7]", "has 6 elements"},
              {"reshape", "f32[2,3] -> f32[6]", "shape=[3,2]", "shape has 2 elements"},
              {"reshape", "f32[2,3] -> f32[6]", "shape=[5]", "output has dims [6], expected [5]"},
              {"reshape", "f32[2,3] -> i8[6]", "shape=[6]", "dtype"});
}

SMR_TEST(transpose) {
  CHECK_CASES({"transpose", "f32[2,3,4] -> f32[4,2,3]", "perm=[2,0,1]", NULL},
              {"transpose", "f32[2,3] -> f32[3,2]", "perm=[1,1]", "names axis 1 twice"},
              {"transpose", "f32[2,3] -> f32[3,2]", "perm=[1,2]", "perm[1] is 2"},
              {"transpose", "f32[2,3] -> f32[3,2]", "perm=[1]", "perm has 1"},
              {"transpose", "f32[2,3] -> f32[2,3]", "perm=[1,0]", "output has dims"});
}

SMR_TEST(concat_and_split) {
  CHECK_CASES({"concat", "f32[2,3] f32[2,4] -> f32[2,7]", "axis=1", NULL},
              {"concat", "f32[2,3] f32[3,4] -> f32[2,7]", "axis=1", "an input has dims [3, 4]"},
              {"concat", "f32[2,3] f32[2,4] -> f32[2,8]", "axis=1", "output has dims"},
              {"concat", "f32[2,3] f32[6] -> f32[2,7]", "axis=1", "an input has dims [6]"},
              {"concat", "f32[2] i8[2] -> f32[4]", "axis=0", "dtype"},
              {"split", "f32[5,2] -> f32[2,2] f32[3,2]", "axis=0 sizes=[2,3]", NULL},
              {"split", "f32[5,2] -> f32[2,2] f32[2,2]", "axis=0 sizes=[2,2]", "do not sum to 5"},
              {"split", "f32[5,2] -> f32[4,2] f32[4,2]", "axis=0 sizes=[4,4]", "do not sum to 5"},
              {"split", "f32[2] -> i8[2]", "axis=0 sizes=[2]", "dtype"},
              {"split", "f32[5,2] -> f32[2,2] f32[3,2]", "axis=0 sizes=[5]", "sizes has 1"},
              {"split", "f32[5,2] -> f32[2,2] f32[3,2]", "axis=0 sizes=[-1,6]", "sizes[0] is -1"});
}

SMR_TEST(slice) {
  CHECK_CASES(
      {"slice", "f32[5] -> f32[2]", "begin=[1] end=[5] step=[2]", NULL},
      {"slice", "f32[5] -> f32[3]", "begin=[4] end=[-1] step=[-2]", NULL},
      {"slice", "f32[5] -> f32[0]", "begin=[3] end=[1] step=[1]", NULL},
      {"slice", "f32[0] -> f32[0]", "begin=[-1] end=[-1] step=[-1]", NULL},
      {"slice", "f32[5] -> f32[6]", "begin=[0] end=[6] step=[1]", "cannot be sliced"},
      {"slice", "f32[5] -> f32[6]", "begin=[5] end=[-1] step=[-1]", "cannot be sliced"},
      {"slice", "f32[5] -> f32[1]", "begin=[-1] end=[0] step=[1]", "cannot be sliced"},
      {"slice", "f32[5] -> f32[5]", "begin=[0] end=[5] step=[0]", "cannot be sliced"},
      {"slice", "f32[5] -> f32[5]", "begin=[0] end=[5] step=[-9223372036854775808]", "step[0] is"},
      {"slice", "f32[5] -> f32[4]", "begin=[0] end=[5] step=[1]", "output has dims"});
}

SMR_TEST(pad) {
  CHECK_CASES({"pad", "f32[3] -> f32[6]", "pads=[1,2] mode=constant", NULL},
              {"pad", "f32[3] f32[] -> f32[2]", "pads=[-2,1] mode=constant", NULL},
              {"pad", "f32[3] f32[2] -> f32[6]", "pads=[1,2] mode=constant", "value has dims [2]"},
              {"pad", "f32[3] i32[] -> f32[6]", "pads=[1,2] mode=constant", "dtype"},
              {"pad", "f32[3] -> f32[-1]", "pads=[-2,-2] mode=constant", "dims"},
              {"pad", "f32[3] -> f32[5]", "pads=[2,0] mode=reflect", NULL},
              {"pad", "f32[3] -> f32[6]", "pads=[3,0] mode=reflect", "cannot be padded by 3"},
              {"pad", "f32[0] -> f32[1]", "pads=[1,0] mode=edge", "cannot be padded"},
              {"pad", "f32[0] -> f32[1]", "pads=[1,0] mode=constant", NULL},
              {"pad", "f32[3] -> f32[9]", "pads=[6,0] mode=wrap", NULL},
              {"pad", "i32[2] -> i32[0]", "pads=[-1,-1] mode=wrap", NULL},
              {"pad", "f32[3] -> f32[6]", "pads=[1,2] mode=7", "mode 7 is unknown"},
              {"pad", "f32[3] -> f32[6]", "pads=[3] mode=constant", "pads has 1"},
              {"pad", "f32[3] -> f32[6]", "pads=[9223372036854775807,0] mode=constant", "pads[0]"});
}

SMR_TEST(expand_and_tile) {
  CHECK_CASES({"expand", "f32[3,1] -> f32[2,3,4]", "shape=[2,3,4]", NULL},
              {"expand", "f32[3] -> f32[2]", "shape=[2]", "does not broadcast"},
              {"expand", "f32[2,3] -> f32[3]", "shape=[3]", "does not broadcast"},
              {"tile", "f32[2,3] -> f32[4,0]", "repeats=[2,0]", NULL},
              {"tile", "f32[2,3] -> f32[2,3]", "repeats=[1,-1]", "repeats[1] is -1"},
              {"tile", "f32[4] -> f32[4]", "repeats=[4611686018427387904]", "overflow"},
              {"tile", "f32[2,3] -> f32[4,3]", "repeats=[2]", "repeats has 1"});
}

SMR_TEST_MAIN(RUN(reshape); RUN(transpose); RUN(concat_and_split); RUN(slice); RUN(pad);
              RUN(expand_and_tile))
