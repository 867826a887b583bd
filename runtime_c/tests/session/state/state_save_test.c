// SPDX-License-Identifier: Apache-2.0
// Saving the variables of a session: the bytes of the file, writers that fail, and memory.
#include "base/fp.h"

#include <stdlib.h>

#include "harness.h"
#include "session/state/state_sample.h"

// The data of train: steps, then w, then mask.
static const char train_header[] =
    "{\"__metadata__\":{\"samara.function\":\"train\"},"
    "\"steps\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
    "\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[8,32]},"
    "\"mask\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[32,35]}}";

SMR_TEST(the_file_is_a_header_and_the_data) {
  struct literal *l = state_sample();
  samara_session *s = literal_open(l);
  struct state_file file = {0};
  const samara_writer writer = state_file_writer(&file);
  CHECK_EQ_INT(samara_session_state_save(s, &writer), SAMARA_OK);
  const size_t text = sizeof train_header - 1, padded = (text + 7) / 8 * 8;
  REQUIRE(file.size_bytes == 8 + padded + 35);
  uint64_t length;
  memcpy(&length, file.bytes, 8);
  CHECK_EQ_INT(length, padded);
  CHECK_MEM(file.bytes + 8, train_header, text);
  for (size_t i = text; i < padded; i++) CHECK_EQ_INT(file.bytes[8 + i], ' ');
  const uint8_t *data = file.bytes + 8 + padded;
  CHECK_MEM(data, (&(const int64_t){7}), 8);
  CHECK_MEM(data + 8, ((const float[]){1, 2, 3, 4, 5, 6}), 24);
  CHECK_MEM(data + 32, ((const uint8_t[]){1, 0, 1}), 3);
  state_file_free(&file);
  literal_close(s, l);
}

SMR_TEST(what_a_run_wrote_is_saved) {
  struct literal *l = state_sample();
  samara_session *s = literal_open(l);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  struct state_file file = {0};
  const samara_writer writer = state_file_writer(&file);
  CHECK_EQ_INT(samara_session_state_save(s, &writer), SAMARA_OK);
  CHECK_MEM(file.bytes + file.size_bytes - 27, ((const float[]){2, 4, 6, 8, 10, 12}), 24);
  state_file_free(&file);
  literal_close(s, l);
}

SMR_TEST(a_writer_may_fail_at_any_call) {
  struct literal *l = state_sample();
  samara_session *s = literal_open(l);
  size_t failures = 0;
  for (size_t k = 1;; k++) {
    struct state_file file = {.fail_at = k};
    const samara_writer writer = state_file_writer(&file);
    const samara_status status = samara_session_state_save(s, &writer);
    state_file_free(&file);
    if (status == SAMARA_OK) break;
    failures++;
    CHECK_EQ_INT(status, SAMARA_IO);
    CHECK_CONTAINS(samara_session_error(s), "state: the writer failed within the first ");
  }
  CHECK(failures >= 4);  // the header, and three variables
  CHECK(state_is_initial(s));
  literal_close(s, l);
}

SMR_TEST(writers_are_checked) {
  struct literal *l = state_sample();
  samara_session *s = literal_open(l);
  samara_writer writer = {.struct_size = sizeof writer};
  CHECK_EQ_INT(samara_session_state_save(NULL, &writer), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_state_save(s, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_state_save(s, &writer), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(samara_session_error(s), "no writer");
  struct state_file file = {0};
  writer = state_file_writer(&file);
  writer.struct_size = 0;
  CHECK_EQ_INT(samara_session_state_save(s, &writer), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(samara_session_error(s), "samara_writer: struct_size is 0");
  CHECK_EQ_INT(file.calls, 0);
  literal_close(s, l);
}

// A model of one variable, of a name that the caller chooses.
static struct literal *named(const char *name, uint8_t dtype) {
  struct literal *l = literal_new();
  static const int64_t dims[] = {2};
  literal_variable(l, name, dtype, NULL, 1, dims);
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t x = literal_input(f, literal_value(f, "x", dtype, 1, literal_int(f, 2)));
  literal_output(f, x, "y");
  literal_bind(f, false, 0, 0);
  return l;
}

SMR_TEST(names_are_escaped_and_come_back) {
  static const struct {
    const char *name, *shown;
  } table[] = {{"a\"b\\c/", "\"a\\\"b\\\\c/\":{"},
               {"tab\t\x01", "\"tab\\u0009\\u0001\":{"},
               {"\u00e9\U0001f600", "\"\u00e9\U0001f600\":{"},
               {"", "\"\":{"}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    struct literal *l = named(table[i].name, SAMARA_QINT8);
    samara_session *s = literal_open(l);
    CHECK_EQ_INT(samara_session_state_write(s, table[i].name, "\x7f\x80", 2), SAMARA_OK);
    struct state_file file = {0};
    const samara_writer writer = state_file_writer(&file);
    CHECK_EQ_INT(samara_session_state_save(s, &writer), SAMARA_OK);
    char text[200];
    snprintf(text, sizeof text, "%.*s", (int)file.size_bytes - 10, (const char *)file.bytes + 8);
    CHECK_CONTAINS(text, table[i].shown);
    CHECK_CONTAINS(text, "\"dtype\":\"I8\"");
    CHECK_EQ_INT(samara_session_reset(s), SAMARA_OK);
    CHECK_EQ_INT(state_file_load(s, &file), SAMARA_OK);
    uint8_t back[2] = {0};
    CHECK_EQ_INT(samara_session_state_read(s, table[i].name, back, 2), SAMARA_OK);
    CHECK_MEM(back, "\x7f\x80", 2);
    state_file_free(&file);
    literal_close(s, l);
  }
}

SMR_TEST(the_name_of_the_metadata_is_refused) {
  struct literal *l = named("__metadata__", SAMARA_FLOAT32);
  samara_session *s = literal_open(l);
  struct state_file file = {0};
  const samara_writer writer = state_file_writer(&file);
  CHECK_EQ_INT(samara_session_state_save(s, &writer), SAMARA_UNSUPPORTED);
  CHECK_EQ_INT(file.calls, 0);
  literal_close(s, l);
}

SMR_TEST(into_memory) {
  struct literal *l = state_sample();
  samara_session *s = literal_open(l);
  struct state_file file = {0};
  const samara_writer writer = state_file_writer(&file);
  CHECK_EQ_INT(samara_session_state_save(s, &writer), SAMARA_OK);
  size_t needed = 0;
  CHECK_EQ_INT(samara_session_state_save_memory(s, NULL, 99, &needed), SAMARA_OK);
  CHECK_EQ_INT(needed, file.size_bytes);
  uint8_t *buffer = malloc(needed);
  for (size_t less = 0; less <= needed; less += 13) {
    size_t again = 0;
    uint8_t *exact = malloc(needed - less + 1);  // one byte stays, so that the size is not 0
    const samara_status status = samara_session_state_save_memory(s, exact, needed - less, &again);
    CHECK_EQ_INT(status, less == 0 ? SAMARA_OK : SAMARA_BAD_ARGUMENT);
    CHECK_EQ_INT(again, needed);
    if (less == 0) memcpy(buffer, exact, needed);
    free(exact);
  }
  CHECK_MEM(buffer, file.bytes, needed);
  CHECK_EQ_INT(samara_session_state_save_memory(s, buffer, needed, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_state_save_memory(NULL, buffer, needed, &needed),
               SAMARA_BAD_ARGUMENT);
  free(buffer);
  state_file_free(&file);
  literal_close(s, l);
}

// Rows that are not in use are not in the file.
SMR_TEST(only_rows_in_use_are_saved) {
  static const char *const shapes[] = {"\"shape\":[1,0,2]", "\"shape\":[1,1,2]",
                                       "\"shape\":[1,2,2]", "\"shape\":[1,3,2]",
                                       "\"shape\":[1,4,2]"};
  for (int64_t rows = 0; rows <= 4; rows++) {
    struct literal *l = state_growing((struct state_growing){.ring = false});
    samara_session *s = literal_open(l);
    struct state_file file = {0};
    const samara_writer writer = state_file_writer(&file);
    if (rows != 0) CHECK_EQ_INT(state_growing_run(s, rows, 1), SAMARA_OK);
    CHECK_EQ_INT(samara_session_state_save(s, &writer), SAMARA_OK);
    uint64_t header;
    memcpy(&header, file.bytes, 8);
    CHECK_EQ_INT(file.size_bytes - header, 8 + 8 + 8 * (uint64_t)rows);
    char text[300] = {0};
    memcpy(text, file.bytes + 8, header < 299 ? (size_t)header : 299);
    CHECK_CONTAINS(text, shapes[rows]);
    size_t needed = 0;
    CHECK_EQ_INT(samara_session_state_save_memory(s, NULL, 0, &needed), SAMARA_OK);
    CHECK_EQ_INT(needed, file.size_bytes);
    state_file_free(&file);
    literal_close(s, l);
  }
}

SMR_TEST_MAIN(RUN(only_rows_in_use_are_saved); RUN(the_file_is_a_header_and_the_data);
              RUN(what_a_run_wrote_is_saved); RUN(a_writer_may_fail_at_any_call);
              RUN(writers_are_checked); RUN(names_are_escaped_and_come_back);
              RUN(the_name_of_the_metadata_is_refused); RUN(into_memory))
