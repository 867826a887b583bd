// SPDX-License-Identifier: Apache-2.0
// What every node must satisfy.
#include "base/fp.h"

#include "ops/check/check_harness.h"

SMR_TEST(tensors) {
  CHECK_CASES({"neg", "f32[-1] -> f32[-1]", "", "input 0 has dims out of range: dim 0 is -1"},
              {"neg", "f32[2] -> f32[-2]", "", "output 0 has dims"},
              {"neg", "f32[0,4611686018427387904,4] -> f32[0,4611686018427387904,4]", "",
               "input 0 has dims"},
              {"neg", "i8[9223372036854775807] -> i8[9223372036854775807]", "", "input 0 has dims"},
              {"neg", "i8[65536,65536,1073741823] -> i8[65536,65536,1073741823]", "", NULL},
              {"neg", "x9[2] -> x9[2]", "", "dtype ? and rank 1"},
              {"neg", "f32[2] f32[2] -> f32[2]", "", "has 2 inputs, expected 1 to 1"},
              {"neg", "f32[2] -> f32[2] f32[2]", "", "has 2 outputs"},
              {"neg", "- -> f32[2]", "", "input 0 is required"},
              {"neg", "f32[2]! -> f32[2]", "", "packed (layout 1)"},
              {"concat", "f32[2] - -> f32[2]", "axis=0", "input 1 is required"});
}

// A dtype that the operator's row does not name is refused before the operator's own check.
SMR_TEST(later_dtypes) {
  CHECK_CASES(
      {"transpose", "f64[2,3] -> f64[3,2]", "perm=[1,0]", NULL},
      {"transpose", "bf16[2,3] -> bf16[3,2]", "perm=[1,0]", NULL},
      {"transpose", "i4[2,3] -> i4[3,2]", "perm=[1,0]", "input 0 cannot have dtype int4"},
      {"identity", "i4[3] -> i4[3]", "", NULL}, {"cast", "i4[3] -> u64[3]", "to=14", NULL},
      {"layer_norm", "f64[2,3] -> f64[2,3]", "", "input 0 cannot have dtype float64"},
      {"lt", "bf16[2] bf16[2] -> bool[2]", "", "input 0 cannot have dtype bfloat16"},
      {"gather", "f32[4] u64[2] -> f32[2]", "", "cannot have dtype uint64"},
      {"identity", "i4[9223372036854775807] -> i4[9223372036854775807]", "", "input 0 has dims"});
}

SMR_TEST(constants_hold_what_dims_say) {
  struct op_test t;
  op_begin(&t, "neg");
  struct smr_tensor *x = op_constant(&t, SAMARA_FLOAT32, 1, (int64_t[]){4}, NULL);
  op_out(&t, SAMARA_FLOAT32, 1, (int64_t[]){4});
  CHECK_EQ_INT(smr_op_check(&t.job), SAMARA_OK);
  x->size_bytes = 15;
  CHECK_EQ_INT(smr_op_check(&t.job), SAMARA_BAD_SHAPE);
  CHECK_STR(t.error.text, "neg: input 0 has 15 bytes, its dims need 16");
  op_end(&t);
  op_begin(&t, "identity");
  x = op_constant(&t, SAMARA_INT4, 1, (int64_t[]){5}, NULL);
  op_out(&t, SAMARA_INT4, 1, (int64_t[]){5});
  CHECK_EQ_INT(x->size_bytes, 3);
  CHECK_EQ_INT(smr_op_check(&t.job), SAMARA_OK);
  x->size_bytes = 2;
  CHECK_EQ_INT(smr_op_check(&t.job), SAMARA_BAD_SHAPE);
  op_end(&t);
}

SMR_TEST(dims_text) {
  CHECK_STR(smr_dims_text((int64_t[]){2, -3}, 2).text, "[2, -3]");
  CHECK_STR(smr_dims_text(NULL, 0).text, "[]");
  const int64_t big[8] = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, 1, 1};
  const struct smr_dims_text text = smr_dims_text(big, 8);
  CHECK(strlen(text.text) < sizeof text.text);
  CHECK_EQ_INT(text.text[strlen(text.text) - 1], ']');
}

SMR_TEST(broadcasting) {
  int64_t dims[SAMARA_MAX_RANK] = {3};
  uint32_t rank = 1;
  CHECK(smr_broadcast_dims(dims, &rank, (int64_t[]){2, 1}, 2));
  CHECK_EQ_INT(rank, 2);
  CHECK_EQ_INT(dims[0], 2);
  CHECK_EQ_INT(dims[1], 3);
  CHECK(!smr_broadcast_dims(dims, &rank, (int64_t[]){2}, 1));
}

SMR_TEST_MAIN(RUN(tensors); RUN(later_dtypes); RUN(constants_hold_what_dims_say); RUN(dims_text);
              RUN(broadcasting))
