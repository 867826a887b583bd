// SPDX-License-Identifier: Apache-2.0
// The algorithms of a session's nodes, and files of measured choices.
#include "base/fp.h"

#include "harness.h"

#include "ops/table/opattrs.h"
#include "session/model_literal.h"
#include "session/session.h"

#include <samara/samara_experimental.h>

// main(x [1, 4, 4, 3], w [1, 3, 3, 3]): a convolution, then relu.
static struct literal *convolution(void) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t one = literal_int(f, 1), two = literal_int(f, 2), three = literal_int(f, 3);
  const uint32_t four = literal_int(f, 4), none = literal_int(f, 0);
  const uint32_t x =
      literal_input(f, literal_value(f, "x", SAMARA_FLOAT32, 4, one, four, four, three));
  const uint32_t w =
      literal_input(f, literal_value(f, "w", SAMARA_FLOAT32, 4, one, three, three, three));
  const uint32_t c = literal_value(f, "c", SAMARA_FLOAT32, 4, one, two, two, one);
  const uint32_t y = literal_value(f, "y", SAMARA_FLOAT32, 4, one, two, two, one);
  const uint32_t conv =
      literal_node(f, smr_op_find(SMR_CODE_CONV), "blur", LITERAL_LIST(x, w), LITERAL_LIST(c));
  static const int64_t steps[] = {1, 1};
  literal_attr(f, conv, "strides", (struct smr_attr){.ints = steps, .count = 2});
  literal_attr(f, conv, "dilations", (struct smr_attr){.ints = steps, .count = 2});
  literal_attr_dims(f, conv, "pads", 4, none, none, none, none);
  literal_node(f, smr_op_find(SMR_CODE_RELU), "cut", LITERAL_LIST(c), LITERAL_LIST(y));
  literal_output(f, y, "y");
  return l;
}

static int warnings;
static void count_warning(void *user, samara_log_level level, const char *text) {
  (void)user;
  if (level == SAMARA_LOG_WARNING && strstr(text, "samara tune") != NULL) warnings++;
}

// The first line of the list of a session that was given `tuned`.
static const char *first_line(const samara_model *model, const char *tuned, char *text,
                              size_t size) {
  const float x[48] = {1, 2, 3}, w[27] = {1, 1, 1};
  samara_session *s = literal_session(
      model, (samara_session_options){.isa = "scalar", .tuned = tuned, .log = count_warning});
  size_t length = 0;
  text[0] = '\0';
  if (s == NULL) return text;
  CHECK(literal_feed(s, 0, x, 48));
  CHECK(literal_feed(s, 1, w, 27));
  CHECK(literal_gives(s, 0, (const float[]){6, 0, 0, 0}, 4));
  CHECK_EQ_INT(samara_session_choices(s, text, size, &length), SAMARA_OK);
  CHECK_EQ_INT(length, strlen(text));
  samara_session_destroy(s);
  char *end = strchr(text, '\n');
  if (CHECK(end != NULL)) *end = '\0';
  return text;
}

SMR_TEST(the_cost_model_chooses) {
  struct literal *l = convolution();
  char text[512];
  warnings = 0;
  const char *line = first_line(literal_finish(l), NULL, text, sizeof text);
  CHECK_CONTAINS(line, "cost\tdirect:");
  CHECK_CONTAINS(line, ",indirect:");
  CHECK_CONTAINS(line, "main\tblur\tconv\t");
  CHECK_EQ_INT(warnings, 0);
  literal_free(l);
}

SMR_TEST(a_measured_choice_is_honoured_under_its_key) {
  struct literal *l = convolution();
  const samara_model *model = literal_finish(l);
  char header[512], tuned[1024], text[512];
  size_t length = 0;
  CHECK_EQ_INT(samara_tuned_header(model, "scalar", header, sizeof header, &length), SAMARA_OK);
  CHECK_EQ_INT(length, strlen(header));
  CHECK_CONTAINS(header, "isa scalar\nmodel ");
  warnings = 0;
  (void)snprintf(tuned, sizeof tuned,
                 "%sbody\tblur\tdirect\nmain\tblu\tdirect\nmain\tblur\tindirect\n", header);
  CHECK_CONTAINS(first_line(model, tuned, text, sizeof text), "tuned\tindirect:");
  (void)snprintf(tuned, sizeof tuned, "%smain\tblur\tmagic", header);
  CHECK_CONTAINS(first_line(model, tuned, text, sizeof text), "cost\tdirect:");
  CHECK_EQ_INT(warnings, 0);
  // Another model: the key differs.
  l->model.checksum++;
  (void)snprintf(tuned, sizeof tuned, "%smain\tblur\tindirect\n", header);
  CHECK_CONTAINS(first_line(model, tuned, text, sizeof text), "cost\tdirect:");
  CHECK_EQ_INT(warnings, 1);
  CHECK_CONTAINS(first_line(model, "", text, sizeof text), "cost\tdirect:");
  CHECK_EQ_INT(warnings, 2);
  literal_free(l);
}

SMR_TEST(rows_say_the_same) {
  struct literal *l = convolution();
  const samara_model *model = literal_finish(l);
  samara_algorithm_row rows[8];
  size_t count = 0, again = 0;
  for (int tuned = 0; tuned < 2; tuned++) {
    char text[512];
    size_t length = 0;
    CHECK_EQ_INT(samara_tuned_header(model, "scalar", text, sizeof text, &length), SAMARA_OK);
    (void)snprintf(text + length, sizeof text - length, "main\tblur\tindirect\n");
    samara_session *s = literal_session(
        model, (samara_session_options){.isa = "scalar", .tuned = tuned ? text : NULL});
    CHECK_EQ_INT(samara_session_algorithms(s, NULL, 0, &count), SAMARA_OK);
    REQUIRE(count >= 3 && count <= 8);
    rows[1].node = "untouched";
    CHECK_EQ_INT(samara_session_algorithms(s, rows, 1, &again), SAMARA_OK);
    CHECK_EQ_INT(again, count);
    CHECK_STR(rows[1].node, "untouched");
    CHECK_EQ_INT(samara_session_algorithms(s, rows, 8, &count), SAMARA_OK);
    for (uint32_t i = 0; i + 1 < count; i++) {  // of the convolution: all but the last
      CHECK_STR(rows[i].function, "main");
      CHECK_STR(rows[i].node, "blur");
      CHECK_STR(rows[i].op, "conv");
      CHECK_EQ_INT(rows[i].rank, i);
      CHECK_EQ_INT(rows[i].tuned, tuned);
      CHECK(rows[i].estimate_us > 0);
      CHECK(i < 2 || rows[i].estimate_us >= rows[i - 1].estimate_us);
    }
    CHECK_STR(rows[0].algorithm, tuned ? "indirect" : "direct");
    CHECK_STR(rows[1].algorithm, tuned ? "direct" : "indirect");
    CHECK_STR(rows[count - 1].node, "cut");
    CHECK(rows[count - 1].algorithm == NULL && rows[count - 1].rank == 0);
    samara_session_destroy(s);
  }
  CHECK_EQ_INT(samara_session_algorithms(NULL, rows, 8, &count), SAMARA_BAD_ARGUMENT);
  literal_free(l);
}

SMR_TEST(wrong_arguments) {
  struct literal *l = convolution();
  const samara_model *model = literal_finish(l);
  char text[8];
  size_t length = 0;
  CHECK_EQ_INT(samara_tuned_header(NULL, NULL, text, sizeof text, &length), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_tuned_header(model, "x87", text, sizeof text, &length), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_tuned_header(model, NULL, text, sizeof text, &length), SAMARA_OK);
  CHECK_STR(text, "samara-");
  CHECK(length > sizeof text);
  CHECK_EQ_INT(samara_session_choices(NULL, text, sizeof text, &length), SAMARA_BAD_ARGUMENT);
  literal_free(l);
}

SMR_TEST_MAIN(RUN(the_cost_model_chooses); RUN(a_measured_choice_is_honoured_under_its_key);
              RUN(rows_say_the_same); RUN(wrong_arguments))
