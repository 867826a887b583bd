// SPDX-License-Identifier: Apache-2.0
// The CPU's name: one line, without spaces at its ends, cut to its room.
#include "base/fp.h"

#include "base/isa_name.h"
#include "harness.h"

SMR_TEST(a_line_of_text) {
  char text[128], again[128];
  smr_cpu_name(text, sizeof text);
  smr_cpu_name(again, sizeof again);
  CHECK_STR(text, again);
  CHECK(text[0] > ' ');
  CHECK(text[strlen(text) - 1] > ' ');
  CHECK(strstr(text, "  ") == NULL);
  for (const char *at = text; *at != '\0'; at++) CHECK((unsigned char)*at >= ' ');
}

SMR_TEST(a_small_room) {
  char text[16];
  memset(text, 'x', sizeof text);
  smr_cpu_name(text, 8);
  CHECK(strlen(text) < 8);
  CHECK(text[8] == 'x');
}

SMR_TEST_MAIN(RUN(a_line_of_text); RUN(a_small_room))
