// SPDX-License-Identifier: Apache-2.0
// Attribute descriptors and access by the generated structs.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "ops/table/opattrs.h"

SMR_TEST(descriptors_fit_the_rows) {
  size_t seen = 0;
  for (uint32_t code = 0; code <= UINT16_MAX; code++) {
    const struct smr_op *op = smr_op_find((uint16_t)code);
    if (op == NULL) continue;
    CHECK_EQ_INT(op->attr_first, seen);  // rows of operators follow each other
    seen += op->attr_count;
    for (uint32_t i = 0; i < op->attr_count; i++) {
      const struct smr_attr_desc *desc = &smr_attr_descs[op->attr_first + i];
      CHECK(smr_attr_name(desc)[0] != '\0');
      CHECK(desc->type <= SMR_ATTR_NAMED);
      CHECK((desc->type == SMR_ATTR_ENUM) == (desc->choices > 0));
      CHECK(desc->type != SMR_ATTR_ENUM || desc->default_int < desc->choices);
      const char *names = smr_attr_choices(desc);
      int choices = names[0] != '\0';
      for (; *names != '\0'; names++) choices += *names == ',';
      CHECK_EQ_INT(desc->choices, choices);
    }
  }
  CHECK_EQ_INT(seen, SMR_ATTR_DESC_COUNT);
}

SMR_TEST(members) {
  struct op_test t;
  op_begin(&t, "conv");
  CHECK_EQ_INT(SMR_ATTR(&t.job, conv, groups)->i, 1);
  op_int(&t, "groups", 5);
  CHECK_EQ_INT(SMR_ATTR(&t.job, conv, groups)->i, 5);
  op_f32(&t, "lo", -3);
  op_f32(&t, "post_beta", 7);
  CHECK(SMR_ATTR(&t.job, conv, hi)->f == INFINITY);
  CHECK(SMR_ATTR_GROUP(&t.job, conv, epilogue)->lo.f == -3);
  CHECK(SMR_ATTR_GROUP(&t.job, conv, epilogue)->post_beta.f == 7);
  op_end(&t);
}

// What builds with assertions look at.
SMR_TEST(names_are_those_of_the_row) {
  struct op_test t;
  op_begin(&t, "conv");
  CHECK(smr_attr_is(&t.job, SMR_ATTR_INDEX(conv, groups), "groups"));
  CHECK(!smr_attr_is(&t.job, SMR_ATTR_INDEX(conv_transpose, groups), "groups"));
  CHECK(!smr_attr_is(&t.job, t.job.op->attr_count, "groups"));
  op_end(&t);
}

SMR_TEST(choices) {
  const struct smr_op *op = smr_op_find(SMR_CODE_GELU);
  REQUIRE(op != NULL);
  CHECK_STR(smr_attr_choices(&smr_attr_descs[op->attr_first]), "none,tanh");
}

SMR_TEST_MAIN(RUN(descriptors_fit_the_rows); RUN(members); RUN(names_are_those_of_the_row);
              RUN(choices))
