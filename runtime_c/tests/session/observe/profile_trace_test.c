// SPDX-License-Identifier: Apache-2.0
// Profiles as Chrome trace events.
#include "base/fp.h"

#include "harness.h"

#include <samara/samara_experimental.h>
#include <stdlib.h>

#include "ops/table/opattrs.h"
#include "session/model_literal.h"

static const struct smr_op *op(uint16_t code) { return smr_op_find(code); }

// main(x [2]): five trips of relu, then a view called "odd \"name\"\n".
static struct literal *looping(void) {
  static const int64_t five = 5;
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "body", false);
  literal_input(f, literal_value(f, "i", SAMARA_INT64, 0));
  const uint32_t c = literal_value(f, "c", SAMARA_BOOL, 0);
  literal_input(f, c);
  const uint32_t n = literal_int(f, 2);
  const uint32_t x = literal_value(f, "x", SAMARA_FLOAT32, 1, n);
  const uint32_t y = literal_value(f, "y", SAMARA_FLOAT32, 1, n);
  literal_input(f, x);
  literal_node(f, op(SMR_CODE_RELU), "inner", LITERAL_LIST((int32_t)x), LITERAL_LIST((int32_t)y));
  literal_output(f, c, "c");
  literal_output(f, y, "y");
  f = literal_add(l, "main", true);
  const uint32_t m = literal_int(f, 2);
  const uint32_t a = literal_value(f, "a", SAMARA_FLOAT32, 1, m);
  const uint32_t b = literal_value(f, "b", SAMARA_FLOAT32, 1, m);
  const uint32_t d = literal_value(f, "d", SAMARA_FLOAT32, 1, m);
  literal_input(f, a);
  const uint32_t t = literal_constant(l, f, "t", SAMARA_INT64, &five, 0);
  const uint32_t node =
      literal_node(f, op(SMR_CODE_LOOP), "loop", LITERAL_LIST((int32_t)t, -1, (int32_t)a),
                   LITERAL_LIST((int32_t)b));
  literal_attr(f, node, "body", (struct smr_attr){.i = 0});
  literal_attr(f, node, "carried", (struct smr_attr){.i = 1});
  literal_node(f, op(SMR_CODE_IDENTITY), "odd \"name\"\n", LITERAL_LIST((int32_t)b),
               LITERAL_LIST((int32_t)d));
  literal_output(f, d, "d");
  return l;
}

SMR_TEST(the_trace_is_json_of_the_size_announced) {
  struct literal *l = looping();
  samara_session *s = literal_session(literal_finish(l), (samara_session_options){.profile = true});
  REQUIRE(s != NULL);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  size_t needed = 0, again = 0;
  CHECK_EQ_INT(samara_session_profile_trace(s, NULL, 0, &needed), SAMARA_OK);
  char *text = malloc(needed);
  REQUIRE(text != NULL);
  CHECK_EQ_INT(samara_session_profile_trace(s, text, needed, &again), SAMARA_OK);
  CHECK_EQ_INT(again, needed);
  CHECK_EQ_INT(strlen(text) + 1, needed);
  CHECK_CONTAINS(text, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[{\"ph\":\"X\"");
  CHECK_CONTAINS(text, "\"name\":\"odd \\\"name\\\"\\u000a\"");
  CHECK_CONTAINS(text, "\"function\":\"body\",\"count\":5}}");
  CHECK_STR(text + needed - 4, "]}\n");
  char shorter[40];
  CHECK_EQ_INT(samara_session_profile_trace(s, shorter, sizeof shorter, &again), SAMARA_OK);
  CHECK_EQ_INT(again, needed);
  CHECK_EQ_INT(strlen(shorter), 39);
  CHECK(strncmp(shorter, text, 39) == 0);
  free(text);
  samara_session_destroy(s);
  literal_free(l);
}

SMR_TEST_MAIN(RUN(the_trace_is_json_of_the_size_announced))
