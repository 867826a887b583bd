// SPDX-License-Identifier: Apache-2.0
// Failure texts: their contents, truncation, and a NULL error struct.
#include "base/error.h"

#include "harness.h"

static samara_status inner(samara_error *error, int fail) {
  if (fail) SMR_FAIL(error, BAD_SHAPE, "dim %d is %s", 3, "odd");
  return SAMARA_OK;
}

static samara_status outer(samara_error *error, int fail) {
  SMR_TRY(inner(error, fail));
  return SAMARA_OK;
}

SMR_TEST(writes_status_and_text) {
  samara_error error = {SAMARA_OK, ""};
  CHECK_EQ_INT(outer(&error, 0), SAMARA_OK);
  CHECK_STR(error.text, "");
  CHECK_EQ_INT(outer(&error, 1), SAMARA_BAD_SHAPE);
  CHECK_EQ_INT(error.status, SAMARA_BAD_SHAPE);
  CHECK_STR(error.text, "dim 3 is odd");
}

SMR_TEST(accepts_no_error_struct) {
  CHECK_EQ_INT(outer(NULL, 1), SAMARA_BAD_SHAPE);
  CHECK_EQ_INT(smr_fail_prefix(NULL, SAMARA_IO, "%s: ", "x"), SAMARA_IO);
}

SMR_TEST(cuts_long_texts) {
  samara_error error;
  char text[1000];
  memset(text, 'x', sizeof text);
  text[sizeof text - 1] = '\0';
  smr_fail(&error, SAMARA_IO, "%s", text);
  CHECK_EQ_INT(strlen(error.text), sizeof error.text - 1);
}

SMR_TEST(prefixes) {
  samara_error error;
  smr_fail(&error, SAMARA_IO, "cannot read");
  CHECK_EQ_INT(smr_fail_prefix(&error, SAMARA_BAD_MODEL, "node '%s': ", "conv"), SAMARA_BAD_MODEL);
  CHECK_STR(error.text, "node 'conv': cannot read");
  CHECK_EQ_INT(error.status, SAMARA_BAD_MODEL);
}

SMR_TEST(prefix_cuts_the_end) {
  samara_error error;
  char text[1000], prefix[1000];
  memset(text, 'x', sizeof text);
  memset(prefix, 'p', sizeof prefix);
  text[500] = prefix[100] = '\0';
  smr_fail(&error, SAMARA_IO, "%s", text);
  smr_fail_prefix(&error, SAMARA_IO, "%s", prefix);
  CHECK_EQ_INT(strlen(error.text), sizeof error.text - 1);
  CHECK(error.text[99] == 'p' && error.text[100] == 'x');
  prefix[100] = 'p';
  prefix[999] = '\0';
  smr_fail_prefix(&error, SAMARA_IO, "%s", prefix);
  CHECK_EQ_INT(strlen(error.text), sizeof error.text - 1);
  CHECK(error.text[506] == 'p');
}

SMR_TEST_MAIN(RUN(writes_status_and_text); RUN(accepts_no_error_struct); RUN(cuts_long_texts);
              RUN(prefixes); RUN(prefix_cuts_the_end))
