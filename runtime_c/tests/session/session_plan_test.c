// SPDX-License-Identifier: Apache-2.0
// Planning: bounded functions never allocate while running, growing ones do and say so, and every
// allocation may fail.
#include "base/fp.h"

#include "harness.h"

#include "ops/table/opattrs.h"
#include "session/model_literal.h"

static const struct smr_op *op(uint16_t code) { return smr_op_find(code); }

// main(x [n], n <= 40) -> indices of what is not 0 [1, k], and x gathered by them: k is born.
static struct literal *picker(bool bounded) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_symbol(f, "n", 0, 0, 40);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t k = literal_expr(f, SMR_EXPR_BORN, 1, 0, 1, bounded ? (int64_t)n : -1);
  const uint32_t one = literal_int(f, 1);
  const uint32_t at = literal_value(f, "at", SAMARA_INT64, 2, one, k);
  const uint32_t flat = literal_value(f, "flat", SAMARA_INT64, 1, k);
  const uint32_t r = literal_map(f, op(SMR_CODE_RELU), "relu", LITERAL_LIST(x), "r", n);
  literal_node(f, op(SMR_CODE_NONZERO), "where", LITERAL_LIST(r), LITERAL_LIST(at));
  const uint32_t node =
      literal_node(f, op(SMR_CODE_RESHAPE), "flatten", LITERAL_LIST(at), LITERAL_LIST(flat));
  literal_attr_dims(f, node, "shape", 1, k);
  const uint32_t y = literal_map(f, op(SMR_CODE_GATHER), "take", LITERAL_LIST(x, flat), "y", k);
  const uint32_t z = literal_map(f, op(SMR_CODE_ADD), "twice", LITERAL_LIST(y, y), "z", k);
  literal_output(f, z, "z");
  literal_output(f, at, "at");
  return l;
}

struct logged {
  int count;
  char text[256];
};

static void log_text(void *user, samara_log_level level, const char *text) {
  struct logged *logged = user;
  CHECK_EQ_INT(level, SAMARA_LOG_WARNING);
  logged->count++;
  snprintf(logged->text, sizeof logged->text, "%s", text);
}

static void check_picks(samara_session *s) {
  CHECK(literal_feed(s, 0, (const float[]){0, 3, -1, 5, 7, 0}, 6));
  CHECK(literal_gives(s, 0, (const float[]){6, 10, 14}, 3));
  samara_tensor at;
  CHECK_EQ_INT(samara_session_output(s, 1, &at), SAMARA_OK);
  CHECK_EQ_INT(at.shape[0], 1);
  CHECK_EQ_INT(at.shape[1], 3);
  CHECK_EQ_INT(((const int64_t *)at.data)[2], 4);
  CHECK(literal_feed(s, 0, (const float[]){0, 0, -1, 0, 0, 2}, 6));
  CHECK(literal_gives(s, 0, (const float[]){4}, 1));
  CHECK(literal_feed(s, 0, (const float[]){0, 0, 0, 0, 0, 0}, 6));
  CHECK(literal_gives(s, 0, NULL, 0));
}

static void check_picker(bool bounded) {
  struct literal *l = picker(bounded);
  struct literal_memory memory;
  literal_memory_init(&memory);
  struct logged logged = {0};
  samara_session *s = literal_session(
      literal_finish(l), (samara_session_options){
                             .allocator = &memory.allocator, .log = log_text, .log_user = &logged});
  CHECK_EQ_INT(samara_model_is_growing(&l->model, NULL), !bounded);
  CHECK_EQ_INT(logged.count, !bounded);
  if (!bounded)
    CHECK_STR(logged.text, "function 'main' has a tensor without upper bound: runs may allocate");
  // The bound of n is the first shape.
  samara_tensor x;
  CHECK_EQ_INT(samara_session_input(s, 0, &x), SAMARA_OK);
  CHECK_EQ_INT(x.shape[0], 40);
  const size_t created = memory.calls;
  CHECK_EQ_INT(literal_resize(s, 0, 6), SAMARA_OK);
  if (bounded) CHECK_EQ_INT(memory.calls, created);
  for (int again = 0; again < 3; again++) check_picks(s);
  if (bounded) CHECK_EQ_INT(memory.calls, created);
  const size_t warm = memory.calls;
  check_picks(s);
  CHECK_EQ_INT(memory.calls, warm);
  samara_session_destroy(s);
  CHECK_EQ_INT(memory.live, 0);
  literal_free(l);
}

SMR_TEST(a_bounded_function_allocates_nothing_while_running) { check_picker(true); }
SMR_TEST(a_growing_function_allocates_and_says_so) { check_picker(false); }

static void check_oom(bool bounded) {
  struct literal *l = picker(bounded);
  const samara_model *model = literal_finish(l);
  size_t failures = 0;
  for (size_t k = 1; k < 1000; k++) {
    struct literal_memory memory;
    literal_memory_init(&memory);
    memory.fail_at = k;
    const char *keep[] = {"y", "at"};
    const samara_session_options options = {.struct_size = sizeof options,
                                            .allocator = &memory.allocator,
                                            .keep = keep,
                                            .keep_count = 2};
    samara_session *s = NULL;
    samara_error error = {.text = ""};
    samara_status status = samara_session_create(model, &options, &s, &error);
    if (status == SAMARA_OK) {
      status = literal_resize(s, 0, 6);
      if (status == SAMARA_OK) {
        CHECK(literal_feed(s, 0, (const float[]){0, 3, -1, 5, 7, 0}, 6));
        status = samara_session_run(s);
      }
      if (status != SAMARA_OK) {
        CHECK(samara_session_error(s)[0] != '\0');
        // The next attempt works.
        CHECK_EQ_INT(literal_resize(s, 0, 6), SAMARA_OK);
        check_picks(s);
      }
    } else {
      CHECK(s == NULL);
      CHECK(error.text[0] != '\0');
    }
    if (status != SAMARA_OK) {
      CHECK_EQ_INT(status, SAMARA_OUT_OF_MEMORY);
      failures++;
    }
    samara_session_destroy(s);
    CHECK_EQ_INT(memory.live, 0);
    if (status == SAMARA_OK && memory.calls < k) break;
  }
  CHECK(failures >= 3);
  literal_free(l);
}

SMR_TEST(every_allocation_may_fail) {
  check_oom(true);
  check_oom(false);
}

SMR_TEST(max_arena_bytes_is_kept) {
  struct literal *l = picker(true);
  const samara_model *model = literal_finish(l);
  samara_session *s = literal_open(l);
  const size_t needs = samara_session_arena_bytes(s);
  CHECK(needs > 0);
  CHECK(samara_session_total_bytes(s) > needs);
  samara_session_destroy(s);
  samara_error error;
  samara_session_options options = {.struct_size = sizeof options, .max_arena_bytes = needs};
  CHECK_EQ_INT(samara_session_create(model, &options, &s, &error), SAMARA_OK);
  CHECK_EQ_INT(samara_session_arena_bytes(s), needs);
  samara_session_destroy(s);
  options.max_arena_bytes = needs - 1;
  CHECK_EQ_INT(samara_session_create(model, &options, &s, &error), SAMARA_LIMIT);
  CHECK_CONTAINS(error.text, "max_arena_bytes is");
  literal_free(l);
}

SMR_TEST_MAIN(RUN(a_bounded_function_allocates_nothing_while_running);
              RUN(a_growing_function_allocates_and_says_so); RUN(every_allocation_may_fail);
              RUN(max_arena_bytes_is_kept))
