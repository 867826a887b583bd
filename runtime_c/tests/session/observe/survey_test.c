// SPDX-License-Identifier: Apache-2.0
// What a session's nodes need, as text.
#include "base/fp.h"

#include "harness.h"

#include <samara/samara_experimental.h>

#include "ops/table/opattrs.h"
#include "session/model_literal.h"

// main(x [2]): exp, then a view.
static struct literal *exponential(void) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_int(f, 2);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t e = literal_map(f, smr_op_find(SMR_CODE_EXP), "grow", LITERAL_LIST(x), "e", n);
  const uint32_t y =
      literal_map(f, smr_op_find(SMR_CODE_IDENTITY), "same", LITERAL_LIST(e), "y", n);
  literal_output(f, y, "y");
  return l;
}

static const char SURVEY_EXPECTED[] =
    "\t\t\t\t\t\t0\t0\n"
    "main\tgrow\texp\tprepared\tfloat32\tf32_vunary_exp\t0\t2\n"
    "main\tsame\tidentity\tview\tfloat32\tviews\t0\t0\n";

SMR_TEST(a_line_per_node) {
  struct literal *l = exponential();
  samara_session *s = literal_session(literal_finish(l), (samara_session_options){.isa = NULL});
  char text[256];
  size_t length = 0;
  CHECK_EQ_INT(samara_session_needs(s, text, sizeof text, &length), SAMARA_OK);
  CHECK_STR(text, SURVEY_EXPECTED);
  CHECK_EQ_INT(length, sizeof SURVEY_EXPECTED - 1);
  literal_close(s, l);
}

SMR_TEST(a_small_room_is_cut) {
  struct literal *l = exponential();
  samara_session *s = literal_session(literal_finish(l), (samara_session_options){.isa = NULL});
  char text[16];
  size_t length = 0;
  CHECK_EQ_INT(samara_session_needs(s, NULL, 0, &length), SAMARA_OK);
  CHECK_EQ_INT(length, sizeof SURVEY_EXPECTED - 1);
  CHECK_EQ_INT(samara_session_needs(s, text, sizeof text, &length), SAMARA_OK);
  CHECK_STR(text, "\t\t\t\t\t\t0\t0\nmain\t");
  CHECK_EQ_INT(length, sizeof SURVEY_EXPECTED - 1);
  CHECK_EQ_INT(samara_session_needs(s, NULL, 4, &length), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_needs(s, text, 4, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_needs(NULL, text, 4, &length), SAMARA_BAD_ARGUMENT);
  literal_close(s, l);
}

SMR_TEST_MAIN(RUN(a_line_per_node); RUN(a_small_room_is_cut))
