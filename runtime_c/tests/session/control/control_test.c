// SPDX-License-Identifier: Apache-2.0
// Calls of functions: results in place, callees shared by several nodes, nesting, bad signatures.
#include "base/fp.h"

#include "harness.h"

#include "ops/table/opattrs.h"
#include "session/model_literal.h"

static const struct smr_op *op(uint16_t code) { return smr_op_find(code); }

// twice(x [n]) -> x + x, x (an output that is an input).
static struct literal_function *add_twice(struct literal *l) {
  struct literal_function *f = literal_add(l, "twice", false);
  const uint32_t n = literal_symbol(f, "n", 0, 0, INT64_MAX);
  const uint32_t x = literal_input(f, literal_vector(f, "tx", n));
  const uint32_t y = literal_map(f, op(SMR_CODE_ADD), "sum", LITERAL_LIST(x, x), "ty", n);
  literal_output(f, y, "ty");
  literal_output(f, x, "tx");
  return f;
}

static uint32_t call(struct literal_function *f, int64_t function, const char *name, uint32_t x,
                     uint32_t y0, uint32_t y1) {
  const uint32_t node =
      literal_node(f, op(SMR_CODE_CALL), name, LITERAL_LIST(x), LITERAL_LIST(y0, y1));
  literal_attr(f, node, "body", (struct smr_attr){.i = function});
  return node;
}

// main(a [3], b [n]): twice(a), twice(b), twice(twice(b)) through one frame.
static struct literal *three_calls(void) {
  struct literal *l = literal_new();
  add_twice(l);
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t three = literal_int(f, 3);
  const uint32_t a = literal_vector(f, "a", three);
  literal_input(f, a);
  const uint32_t n = literal_symbol(f, "n", 1, 0, 50);
  const uint32_t b = literal_vector(f, "b", n);
  literal_input(f, b);
  const uint32_t a2 = literal_vector(f, "a2", three), a1 = literal_vector(f, "a1", three);
  const uint32_t b2 = literal_vector(f, "b2", n), b1 = literal_vector(f, "b1", n);
  const uint32_t b4 = literal_vector(f, "b4", n), b3 = literal_vector(f, "b3", n);
  call(f, 0, "call_a", a, a2, a1);
  call(f, 0, "call_b", b, b2, b1);
  call(f, 0, "call_bb", b2, b4, b3);
  literal_output(f, a2, "a2");
  literal_output(f, a1, "a1");
  literal_output(f, b4, "b4");
  literal_output(f, b3, "b3");
  return l;
}

SMR_TEST(one_callee_serves_calls_of_different_dims) {
  struct literal *l = three_calls();
  samara_session *s = literal_open(l);
  for (int again = 0; again < 3; again++) {
    CHECK_EQ_INT(literal_resize(s, 1, 5), SAMARA_OK);
    CHECK(literal_feed(s, 0, (const float[]){1, 2, 3}, 3));
    CHECK(literal_feed(s, 1, (const float[]){1, 10, 100, 1000, 10000}, 5));
    CHECK(literal_gives(s, 0, (const float[]){2, 4, 6}, 3));
    CHECK(literal_expect(s, 1, (const float[]){1, 2, 3}, 3));
    CHECK(literal_expect(s, 2, (const float[]){4, 40, 400, 4000, 40000}, 5));
    CHECK(literal_expect(s, 3, (const float[]){2, 20, 200, 2000, 20000}, 5));
  }
  literal_close(s, l);
}

SMR_TEST(kept_tensors_inside_callees_are_the_last_call_s) {
  struct literal *l = three_calls();
  const char *keep[] = {"ty"};
  samara_session *s =
      literal_session(literal_finish(l), (samara_session_options){.keep = keep, .keep_count = 1});
  CHECK_EQ_INT(literal_resize(s, 1, 2), SAMARA_OK);
  samara_tensor t;
  CHECK_EQ_INT(samara_session_kept(s, "ty", &t), SAMARA_BAD_STATE);
  CHECK(literal_feed(s, 1, (const float[]){1, 10}, 2));
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  REQUIRE(samara_session_kept(s, "ty", &t) == SAMARA_OK);
  CHECK_EQ_INT(t.shape[0], 2);
  CHECK_EQ_INT(((const float *)t.data)[1], 40);
  CHECK(literal_expect(s, 2, (const float[]){4, 40}, 2));
  literal_close(s, l);
}

SMR_TEST(calls_nest) {
  struct literal *l = literal_new();
  add_twice(l);
  for (int64_t depth = 1; depth < 4; depth++) {
    struct literal_function *f = literal_add(l, "deeper", depth == 3);
    const uint32_t n = literal_symbol(f, "n", 0, 0, 8);
    const uint32_t x = literal_vector(f, "x", n), y = literal_vector(f, "y", n),
                   z = literal_vector(f, "z", n);
    literal_input(f, x);
    call(f, depth - 1, "down", x, y, z);
    const uint32_t w = literal_map(f, op(SMR_CODE_ADD), "plus", LITERAL_LIST(y, z), "w", n);
    literal_output(f, w, "w");
    literal_output(f, y, "y");
  }
  samara_session *s = literal_open(l);
  CHECK(literal_feed(s, 0, (const float[]){1, 2, 3, 4, 5, 6, 7, 8}, 8));
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  // twice: (2, 1); then (a + b, a) each level: (3, 2), (5, 3), (8, 5)
  CHECK(literal_expect(s, 0, (const float[]){8, 16, 24, 32, 40, 48, 56, 64}, 8));
  CHECK(literal_expect(s, 1, (const float[]){5, 10, 15, 20, 25, 30, 35, 40}, 8));
  literal_close(s, l);
}

static void check_declared(int64_t declared, samara_status status, const char *text) {
  struct literal *l = literal_new();
  add_twice(l);
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t x = literal_vector(f, "x", literal_int(f, 3));
  literal_input(f, x);
  const uint32_t y = literal_vector(f, "y", literal_int(f, declared)),
                 z = literal_vector(f, "z", literal_int(f, 3));
  call(f, 0, "wrong", x, y, z);
  literal_output(f, y, "y");
  samara_session *s = literal_open(l);
  CHECK_EQ_INT(samara_session_run(s), status);
  CHECK_CONTAINS(samara_session_error(s), text);
  CHECK_CONTAINS(samara_session_error(s), "function 'main', node 'wrong' (call): ");
  literal_close(s, l);
}

SMR_TEST(a_callee_that_gives_other_dims_than_declared_is_an_error) {
  check_declared(2, SAMARA_LIMIT, "'ty' has 12 bytes, but 8 are planned");
  check_declared(4, SAMARA_BAD_SHAPE, "axis 0 of output 'y' is 3, expected 4");
}

SMR_TEST_MAIN(RUN(one_callee_serves_calls_of_different_dims);
              RUN(kept_tensors_inside_callees_are_the_last_call_s); RUN(calls_nest);
              RUN(a_callee_that_gives_other_dims_than_declared_is_an_error))
