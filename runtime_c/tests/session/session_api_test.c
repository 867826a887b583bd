// SPDX-License-Identifier: Apache-2.0
// The public functions of a session: shapes, inputs, runs on the caller's buffers, results.
#include "base/fp.h"

#include "harness.h"

#include "ops/table/opattrs.h"
#include "session/model_literal.h"

static const struct smr_op *op(uint16_t code) { return smr_op_find(code); }

// main(x [n, 3], y [n, 3], k [3]) -> x * y + k, x; n without bound.
static struct literal *affine(void) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_symbol(f, "n", 0, 0, INT64_MAX), three = literal_int(f, 3);
  const uint32_t x = literal_input(f, literal_value(f, "x", SAMARA_FLOAT32, 2, n, three));
  const uint32_t y = literal_input(f, literal_value(f, "y", SAMARA_FLOAT32, 2, n, three));
  const uint32_t k = literal_input(f, literal_vector(f, "k", three));
  const uint32_t p = literal_value(f, "p", SAMARA_FLOAT32, 2, n, three);
  const uint32_t z = literal_value(f, "z", SAMARA_FLOAT32, 2, n, three);
  literal_node(f, op(SMR_CODE_MUL), "times", LITERAL_LIST(x, y), LITERAL_LIST(p));
  literal_node(f, op(SMR_CODE_ADD), "plus", LITERAL_LIST(p, k), LITERAL_LIST(z));
  literal_output(f, z, "z");
  literal_output(f, x, "same");
  return l;
}

static samara_status reshape(samara_session *s, int64_t x0, int64_t x1, int64_t y0) {
  const int64_t x[] = {x0, x1}, y[] = {y0, 3};
  const int64_t *shapes[] = {x, y};
  return samara_session_resize(s, shapes, 2);
}

SMR_TEST(a_symbolic_input_needs_a_shape_first) {
  struct literal *l = affine();
  samara_session *s = literal_open(l);
  samara_tensor t;
  CHECK_EQ_INT(samara_session_run(s), SAMARA_BAD_STATE);
  CHECK_CONTAINS(samara_session_error(s), "resize it first");
  CHECK_EQ_INT(samara_session_input(s, 0, &t), SAMARA_BAD_STATE);
  CHECK_EQ_INT(samara_session_output_shape(s, 0, &t), SAMARA_BAD_STATE);
  const int64_t x[] = {2, 3};
  const int64_t *shapes[] = {x, NULL};
  CHECK_EQ_INT(samara_session_resize(s, shapes, 2), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(samara_session_error(s), "input 'y' has no shape yet");
  CHECK_EQ_INT(reshape(s, 2, 3, 2), SAMARA_OK);
  CHECK_EQ_INT(samara_session_output(s, 0, &t), SAMARA_BAD_STATE);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK_EQ_INT(samara_session_output(s, 0, &t), SAMARA_OK);
  CHECK_EQ_INT(samara_session_output(s, 2, &t), SAMARA_BAD_ARGUMENT);
  literal_close(s, l);
}

static const float six[] = {1, 2, 3, 4, 5, 6};
static const float doubled[] = {2, 4, 6, 8, 10, 12};
static const float offset[] = {100, 200, 300};
static const float result[] = {102, 208, 318, 132, 250, 372};  // six * doubled + offset

static bool feed_all(samara_session *s) {
  return literal_feed(s, 0, six, 6) && literal_feed(s, 1, doubled, 6) &&
         literal_feed(s, 2, offset, 3);
}

SMR_TEST(a_failed_resize_keeps_the_former_shapes) {
  struct literal *l = affine();
  const samara_model *model = literal_finish(l);
  samara_session *s = literal_session(model, (samara_session_options){.max_arena_bytes = 4096});
  CHECK_EQ_INT(reshape(s, 2, 3, 2), SAMARA_OK);
  CHECK(feed_all(s));
  CHECK_EQ_INT(reshape(s, 2, 3, 4), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(samara_session_error(s), "axis 0 of input 'y' is 4, expected 2");
  CHECK(literal_gives(s, 0, result, 6));
  CHECK_EQ_INT(reshape(s, 2, 4, 2), SAMARA_BAD_SHAPE);
  CHECK_EQ_INT(reshape(s, -1, 3, -1), SAMARA_BAD_SHAPE);
  CHECK_EQ_INT(reshape(s, INT64_MAX / 4, 3, INT64_MAX / 4), SAMARA_BAD_SHAPE);
  CHECK_EQ_INT(reshape(s, 1000, 3, 1000), SAMARA_LIMIT);
  CHECK(literal_gives(s, 0, result, 6));
  const int64_t *none[] = {NULL, NULL, NULL, NULL};
  CHECK_EQ_INT(samara_session_resize(s, none, 4), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_resize(s, none, 3), SAMARA_OK);
  CHECK(literal_gives(s, 0, result, 6));
  literal_close(s, l);
}

SMR_TEST(shrinking_and_growing_back_allocates_nothing) {
  struct literal *l = affine();
  struct literal_memory memory;
  samara_session *s = literal_counted(l, &memory);
  CHECK_EQ_INT(reshape(s, 20, 3, 20), SAMARA_OK);
  const size_t calls = memory.calls, bytes = samara_session_arena_bytes(s);
  CHECK_EQ_INT(reshape(s, 2, 3, 2), SAMARA_OK);
  CHECK(feed_all(s));
  CHECK(literal_gives(s, 0, result, 6));
  CHECK_EQ_INT(reshape(s, 0, 3, 0), SAMARA_OK);
  CHECK(literal_gives(s, 0, NULL, 0));
  CHECK_EQ_INT(reshape(s, 20, 3, 20), SAMARA_OK);
  CHECK_EQ_INT(memory.calls, calls);
  CHECK_EQ_INT(samara_session_arena_bytes(s), bytes);
  literal_close(s, l);
}

SMR_TEST(inputs_can_be_copied_bound_or_filled_in_place) {
  struct literal *l = affine();
  samara_session *s = literal_open(l);
  CHECK_EQ_INT(reshape(s, 2, 3, 2), SAMARA_OK);
  CHECK(feed_all(s));
  float mine[6] = {0};
  CHECK_EQ_INT(samara_session_bind_input(s, 0, mine, sizeof mine), SAMARA_OK);
  memcpy(mine, six, sizeof mine);  // read by the run
  CHECK(literal_gives(s, 0, result, 6));
  CHECK(literal_expect(s, 1, six, 6));  // a copy: the bound memory may change now
  mine[0] = -7;
  CHECK(literal_expect(s, 1, six, 6));
  char odd[25];  // misaligned on purpose
  memcpy(odd + 1, six, 24);
  CHECK_EQ_INT(samara_session_bind_input(s, 0, odd + 1, 24), SAMARA_OK);
  CHECK(literal_gives(s, 0, result, 6));
  samara_tensor t;
  CHECK_EQ_INT(samara_session_input(s, 0, &t), SAMARA_OK);
  CHECK_EQ_INT(t.size_bytes, 24);
  memcpy(t.data, doubled, 24);
  CHECK(literal_gives(s, 1, doubled, 6));
  CHECK_EQ_INT(samara_session_set_input(s, 0, six, 20), SAMARA_BAD_SHAPE);
  CHECK_STR(samara_session_error(s), "input 'x' takes 24 bytes of float32, not 20");
  CHECK_EQ_INT(samara_session_set_input(s, 0, NULL, 24), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_bind_input(s, 3, six, 24), SAMARA_BAD_ARGUMENT);
  literal_close(s, l);
}

SMR_TEST(run_with_uses_the_callers_buffers_once) {
  struct literal *l = affine();
  samara_session *s = literal_open(l);
  CHECK_EQ_INT(reshape(s, 2, 3, 2), SAMARA_OK);
  CHECK(feed_all(s));
  float z[6] = {0};
  const float zero[6] = {0};
  const void *inputs[] = {NULL, zero, NULL};
  void *outputs[] = {z, NULL};
  CHECK_EQ_INT(samara_session_run_with(s, inputs, outputs), SAMARA_OK);
  CHECK_EQ_INT(z[0], 100);
  CHECK_EQ_INT(z[5], 300);
  CHECK_EQ_INT(samara_session_run_with(s, NULL, outputs), SAMARA_OK);
  CHECK_MEM(z, result, sizeof z);
  samara_tensor t;
  CHECK_EQ_INT(samara_session_output_shape(s, 0, &t), SAMARA_OK);
  CHECK_EQ_INT(t.rank, 2);
  CHECK_EQ_INT(t.shape[0], 2);
  CHECK_EQ_INT(t.shape[1], 3);
  CHECK_EQ_INT(t.size_bytes, 24);
  CHECK(t.data == NULL);
  literal_close(s, l);
}

SMR_TEST(data_dependent_outputs_have_no_shape_and_take_no_buffer) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_int(f, 4), one = literal_int(f, 1);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t k = literal_expr(f, SMR_EXPR_BORN, 0, 0, 1, (int64_t)n);
  const uint32_t at = literal_value(f, "at", SAMARA_INT64, 2, one, k);
  literal_node(f, op(SMR_CODE_NONZERO), "where", LITERAL_LIST(x), LITERAL_LIST(at));
  literal_output(f, at, "at");
  samara_session *s = literal_open(l);
  samara_tensor t;
  CHECK_EQ_INT(samara_session_output_shape(s, 0, &t), SAMARA_OK);
  CHECK_EQ_INT(t.shape[0], 1);
  CHECK_EQ_INT(t.shape[1], -1);
  int64_t buffer[4];
  void *outputs[] = {buffer};
  CHECK_EQ_INT(samara_session_run_with(s, NULL, outputs), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(samara_session_error(s), "depends on data");
  CHECK_EQ_INT(samara_session_run_with(s, NULL, NULL), SAMARA_OK);
  literal_close(s, l);
}

SMR_TEST(null_sessions_are_refused) {
  samara_tensor t;
  CHECK_EQ_INT(samara_session_run(NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_run_with(NULL, NULL, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_resize(NULL, NULL, 0), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_set_input(NULL, 0, NULL, 0), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_bind_input(NULL, 0, NULL, 0), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_input(NULL, 0, &t), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_output(NULL, 0, &t), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_output_shape(NULL, 0, &t), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_kept(NULL, "x", &t), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_watch(NULL, NULL, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_STR(samara_session_error(NULL), "");
  CHECK_EQ_INT(samara_session_arena_bytes(NULL), 0);
  CHECK_EQ_INT(samara_session_total_bytes(NULL), 0);
  samara_session_destroy(NULL);
}

SMR_TEST_MAIN(RUN(a_symbolic_input_needs_a_shape_first);
              RUN(a_failed_resize_keeps_the_former_shapes);
              RUN(shrinking_and_growing_back_allocates_nothing);
              RUN(inputs_can_be_copied_bound_or_filled_in_place);
              RUN(run_with_uses_the_callers_buffers_once);
              RUN(data_dependent_outputs_have_no_shape_and_take_no_buffer);
              RUN(null_sessions_are_refused))
