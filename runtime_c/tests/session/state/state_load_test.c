// SPDX-License-Identifier: Apache-2.0
// Restoring the variables of a session: all or none, for any contents of the file.
#include "base/fp.h"

#include <stdlib.h>

#include "harness.h"
#include "session/state/state_sample.h"

struct load_fixture {
  struct literal *l;
  const samara_model *model;
  samara_session *s;
  struct state_file file;  // of the session after one run
};

static bool begin(struct load_fixture *x) {
  *x = (struct load_fixture){.l = state_sample()};
  x->model = literal_finish(x->l);
  x->s = literal_session(x->model, (samara_session_options){0});
  if (x->s == NULL) return false;
  const samara_writer writer = state_file_writer(&x->file);
  const bool saved = literal_run(x->s) == SAMARA_OK &&
                     samara_session_state_save(x->s, &writer) == SAMARA_OK &&
                     samara_session_reset(x->s) == SAMARA_OK;
  x->file.calls = 0;
  return saved;
}

static void finish(struct load_fixture *x) {
  state_file_free(&x->file);
  samara_session_destroy(x->s);
  literal_free(x->l);
}

static bool has_w(const samara_session *s, const float *want) {
  float w[6] = {0};
  return samara_session_state_read(s, "w", w, sizeof w) == SAMARA_OK &&
         memcmp(w, want, sizeof w) == 0;
}

static const float once[] = {2, 4, 6, 8, 10, 12}, twice[] = {4, 8, 12, 16, 20, 24};

SMR_TEST(what_was_saved_is_loaded_and_run_on) {
  struct load_fixture x;
  REQUIRE(begin(&x));
  CHECK(state_is_initial(x.s));
  const samara_reader reader = state_file_reader(&x.file);
  CHECK_EQ_INT(samara_session_state_load(x.s, &reader), SAMARA_OK);
  CHECK(has_w(x.s, once));
  CHECK_EQ_INT(literal_run(x.s), SAMARA_OK);
  CHECK(has_w(x.s, twice));
  CHECK_EQ_INT(state_file_load(x.s, &x.file), SAMARA_OK);
  CHECK(has_w(x.s, once));
  CHECK_EQ_INT(literal_run(x.s), SAMARA_OK);
  CHECK(has_w(x.s, twice));
  finish(&x);
}

// A function that uses fewer variables of the model loads the file of one that uses more.
SMR_TEST(variables_of_other_functions_are_passed_over) {
  struct load_fixture x;
  REQUIRE(begin(&x));
  samara_session *infer = literal_session(x.model, (samara_session_options){.function = "infer"});
  CHECK_EQ_INT(state_file_load(infer, &x.file), SAMARA_OK);
  CHECK(has_w(infer, once));
  struct state_file small = {0};
  const samara_writer writer = state_file_writer(&small);
  CHECK_EQ_INT(samara_session_state_save(infer, &writer), SAMARA_OK);
  CHECK_EQ_INT(state_file_load(x.s, &small), SAMARA_NOT_FOUND);
  CHECK_CONTAINS(samara_session_error(x.s), "the file lacks variable 'mask' of function 'train'");
  CHECK(state_is_initial(x.s));
  state_file_free(&small);
  samara_session_destroy(infer);
  finish(&x);
}

#define STEPS "\"steps\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]}"
#define W "\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[8,32]}"
#define MASK "\"mask\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[32,35]}"

// Any order of rows and of data, any padding.
SMR_TEST(files_of_other_writers) {
  struct load_fixture x;
  REQUIRE(begin(&x));
  struct state_file file = {0};
  state_file_make(&file,
                  "{\"w\":{\"data_offsets\":[11,35],\"shape\":[2,3],\"dtype\":\"F32\"},"
                  "\"mask\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[0,3]},"
                  "\"__metadata__\":{\"samara.tree\":\"{\\\"dict\\\":{}}\"},"
                  "\"steps\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[3,11]}}",
                  0, 35);
  file.bytes[file.size_bytes - 35 + 2] = 1;  // 0 1 1
  CHECK_EQ_INT(state_file_load(x.s, &file), SAMARA_OK);
  uint8_t mask[3];
  int64_t steps;
  float w[6];
  CHECK_EQ_INT(samara_session_state_read(x.s, "mask", mask, sizeof mask), SAMARA_OK);
  CHECK_EQ_INT(samara_session_state_read(x.s, "steps", &steps, sizeof steps), SAMARA_OK);
  CHECK_EQ_INT(samara_session_state_read(x.s, "w", w, sizeof w), SAMARA_OK);
  CHECK_MEM(mask, ((const uint8_t[]){0, 1, 1}), 3);
  CHECK_EQ_INT(steps, 0x0a09080706050403);
  CHECK_MEM(w, file.bytes + file.size_bytes - 24, 24);
  state_file_free(&file);
  finish(&x);
}

SMR_TEST(files_that_do_not_fit_are_refused) {
  static const struct {
    const char *header;
    size_t data_bytes;
    int status;
    const char *why;
  } table[] = {
      {"{" STEPS "," W "}", 32, SAMARA_NOT_FOUND, "lacks variable 'mask'"},
      {"{" STEPS "," W "," MASK
       ",\"more\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
       35, SAMARA_NOT_FOUND, "no variable 'more', which the file holds"},
      {"{" STEPS "," W "," MASK "," MASK "}", 35, SAMARA_BAD_MODEL, "'mask' occurs twice"},
      {"{" STEPS ",\"w\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[8,32]}," MASK "}", 35,
       SAMARA_BAD_SHAPE, "variable 'w' is float32 [2, 3], the file holds float32 [3, 2]"},
      {"{" STEPS ",\"w\":{\"dtype\":\"I32\",\"shape\":[2,3],\"data_offsets\":[8,32]}," MASK "}", 35,
       SAMARA_BAD_SHAPE, "the file holds int32"},
      {"{" STEPS ",\"w\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[8,32]}," MASK "}", 35,
       SAMARA_BAD_SHAPE, "[6]"},
      {"{" STEPS ",\"w\":{\"dtype\":\"F64\",\"shape\":[3],\"data_offsets\":[8,32]}," MASK "}", 35,
       SAMARA_BAD_SHAPE, "the file holds float64"},
      {"{" STEPS ",\"w\":{\"dtype\":\"C64\",\"shape\":[3],\"data_offsets\":[8,32]}," MASK "}", 35,
       SAMARA_UNSUPPORTED, "tensor 'w' is C64"},
      {"{" STEPS ",\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[4,28]}," MASK "}", 35,
       SAMARA_BAD_MODEL, "tensor 'w' begins at byte 4 of the data, the one before ends at 8"},
      {"{" STEPS ",\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[9,33]},"
       "\"mask\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[33,36]}}",
       36, SAMARA_BAD_MODEL, "begins at byte 9"},
      {"{" STEPS "," W "," MASK "}", 36, SAMARA_BAD_MODEL, "have 35 bytes, the file 36"},
      {"{" STEPS "," W "," MASK "}", 34, SAMARA_BAD_MODEL, "bytes 32 to 35 of 34"},
      {"{" STEPS "," W "," MASK "}", 35, SAMARA_BAD_MODEL,
       "element 0 of bool variable 'mask' is 32"},
      {"{}", 0, SAMARA_NOT_FOUND, "lacks variable"},
  };
  struct load_fixture x;
  REQUIRE(begin(&x));
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    struct state_file file = {0};
    state_file_make(&file, table[i].header, i % 9, table[i].data_bytes);
    if (!CHECK_EQ_INT(state_file_load(x.s, &file), table[i].status) ||
        !CHECK_CONTAINS(samara_session_error(x.s), table[i].why) || !CHECK(state_is_initial(x.s)))
      fprintf(stderr, "  %s\n", table[i].header);
    state_file_free(&file);
  }
  finish(&x);
}

SMR_TEST(prefixes_that_lie_are_refused) {
  static const struct {
    uint8_t prefix[8];
    const char *why;
  } table[] = {
      {{0, 0, 0, 0, 'S', 'M', 'R', 'A'}, "this file is a model"},
      {{1, 2, 3, 4, 5, 6, 7, 8}, "not a file of saved variables"},
      {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "not a file of saved variables"},
      {{0, 0xe1, 0xf5, 5}, "the header alone has 100000000"},
      {{0}, "byte 0: expected {"},
  };
  struct load_fixture x;
  REQUIRE(begin(&x));
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    memcpy(x.file.bytes, table[i].prefix, 8);
    CHECK_EQ_INT(state_file_load(x.s, &x.file), SAMARA_BAD_MODEL);
    CHECK_CONTAINS(samara_session_error(x.s), table[i].why);
  }
  CHECK(state_is_initial(x.s));
  finish(&x);
}

SMR_TEST(every_truncation_is_refused) {
  struct load_fixture x;
  REQUIRE(begin(&x));
  const size_t whole = x.file.size_bytes;
  for (x.file.size_bytes = 0; x.file.size_bytes < whole; x.file.size_bytes++)
    CHECK_EQ_INT(state_file_load(x.s, &x.file), SAMARA_BAD_MODEL);
  CHECK(state_is_initial(x.s));
  CHECK_EQ_INT(state_file_load(x.s, &x.file), SAMARA_OK);
  finish(&x);
}

SMR_TEST(a_reader_may_fail_at_any_call) {
  struct load_fixture x;
  REQUIRE(begin(&x));
  const samara_reader reader = state_file_reader(&x.file);
  for (size_t k = 1; k <= 5; k++) {  // prefix, header, three variables
    x.file.calls = 0;
    x.file.fail_at = k;
    CHECK_EQ_INT(samara_session_state_load(x.s, &reader), SAMARA_IO);
    CHECK_CONTAINS(samara_session_error(x.s), "state: the reader failed at bytes ");
    CHECK(state_is_initial(x.s));
  }
  x.file.calls = 0;
  x.file.fail_at = 6;
  CHECK_EQ_INT(samara_session_state_load(x.s, &reader), SAMARA_OK);
  finish(&x);
}

SMR_TEST(memory_is_bounded_and_given_back) {
  struct load_fixture x;
  REQUIRE(begin(&x));
  struct literal_memory memory;
  literal_memory_init(&memory);
  samara_session *s =
      literal_session(x.model, (samara_session_options){.allocator = &memory.allocator});
  const size_t calls = memory.calls, live = memory.live;
  for (size_t k = 1; k <= 2; k++) {  // the header, and variables without a second buffer
    memory.calls = calls;
    memory.fail_at = calls + k;
    CHECK_EQ_INT(state_file_load(s, &x.file), SAMARA_OUT_OF_MEMORY);
    CHECK(state_is_initial(s));
    CHECK_EQ_INT(memory.live, live);
  }
  memory.calls = calls;
  memory.fail_at = 0;
  CHECK_EQ_INT(state_file_load(s, &x.file), SAMARA_OK);
  CHECK_EQ_INT(memory.calls, calls + 2);
  CHECK_EQ_INT(memory.live, live);
  samara_session_destroy(s);

  s = literal_session(x.model, (samara_session_options){.max_arena_bytes = 4096});
  CHECK_EQ_INT(state_file_load(s, &x.file), SAMARA_OK);
  struct state_file file = {0};
  state_file_make(&file, "{" STEPS "," W "," MASK "}", 4096, 35);
  CHECK_EQ_INT(state_file_load(s, &file), SAMARA_LIMIT);
  CHECK_CONTAINS(samara_session_error(s), "max_arena_bytes is 4096");
  state_file_free(&file);
  samara_session_destroy(s);
  finish(&x);
}

SMR_TEST(readers_are_checked) {
  struct load_fixture x;
  REQUIRE(begin(&x));
  samara_reader reader = {.size_bytes = 100};
  CHECK_EQ_INT(samara_session_state_load(NULL, &reader), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_state_load(x.s, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_state_load(x.s, &reader), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_state_load_memory(x.s, NULL, 9), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_state_load_memory(NULL, "", 0), SAMARA_BAD_ARGUMENT);
  finish(&x);
}

static uint32_t draw(uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*seed >> 33);
}

// Bytes of the header changed, moved and repeated: refused, or loaded whole.
SMR_TEST(mutations_are_survived) {
  struct load_fixture x;
  REQUIRE(begin(&x));
  const size_t whole = x.file.size_bytes, header = whole - 35;
  uint8_t *good = malloc(whole);
  memcpy(good, x.file.bytes, whole);
  static const char alphabet[] = "\"\\{}[],:0129 -uFI\xc3\x00";
  uint64_t seed = 5;
  size_t refused = 0, loaded = 0;
  for (int round = 0; round < 20000; round++) {
    memcpy(x.file.bytes, good, whole);
    for (uint32_t n = draw(&seed) % 3 + 1; n > 0; n--) {
      const size_t at = draw(&seed) % header, from = draw(&seed) % header;
      const size_t most = header - (at > from ? at : from);
      switch (draw(&seed) % 4) {
        case 0:
          x.file.bytes[at] ^= (uint8_t)(1u << draw(&seed) % 8);
          break;
        case 1:
          x.file.bytes[at] = (uint8_t)alphabet[draw(&seed) % (sizeof alphabet - 1)];
          break;
        case 2:
          memmove(x.file.bytes + at, good + from, draw(&seed) % (most < 40 ? most : 40));
          break;
        default:
          x.file.size_bytes = whole - draw(&seed) % whole;
      }
    }
    const samara_status status = state_file_load(x.s, &x.file);
    x.file.size_bytes = whole;
    if (status == SAMARA_OK) {
      loaded++;
      CHECK_EQ_INT(samara_session_reset(x.s), SAMARA_OK);
    } else {
      refused++;
    }
    if (!CHECK(state_is_initial(x.s))) break;
  }
  CHECK(refused > 15000 && loaded > 10);
  free(good);
  finish(&x);
}

// ---- variables that grow ----

static const float rising[] = {1, 2, 3, 4, 5, 6, 7, 8}, others[] = {-1, 0, 1, 2, 3, 4, 5, 6};

SMR_TEST(rows_in_use_are_loaded) {
  for (int kind = 0; kind < 3; kind++) {
    for (int64_t saved = 0; saved <= 4; saved++) {
      for (int64_t now = 0; now <= 4; now++) {
        struct literal *l =
            state_growing((struct state_growing){.ring = kind == 2, .twice = kind == 1});
        samara_session *s = literal_open(l);
        struct state_file file = {0};
        const samara_writer writer = state_file_writer(&file);
        if (saved != 0) CHECK_EQ_INT(state_growing_run(s, saved, 1), SAMARA_OK);
        CHECK_EQ_INT(samara_session_state_save(s, &writer), SAMARA_OK);
        CHECK_EQ_INT(samara_session_reset(s), SAMARA_OK);
        if (now != 0) CHECK_EQ_INT(state_growing_run(s, now, -1), SAMARA_OK);
        CHECK_EQ_INT(state_file_load(s, &file), SAMARA_OK);
        CHECK(state_growing_has(s, saved, rising));
        if (saved <= 2) {
          CHECK_EQ_INT(state_growing_run(s, 2, (float)(2 * saved + 1)), SAMARA_OK);
          CHECK(state_growing_has(s, saved + 2, rising));
        }
        state_file_free(&file);
        literal_close(s, l);
      }
    }
  }
}

static void make_grown(struct state_file *file, const char *dims, size_t bytes, int64_t length) {
  char header[200];
  snprintf(header, sizeof header,
           "{\"length\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
           "\"cache\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":[8,%zu]}}",
           dims, 8 + bytes);
  state_file_make(file, header, 0, 8 + bytes);
  uint8_t *data = file->bytes + file->size_bytes - bytes - 8;
  memcpy(data, &length, 8);
  memcpy(data + 8, rising, bytes <= sizeof rising ? bytes : 0);
}

SMR_TEST(rows_are_as_many_as_the_length_says) {
  static const struct {
    const char *dims;
    size_t bytes;
    int64_t length;
    int status;
    const char *why;
  } table[] = {
      {"[1,2,2]", 16, 3, SAMARA_BAD_MODEL, "variable 'cache' has 2 rows, its length is 3"},
      {"[1,2,2]", 16, 1, SAMARA_BAD_MODEL, "its length is 1"},
      {"[1,0,2]", 0, 1, SAMARA_BAD_MODEL, "has 0 rows, its length is 1"},
      {"[1,2,2]", 16, INT64_MAX, SAMARA_BAD_MODEL, "has 2 rows"},
      {"[1,0,2]", 0, -1, SAMARA_BAD_MODEL, "has 0 rows, its length is -1"},
      {"[1,0,2]", 0, INT64_MIN, SAMARA_BAD_MODEL, "its length is -9223372036854775808"},
      {"[1,5,2]", 40, 5, SAMARA_BAD_SHAPE,
       "is float32 [1, 4, 2], the file holds float32 [1, 5, 2]"},
      {"[2,2,1]", 16, 2, SAMARA_BAD_SHAPE, "[2, 2, 1]"},
      {"[1,4,1]", 16, 4, SAMARA_BAD_SHAPE, "[1, 4, 1]"},
      {"[0,2,2]", 0, 2, SAMARA_BAD_SHAPE, "[0, 2, 2]"},
      {"[2,2]", 16, 2, SAMARA_BAD_SHAPE, "[2, 2]"},
  };
  for (int kind = 0; kind < 3; kind++) {
    struct literal *l =
        state_growing((struct state_growing){.ring = kind == 2, .twice = kind == 1});
    samara_session *s = literal_open(l);
    CHECK_EQ_INT(state_growing_run(s, 3, -1), SAMARA_OK);
    struct state_file file = {0};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
      make_grown(&file, table[i].dims, table[i].bytes, table[i].length);
      if (!CHECK_EQ_INT(state_file_load(s, &file), table[i].status) ||
          !CHECK_CONTAINS(samara_session_error(s), table[i].why) ||
          !CHECK(state_growing_has(s, 3, others)))
        fprintf(stderr, "  row %zu\n", i);
    }
    make_grown(&file, "[1,2,2]", 16, 2);
    CHECK_EQ_INT(state_file_load(s, &file), SAMARA_OK);
    CHECK(state_growing_has(s, 2, rising));
    make_grown(&file, "[1,4,2]", 32, INT64_MAX);  // a ring that has gone round
    CHECK_EQ_INT(state_file_load(s, &file), SAMARA_OK);
    CHECK(state_growing_has(s, INT64_MAX, rising));
    state_file_free(&file);
    literal_close(s, l);
  }
}

SMR_TEST_MAIN(RUN(rows_in_use_are_loaded); RUN(rows_are_as_many_as_the_length_says);
              RUN(what_was_saved_is_loaded_and_run_on);
              RUN(variables_of_other_functions_are_passed_over); RUN(files_of_other_writers);
              RUN(files_that_do_not_fit_are_refused); RUN(prefixes_that_lie_are_refused);
              RUN(every_truncation_is_refused); RUN(a_reader_may_fail_at_any_call);
              RUN(memory_is_bounded_and_given_back); RUN(readers_are_checked);
              RUN(mutations_are_survived))
