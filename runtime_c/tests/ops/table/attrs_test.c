// SPDX-License-Identifier: Apache-2.0
// Attribute descriptors and access by name.
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

SMR_TEST(by_name) {
  struct op_test t;
  op_begin(&t, "conv");
  CHECK(smr_op_has_attr(&t.job, "groups"));
  CHECK(!smr_op_has_attr(&t.job, "group"));
  CHECK(!smr_op_has_attr(&t.job, "axis"));
  CHECK_EQ_INT(smr_op_attr_int(&t.job, "groups"), 1);
  op_int(&t, "groups", 5);
  CHECK_EQ_INT(smr_op_attr_int(&t.job, "groups"), 5);
  CHECK(smr_op_attr(&t.job, "hi")->f == INFINITY);
  op_end(&t);
}

SMR_TEST(choices) {
  const struct smr_op *op = smr_op_find(SMR_CODE_GELU);
  REQUIRE(op != NULL);
  CHECK_STR(smr_attr_choices(&smr_attr_descs[op->attr_first]), "none,tanh");
}

SMR_TEST_MAIN(RUN(descriptors_fit_the_rows); RUN(by_name); RUN(choices))
