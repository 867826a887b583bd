// SPDX-License-Identifier: Apache-2.0
// Outputs bound to the caller's memory: computed there, or copied if they lie elsewhere.
#include "base/fp.h"

#include "harness.h"

#include "ops/table/opattrs.h"
#include "session/model_literal.h"

static const struct smr_op *op(uint16_t code) { return smr_op_find(code); }

enum { BIND_N = 6 };
static const float six[] = {1, -2, 3, -4, 5, -6};
static const float sum[] = {2, -4, 6, -8, 10, -12};  // six + six
static const float clamped[] = {2, 0, 6, 0, 10, 0};  // relu of it
static const float constant[] = {7, 7, 7, 7, 7, 7};

// main(x [n]) -> y = relu(x + x) in place, x itself, a constant; n up to `most`.
enum { OUT_Y, OUT_SAME, OUT_CONSTANT };
static struct literal *passing(int64_t most) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_symbol(f, "n", 0, 0, most);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t s = literal_map(f, op(SMR_CODE_ADD), "add", LITERAL_LIST(x, x), "s", n);
  const uint32_t y = literal_map(f, op(SMR_CODE_RELU), "relu", LITERAL_LIST(s), "y", n);
  literal_output(f, y, "y");
  literal_output(f, x, "same");
  literal_output(f, literal_constant(l, f, "k", SAMARA_FLOAT32, constant, 1, BIND_N), "k");
  return l;
}

static const void *output_at(const samara_session *s, size_t index) {
  samara_tensor t = {.data = NULL};
  (void)samara_session_output(s, index, &t);
  return t.data;
}

// Where each node put its first output.
struct seen {
  const void *data[LITERAL_NODES];
  size_t count;
};
static int see(void *user, const char *node, const char *const *names, const samara_tensor *tensors,
               size_t count) {
  struct seen *seen = user;
  (void)node, (void)names, (void)count;
  seen->data[seen->count++] = tensors[0].data;
  return 0;
}

SMR_TEST(an_output_is_computed_where_it_is_bound) {
  struct literal *l = passing(BIND_N);
  struct literal_memory memory;
  samara_session *s = literal_counted(l, &memory);
  CHECK(literal_feed(s, 0, six, BIND_N));
  const size_t calls = memory.calls, arena = samara_session_arena_bytes(s);
  float mine[2][BIND_N] = {{0}};
  struct seen seen = {.count = 0};
  CHECK_EQ_INT(samara_session_watch(s, see, &seen), SAMARA_OK);
  for (size_t i = 0; i < 2; i++) {
    seen.count = 0;
    CHECK_EQ_INT(samara_session_bind_output(s, OUT_Y, mine[i], sizeof mine[i]), SAMARA_OK);
    CHECK_EQ_INT(literal_run(s), SAMARA_OK);
    CHECK_MEM(mine[i], clamped, sizeof clamped);
    CHECK(output_at(s, OUT_Y) == mine[i]);
    // The sum that relu overwrites in place, too.
    CHECK_EQ_INT(seen.count, 2);
    CHECK(seen.data[0] == mine[i] && seen.data[1] == mine[i]);
  }
  CHECK_EQ_INT(samara_session_bind_output(s, OUT_Y, NULL, 0), SAMARA_OK);
  samara_tensor t;
  CHECK_EQ_INT(samara_session_output(s, OUT_Y, &t), SAMARA_BAD_STATE);
  CHECK_CONTAINS(samara_session_error(s), "has not run since resize or bind_output");
  memset(mine, 0, sizeof mine);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK(output_at(s, OUT_Y) != mine[1]);
  CHECK(literal_expect(s, OUT_Y, clamped, BIND_N));
  CHECK_EQ_INT((int)mine[1][0], 0);
  CHECK_EQ_INT(memory.calls, calls);
  CHECK_EQ_INT(samara_session_arena_bytes(s), arena);
  literal_close(s, l);
}

SMR_TEST(what_lies_elsewhere_is_copied) {
  struct literal *l = passing(BIND_N);
  samara_session *s = literal_open(l);
  CHECK(literal_feed(s, 0, six, BIND_N));
  float same[BIND_N], k[BIND_N];
  CHECK_EQ_INT(samara_session_bind_output(s, OUT_SAME, same, sizeof same), SAMARA_OK);
  CHECK_EQ_INT(samara_session_bind_output(s, OUT_CONSTANT, k, sizeof k), SAMARA_OK);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK_MEM(same, six, sizeof six);
  CHECK_MEM(k, constant, sizeof constant);
  CHECK(output_at(s, OUT_SAME) == same && output_at(s, OUT_CONSTANT) == k);
  CHECK(literal_expect(s, OUT_Y, clamped, BIND_N));
  literal_close(s, l);
}

// main(x) -> y = x + x, twice: either may be bound.
SMR_TEST(a_value_that_is_two_outputs_is_copied) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_int(f, BIND_N);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t y = literal_map(f, op(SMR_CODE_ADD), "add", LITERAL_LIST(x, x), "y", n);
  literal_output(f, y, "y");
  literal_output(f, y, "again");
  samara_session *s = literal_open(l);
  CHECK(literal_feed(s, 0, six, BIND_N));
  for (size_t bound = 0; bound < 2; bound++) {
    float mine[BIND_N] = {0};
    CHECK_EQ_INT(samara_session_bind_output(s, 1 - bound, NULL, 0), SAMARA_OK);
    CHECK_EQ_INT(samara_session_bind_output(s, bound, mine, sizeof mine), SAMARA_OK);
    CHECK_EQ_INT(literal_run(s), SAMARA_OK);
    CHECK_MEM(mine, sum, sizeof sum);
    memset(mine, 0, sizeof mine);
    CHECK(output_at(s, 1 - bound) != mine);
    CHECK_MEM(output_at(s, 1 - bound), sum, sizeof sum);  // unchanged
  }
  literal_close(s, l);
}

SMR_TEST(a_kept_tensor_stays_in_the_session) {
  struct literal *l = passing(BIND_N);
  samara_session *s =
      literal_session(literal_finish(l), (samara_session_options){.keep_all = true});
  CHECK(literal_feed(s, 0, six, BIND_N));
  float mine[BIND_N];
  samara_tensor t;
  CHECK_EQ_INT(samara_session_bind_output(s, OUT_Y, mine, sizeof mine), SAMARA_OK);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK_MEM(mine, clamped, sizeof mine);
  CHECK_EQ_INT(samara_session_kept(s, "y", &t), SAMARA_OK);
  CHECK(t.data != mine);
  CHECK_MEM(t.data, clamped, sizeof clamped);
  CHECK_EQ_INT(samara_session_kept(s, "s", &t), SAMARA_OK);
  CHECK_MEM(t.data, sum, sizeof sum);
  literal_close(s, l);
}

// main(a, b) -> y = a - b, z = y - b: y is still read after the bytes of a and b may be reused.
SMR_TEST(an_input_may_lie_in_the_same_buffer) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_int(f, BIND_N);
  const uint32_t a = literal_input(f, literal_vector(f, "a", n));
  const uint32_t b = literal_input(f, literal_vector(f, "b", n));
  const uint32_t y = literal_map(f, op(SMR_CODE_SUB), "first", LITERAL_LIST(a, b), "y", n);
  const uint32_t z = literal_map(f, op(SMR_CODE_SUB), "second", LITERAL_LIST(y, b), "z", n);
  literal_output(f, y, "y");
  literal_output(f, z, "z");
  samara_session *s = literal_open(l);
  float both[BIND_N + 1];  // b, and y one element further: each write changes the next read
  memcpy(both, six, sizeof six);
  CHECK(literal_feed(s, 0, sum, BIND_N));
  CHECK_EQ_INT(samara_session_bind_input(s, 1, both, sizeof six), SAMARA_OK);
  CHECK_EQ_INT(samara_session_bind_output(s, 0, both + 1, sizeof six), SAMARA_OK);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK_MEM(both + 1, six, sizeof six);  // sum - six
  const float zero[BIND_N] = {0};
  CHECK(literal_expect(s, 1, zero, BIND_N));
  memcpy(both, six, sizeof six);
  const void *const inputs[] = {NULL, both};
  CHECK_EQ_INT(samara_session_bind_input(s, 1, zero, sizeof zero), SAMARA_OK);
  CHECK_EQ_INT(samara_session_run_with(s, inputs, NULL), SAMARA_OK);
  CHECK_MEM(both + 1, six, sizeof six);
  literal_close(s, l);
}

// main(x, v = V) -> V := y = x + v, and y is an output.
SMR_TEST(an_output_that_is_a_variable_too) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_int(f, BIND_N);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t v = literal_input(f, literal_vector(f, "v", n));
  const uint32_t y = literal_map(f, op(SMR_CODE_ADD), "add", LITERAL_LIST(x, v), "y", n);
  literal_output(f, y, "next_v");
  literal_output(f, y, "y");
  const int64_t dims[] = {BIND_N};
  literal_variable(l, "V", SAMARA_FLOAT32, six, 1, dims);
  literal_bind(f, false, 1, 0);
  literal_bind(f, true, 0, 0);
  samara_session *s = literal_open(l);
  float mine[BIND_N], state[BIND_N];
  CHECK(literal_feed(s, 0, six, BIND_N));
  CHECK_EQ_INT(samara_session_bind_output(s, 0, mine, sizeof mine), SAMARA_OK);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK_MEM(mine, sum, sizeof sum);
  memset(mine, 0, sizeof mine);  // the caller may write it: the variable has its own bytes
  CHECK_EQ_INT(samara_session_state_read(s, "V", state, sizeof state), SAMARA_OK);
  CHECK_MEM(state, sum, sizeof sum);
  literal_close(s, l);
}

SMR_TEST(resize_ends_it) {
  struct literal *l = passing(INT64_MAX);
  samara_session *s = literal_open(l);
  float mine[BIND_N] = {0};
  CHECK_EQ_INT(samara_session_bind_output(s, OUT_Y, mine, sizeof mine), SAMARA_BAD_STATE);
  CHECK_EQ_INT(literal_resize(s, 0, BIND_N), SAMARA_OK);
  CHECK(literal_feed(s, 0, six, BIND_N));
  CHECK_EQ_INT(samara_session_bind_output(s, OUT_Y, mine, sizeof mine), SAMARA_OK);
  CHECK_EQ_INT(literal_resize(s, 0, 2), SAMARA_OK);
  CHECK(literal_feed(s, 0, six, 2));
  CHECK(literal_gives(s, OUT_Y, clamped, 2));
  CHECK_EQ_INT((int)mine[0], 0);
  CHECK_EQ_INT(samara_session_bind_output(s, OUT_Y, mine, sizeof mine), SAMARA_BAD_SHAPE);
  CHECK_STR(samara_session_error(s), "output 'y' has 8 bytes of float32, the buffer 24");
  CHECK_EQ_INT(samara_session_bind_output(s, OUT_Y, mine, 8), SAMARA_OK);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK_MEM(mine, clamped, 8);
  CHECK_EQ_INT(literal_resize(s, 0, 0), SAMARA_OK);
  CHECK_EQ_INT(samara_session_bind_output(s, OUT_Y, mine, 0), SAMARA_OK);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK_MEM(mine, clamped, 8);
  literal_close(s, l);
}

SMR_TEST(buffers_that_cannot_be_bound_are_refused) {
  struct literal *l = passing(BIND_N);
  samara_session *s = literal_open(l);
  CHECK(literal_feed(s, 0, six, BIND_N));
  float mine[2 * BIND_N] = {0};
  const size_t bytes = sizeof six;
  CHECK_EQ_INT(samara_session_bind_output(NULL, 0, mine, bytes), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_bind_output(s, 3, mine, bytes), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(samara_session_error(s), "there is no output 3");
  CHECK_EQ_INT(samara_session_bind_output(s, OUT_Y, (char *)mine + 2, bytes), SAMARA_BAD_ARGUMENT);
  CHECK_STR(samara_session_error(s),
            "the buffer for output 'y' is not aligned to its elements of 4 bytes");
  CHECK_EQ_INT(samara_session_bind_output(s, OUT_Y, mine, bytes), SAMARA_OK);
  CHECK_EQ_INT(samara_session_bind_output(s, OUT_SAME, mine + 5, bytes), SAMARA_BAD_ARGUMENT);
  CHECK_STR(samara_session_error(s), "the buffer for output 'same' overlaps the buffer of 'y'");
  CHECK_EQ_INT(samara_session_bind_output(s, OUT_SAME, mine + 6, bytes), SAMARA_OK);
  samara_tensor own;
  CHECK_EQ_INT(samara_session_input(s, 0, &own), SAMARA_OK);
  CHECK_EQ_INT(samara_session_bind_output(s, OUT_Y, own.data, bytes), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(samara_session_error(s), "memory of the session itself");
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);  // still where they were bound
  CHECK_MEM(mine, clamped, bytes);
  CHECK_MEM(mine + 6, six, bytes);
  float copy[BIND_N];
  void *const outputs[] = {copy, mine + 6, NULL};
  CHECK_EQ_INT(samara_session_run_with(s, NULL, outputs), SAMARA_OK);
  CHECK_MEM(copy, clamped, bytes);
  CHECK_MEM(mine + 6, six, bytes);
  literal_close(s, l);
}

SMR_TEST(an_output_whose_size_depends_on_data_takes_no_buffer) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_int(f, 4), one = literal_int(f, 1);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t k = literal_expr(f, SMR_EXPR_BORN, 0, 0, 1, (int64_t)n);
  const uint32_t at = literal_value(f, "at", SAMARA_INT64, 2, one, k);
  literal_node(f, op(SMR_CODE_NONZERO), "where", LITERAL_LIST(x), LITERAL_LIST(at));
  const uint32_t y = literal_map(f, op(SMR_CODE_RELU), "relu", LITERAL_LIST(x), "y", n);
  literal_output(f, at, "at");
  literal_output(f, y, "y");
  samara_session *s = literal_open(l);
  int64_t where[4];
  float mine[4];
  CHECK_EQ_INT(samara_session_bind_output(s, 0, where, sizeof where), SAMARA_BAD_SHAPE);
  CHECK_STR(samara_session_error(s),
            "axis 1 of output 'at' depends on data, so no buffer can be bound: read it with "
            "samara_session_output");
  CHECK_EQ_INT(samara_session_bind_output(s, 1, mine, sizeof mine), SAMARA_OK);
  CHECK(literal_feed(s, 0, six, 4));
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  const float want[] = {1, 0, 3, 0};
  CHECK_MEM(mine, want, sizeof want);
  literal_close(s, l);
}

SMR_TEST_MAIN(RUN(an_output_is_computed_where_it_is_bound); RUN(what_lies_elsewhere_is_copied);
              RUN(a_value_that_is_two_outputs_is_copied); RUN(a_kept_tensor_stays_in_the_session);
              RUN(an_input_may_lie_in_the_same_buffer); RUN(an_output_that_is_a_variable_too);
              RUN(resize_ends_it); RUN(buffers_that_cannot_be_bound_are_refused);
              RUN(an_output_whose_size_depends_on_data_takes_no_buffer))
