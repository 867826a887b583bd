// SPDX-License-Identifier: Apache-2.0
// Profiles as Chrome trace events.
#include "base/fp.h"

#include "harness.h"

#include <samara/samara_experimental.h>
#include <stdlib.h>

#include "session/observe/profile_model.h"

SMR_TEST(the_trace_is_json_of_the_size_announced) {
  struct literal *l = looping();
  samara_session *s = literal_session(literal_finish(l), (samara_session_options){.profile = true});
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
  literal_close(s, l);
}

SMR_TEST_MAIN(RUN(the_trace_is_json_of_the_size_announced))
