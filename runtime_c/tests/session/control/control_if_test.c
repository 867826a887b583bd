// SPDX-License-Identifier: Apache-2.0
// The operator `if`: branches, data-dependent conditions and dims, traps in the branch not taken.
#include "base/fp.h"

#include "harness.h"

#include "ops/table/opattrs.h"
#include "session/model_literal.h"

static const struct smr_op *op(uint16_t code) { return smr_op_find(code); }

// then: x + x.   else: -x, the first two elements of x, or a trap.
enum else_kind { ELSE_NEGATE, ELSE_SLICE, ELSE_TRAP };

static void add_then(struct literal *l) {
  struct literal_function *f = literal_add(l, "double", false);
  const uint32_t n = literal_symbol(f, "n", 0, 0, INT64_MAX);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t y = literal_map(f, op(SMR_CODE_ADD), "add", LITERAL_LIST(x, x), "y", n);
  literal_output(f, y, "y");
}

static void add_else(struct literal *l, enum else_kind kind) {
  struct literal_function *f = literal_add(l, "other", false);
  const uint32_t n = literal_symbol(f, "n", 0, 0, INT64_MAX);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t two = literal_int(f, 2);
  const uint32_t y = literal_vector(f, "y", kind == ELSE_SLICE ? two : n);
  if (kind == ELSE_NEGATE) {
    literal_node(f, op(SMR_CODE_NEG), "neg", LITERAL_LIST(x), LITERAL_LIST(y));
  } else if (kind == ELSE_SLICE) {
    const uint32_t node =
        literal_node(f, op(SMR_CODE_SLICE), "cut", LITERAL_LIST(x), LITERAL_LIST(y));
    literal_attr_dims(f, node, "begin", 1, literal_int(f, 0));
    literal_attr_dims(f, node, "end", 1, two);
    literal_attr_dims(f, node, "step", 1, literal_int(f, 1));
  } else {
    const uint32_t node =
        literal_node(f, op(SMR_CODE_TRAP), "stop", LITERAL_LIST(x), LITERAL_LIST(y));
    static const char message[] = "this cannot happen";
    literal_attr(f, node, "message",
                 (struct smr_attr){.text = message, .count = sizeof message - 1});
    literal_attr_dims(f, node, "shape", 1, n);
  }
  literal_output(f, y, "y");
}

// main(c bool, x [n]) -> if c then double(x) else other(x); the dim is born when the branches
// disagree.
static struct literal *choice(enum else_kind kind, int64_t upper, bool bounded) {
  struct literal *l = literal_new();
  add_then(l);
  add_else(l, kind);
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t c = literal_input(f, literal_value(f, "c", SAMARA_BOOL, 0));
  const uint32_t n = literal_symbol(f, "n", 1, 0, upper);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  uint32_t dim = n;
  if (kind == ELSE_SLICE) {
    const uint32_t most =
        literal_expr(f, SMR_EXPR_MAX, (int32_t)n, (int32_t)literal_int(f, 2), 0, 0);
    dim = literal_expr(f, SMR_EXPR_BORN, 0, 0, 0, bounded ? (int64_t)most : -1);
  }
  const uint32_t y = literal_vector(f, "y", dim);
  const uint32_t node =
      literal_node(f, op(SMR_CODE_IF), "choose", LITERAL_LIST(c, x), LITERAL_LIST(y));
  literal_attr(f, node, "then", (struct smr_attr){.i = 0});
  literal_attr(f, node, "orelse", (struct smr_attr){.i = 1});
  const uint32_t z = literal_map(f, op(SMR_CODE_RELU), "relu", LITERAL_LIST(y), "z", dim);
  literal_output(f, z, "z");
  literal_output(f, y, "y");
  return l;
}

static bool choose(samara_session *s, bool value) {
  const uint8_t c = value;
  return samara_session_set_input(s, 0, &c, 1) == SAMARA_OK;
}

SMR_TEST(takes_the_branch_that_the_condition_says) {
  struct literal *l = choice(ELSE_NEGATE, 4, true);
  samara_session *s = literal_open(l);
  for (int again = 0; again < 2; again++) {
    CHECK(literal_feed(s, 1, (const float[]){1, -2, 3, -4}, 4));
    CHECK(choose(s, true));
    CHECK(literal_gives(s, 0, (const float[]){2, 0, 6, 0}, 4));
    CHECK(choose(s, false));
    CHECK(literal_gives(s, 0, (const float[]){0, 2, 0, 4}, 4));
    CHECK(literal_expect(s, 1, (const float[]){-1, 2, -3, 4}, 4));
  }
  literal_close(s, l);
}

static void check_born(int64_t upper, bool bounded) {
  struct literal *l = choice(ELSE_SLICE, upper, bounded);
  struct literal_memory memory;
  samara_session *s = literal_counted(l, &memory);
  CHECK_EQ_INT(literal_resize(s, 1, 5), SAMARA_OK);
  const size_t calls = memory.calls;
  for (int again = 0; again < 3; again++) {
    CHECK(literal_feed(s, 1, (const float[]){1, -2, 3, -4, 5}, 5));
    CHECK(choose(s, true));
    CHECK(literal_gives(s, 0, (const float[]){2, 0, 6, 0, 10}, 5));
    CHECK(choose(s, false));
    CHECK(literal_gives(s, 0, (const float[]){1, 0}, 2));
    CHECK(literal_expect(s, 1, (const float[]){1, -2}, 2));
  }
  if (bounded) CHECK_EQ_INT(memory.calls, calls);
  samara_session_destroy(s);
  CHECK_EQ_INT(memory.live, 0);
  literal_free(l);
}

SMR_TEST(branches_may_disagree_in_dims) { check_born(INT64_MAX, true); }
SMR_TEST(dims_without_bound_grow) { check_born(INT64_MAX, false); }

SMR_TEST(a_branch_that_cannot_run_hurts_only_when_taken) {
  struct literal *l = choice(ELSE_SLICE, INT64_MAX, true);
  samara_session *s = literal_open(l);
  CHECK_EQ_INT(literal_resize(s, 1, 1), SAMARA_OK);  // too short for the slice
  CHECK(literal_feed(s, 1, (const float[]){7}, 1));
  CHECK(choose(s, true));
  CHECK(literal_gives(s, 0, (const float[]){14}, 1));
  CHECK(choose(s, false));
  CHECK_EQ_INT(samara_session_run(s), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(samara_session_error(s), "node 'choose' (if): function 'other', node 'cut'");
  literal_close(s, l);
}

SMR_TEST(a_trap_fails_with_its_message_when_reached) {
  struct literal *l = choice(ELSE_TRAP, 2, true);
  samara_session *s = literal_open(l);
  CHECK(literal_feed(s, 1, (const float[]){1, 2}, 2));
  CHECK(choose(s, true));
  CHECK(literal_gives(s, 0, (const float[]){2, 4}, 2));
  CHECK(choose(s, false));
  CHECK_EQ_INT(samara_session_run(s), SAMARA_TRAP);
  CHECK_CONTAINS(samara_session_error(s), "node 'stop' (trap): this cannot happen");
  CHECK(choose(s, true));
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  literal_close(s, l);
}

SMR_TEST_MAIN(RUN(takes_the_branch_that_the_condition_says); RUN(branches_may_disagree_in_dims);
              RUN(dims_without_bound_grow); RUN(a_branch_that_cannot_run_hurts_only_when_taken);
              RUN(a_trap_fails_with_its_message_when_reached))
