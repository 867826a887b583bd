// SPDX-License-Identifier: Apache-2.0
// Profiles: rows, counts in loops, and when there are none.
#include "base/fp.h"

#include "harness.h"

#include <samara/samara_experimental.h>
#include <stdlib.h>

#include "session/observe/profile_model.h"

SMR_TEST(rows_count_and_time_what_ran) {
  struct literal *l = looping();
  samara_session *s = literal_session(literal_finish(l), (samara_session_options){.profile = true});
  samara_profile_row rows[3];
  size_t count = 0;
  CHECK_EQ_INT(samara_session_profile(s, rows, 3, &count), SAMARA_BAD_STATE);
  for (int again = 0; again < 2; again++) {
    CHECK_EQ_INT(literal_run(s), SAMARA_OK);
    CHECK_EQ_INT(samara_session_profile(s, NULL, 0, &count), SAMARA_OK);
    CHECK_EQ_INT(count, 3);
    REQUIRE(samara_session_profile(s, rows, 3, &count) == SAMARA_OK);
    CHECK_STR(rows[0].node, "loop");
    CHECK_STR(rows[0].op, "loop");
    CHECK_STR(rows[0].function, "main");
    CHECK_EQ_INT(rows[0].count, 1);
    CHECK_STR(rows[1].node, "odd \"name\"\n");
    CHECK_STR(rows[1].kernel, "view");
    CHECK_STR(rows[2].node, "inner");
    CHECK_STR(rows[2].function, "body");
    CHECK_EQ_INT(rows[2].count, 5);
    CHECK(rows[0].total_ns >= rows[2].total_ns);
    CHECK(rows[2].start_ns >= rows[0].start_ns);
    CHECK(rows[1].start_ns >= rows[0].start_ns + rows[0].total_ns);
  }
  samara_session_set_profiling(s, false);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK_EQ_INT(samara_session_profile(s, rows, 3, &count), SAMARA_BAD_STATE);
  CHECK_CONTAINS(samara_session_error(s), "was not timed");
  literal_close(s, l);
}

SMR_TEST(sources_go_with_the_rows) {
  static const struct smr_source sources[] = {
      {.file = "model.py", .line = 12, .detail = "layers.0"},
      {.file = "", .detail = "relu (Relu)"}};
  struct literal *l = looping();
  l->parts[0]->nodes[0].source = 0;
  l->parts[1]->nodes[0].source = 1;
  l->model.sources = sources;
  l->model.source_count = 2;
  samara_session *s = literal_session(literal_finish(l), (samara_session_options){.profile = true});
  const char *files[3] = {NULL, NULL, NULL};
  const char *details[3] = {NULL, NULL, NULL};
  uint32_t lines[3] = {9, 9, 9};
  size_t count = 0;
  CHECK_EQ_INT(samara_session_profile_sources(s, files, lines, details, 3, &count),
               SAMARA_BAD_STATE);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK_EQ_INT(samara_session_profile_sources(s, NULL, NULL, NULL, 0, &count), SAMARA_OK);
  CHECK_EQ_INT(count, 3);
  CHECK_EQ_INT(samara_session_profile_sources(s, files, lines, NULL, 3, &count),
               SAMARA_BAD_ARGUMENT);
  REQUIRE(samara_session_profile_sources(s, files, lines, details, 3, &count) == SAMARA_OK);
  CHECK_STR(files[0], "");
  CHECK_STR(files[1], "");
  CHECK_STR(files[2], "model.py");
  CHECK_EQ_INT(lines[0], 0);
  CHECK_EQ_INT(lines[1], 0);
  CHECK_EQ_INT(lines[2], 12);
  CHECK_STR(details[0], "relu (Relu)");
  CHECK_STR(details[1], "");
  CHECK_STR(details[2], "layers.0");
  const char *first[1] = {NULL};
  CHECK_EQ_INT(samara_session_profile_sources(s, first, lines, details, 1, &count), SAMARA_OK);
  CHECK_EQ_INT(count, 3);
  CHECK_STR(first[0], "");
  literal_close(s, l);
}

SMR_TEST_MAIN(RUN(rows_count_and_time_what_ran); RUN(sources_go_with_the_rows))
