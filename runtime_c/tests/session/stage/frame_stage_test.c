// SPDX-License-Identifier: Apache-2.0
// Frames: guards, dims read from tensors, born dims, stages that change from run to run.
#include "base/fp.h"

#include "harness.h"

#include "ops/table/opattrs.h"
#include "session/model_literal.h"

static const struct smr_op *op(uint16_t code) { return smr_op_find(code); }

static void add_guard(struct literal_function *f, uint8_t relation, uint32_t a, uint32_t b,
                      int32_t node, const char *message) {
  f->guards[f->f.guard_count++] =
      (struct smr_guard){.relation = relation, .a = a, .b = b, .node = node, .message = message};
}

// main(x [n]) -> relu; n == 2 * (n / 2), n <= 8, 0 < n.
SMR_TEST(guards_name_what_does_not_hold) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_symbol(f, "n", 0, 0, INT64_MAX), two = literal_int(f, 2);
  const uint32_t half = literal_expr(f, SMR_EXPR_FLOORDIV, (int32_t)n, (int32_t)two, 0, 0);
  const uint32_t even = literal_expr(f, SMR_EXPR_MUL, (int32_t)half, (int32_t)two, 0, 0);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t y = literal_map(f, op(SMR_CODE_RELU), "relu", LITERAL_LIST(x), "y", n);
  literal_output(f, y, "y");
  add_guard(f, SMR_RELATION_EQ, n, even, 0, "n must be even");
  add_guard(f, SMR_RELATION_LE, n, literal_int(f, 8), -1, "at most eight");
  add_guard(f, SMR_RELATION_LT, literal_int(f, 0), n, -1, "");
  samara_session *s = literal_open(l);
  CHECK_EQ_INT(literal_resize(s, 0, 7), SAMARA_BAD_SHAPE);
  CHECK_STR(samara_session_error(s),
            "function 'main', node 'relu' (relu): n must be even (needs 7 == 6)");
  CHECK_EQ_INT(literal_resize(s, 0, 10), SAMARA_BAD_SHAPE);
  CHECK_STR(samara_session_error(s), "function 'main': at most eight (needs 10 <= 8)");
  CHECK_EQ_INT(literal_resize(s, 0, 0), SAMARA_BAD_SHAPE);
  CHECK_STR(samara_session_error(s), "function 'main': dims disagree (needs 0 < 0)");
  CHECK_EQ_INT(literal_resize(s, 0, 8), SAMARA_OK);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  literal_close(s, l);
}

SMR_TEST(an_expression_that_fails_is_a_bad_shape) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_symbol(f, "n", 0, 0, INT64_MAX);
  const uint32_t q =
      literal_expr(f, SMR_EXPR_FLOORDIV, (int32_t)literal_int(f, 12), (int32_t)n, 0, 0);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  literal_output(f, x, "x");
  add_guard(f, SMR_RELATION_LE, q, literal_int(f, 4), -1, "quotient");
  samara_session *s = literal_open(l);
  CHECK_EQ_INT(literal_resize(s, 0, 0), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(samara_session_error(s), "function 'main': dim expression 2: ");
  CHECK_EQ_INT(literal_resize(s, 0, 3), SAMARA_OK);
  literal_close(s, l);
}

// main(x [6], count dtype scalar) -> x[0:count]: a dim read from an input, at most 6 (or no bound).
static struct literal *cut(uint8_t dtype, bool bounded, uint32_t element) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t six = literal_int(f, 6);
  const uint32_t x = literal_input(f, literal_vector(f, "x", six));
  const uint32_t count = literal_input(f, literal_value(f, "count", dtype, 1, literal_int(f, 2)));
  const uint32_t k = literal_expr(f, SMR_EXPR_READ, (int32_t)count, (int32_t)element,
                                  bounded ? (int32_t)six : -1, 0);
  const uint32_t y = literal_vector(f, "y", k);
  const uint32_t node =
      literal_node(f, op(SMR_CODE_SLICE), "cut", LITERAL_LIST(x), LITERAL_LIST(y));
  literal_attr_dims(f, node, "begin", 1, literal_int(f, 0));
  literal_attr_dims(f, node, "end", 1, k);
  literal_attr_dims(f, node, "step", 1, literal_int(f, 1));
  const uint32_t z = literal_map(f, op(SMR_CODE_NEG), "neg", LITERAL_LIST(y), "z", k);
  literal_output(f, z, "z");
  return l;
}

static const float ramp[] = {1, 2, 3, 4, 5, 6};
static const float negated[] = {-1, -2, -3, -4, -5, -6};

SMR_TEST(dims_are_read_from_tensors_of_every_integer_type) {
  static const uint8_t dtypes[] = {SAMARA_INT8, SAMARA_UINT8, SAMARA_INT32, SAMARA_INT64};
  for (size_t d = 0; d < sizeof dtypes; d++) {
    for (int bounded = 0; bounded < 2; bounded++) {
      struct literal *l = cut(dtypes[d], bounded, 1);
      struct literal_memory memory;
      samara_session *s = literal_counted(l, &memory);
      CHECK(literal_feed(s, 0, ramp, 6));
      const size_t calls = memory.calls;
      const size_t element = smr_dtype_bytes(dtypes[d]);
      static const int64_t counts[] = {3, 0, 6, 6, 1};
      for (size_t i = 0; i < 5; i++) {
        uint8_t pair[16] = {0};
        memcpy(pair + element, &counts[i], element);
        CHECK_EQ_INT(samara_session_set_input(s, 1, pair, 2 * element), SAMARA_OK);
        CHECK(literal_gives(s, 0, negated, (size_t)counts[i]));
      }
      if (bounded) CHECK_EQ_INT(memory.calls, calls);
      samara_session_destroy(s);
      CHECK_EQ_INT(memory.live, 0);
      literal_free(l);
    }
  }
}

SMR_TEST(a_read_dim_beyond_its_bound_is_a_limit) {
  struct literal *l = cut(SAMARA_INT64, true, 0);
  samara_session *s = literal_open(l);
  int64_t counts[] = {7, 0};
  CHECK_EQ_INT(samara_session_set_input(s, 1, counts, sizeof counts), SAMARA_OK);
  CHECK_EQ_INT(samara_session_run(s), SAMARA_LIMIT);
  CHECK_CONTAINS(samara_session_error(s), "a dim read from 'count' is 7, above its bound 6");
  counts[0] = -1;
  CHECK_EQ_INT(samara_session_set_input(s, 1, counts, sizeof counts), SAMARA_OK);
  CHECK_EQ_INT(samara_session_run(s), SAMARA_BAD_SHAPE);
  counts[0] = 2;
  CHECK_EQ_INT(samara_session_set_input(s, 1, counts, sizeof counts), SAMARA_OK);
  CHECK(literal_feed(s, 0, ramp, 6));
  CHECK(literal_gives(s, 0, negated, 2));
  literal_close(s, l);
}

SMR_TEST(a_growing_read_dim_that_does_not_fit_is_refused_by_the_operator) {
  struct literal *l = cut(SAMARA_INT64, false, 0);
  samara_session *s = literal_open(l);
  const int64_t counts[] = {7, 0};
  CHECK_EQ_INT(samara_session_set_input(s, 1, counts, sizeof counts), SAMARA_OK);
  CHECK_EQ_INT(samara_session_run(s), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(samara_session_error(s), "node 'cut' (slice): ");
  literal_close(s, l);
}

// The tensor that holds a dim has no other use, and others of its size are made after it: it must
// live until the stage that reads it begins.
static void check_read_lives(bool bounded) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t one = literal_int(f, 1);
  const uint32_t a = literal_input(f, literal_value(f, "a", SAMARA_INT64, 1, one));
  const uint32_t count = literal_value(f, "count", SAMARA_INT64, 1, one);
  literal_node(f, op(SMR_CODE_ADD), "count", LITERAL_LIST(a, a), LITERAL_LIST(count));
  uint32_t last = a;
  for (int i = 0; i < 4; i++) {
    const uint32_t next = literal_value(f, "other", SAMARA_INT64, 1, one);
    literal_node(f, op(SMR_CODE_NEG), "other", LITERAL_LIST(last), LITERAL_LIST(next));
    last = next;
  }
  const uint32_t most = literal_int(f, 12);
  const uint32_t k =
      literal_expr(f, SMR_EXPR_READ, (int32_t)count, 0, bounded ? (int32_t)most : -1, 0);
  const uint32_t y = literal_value(f, "y", SAMARA_INT64, 1, k);
  const uint32_t node =
      literal_node(f, op(SMR_CODE_EXPAND), "expand", LITERAL_LIST(last), LITERAL_LIST(y));
  literal_attr_dims(f, node, "shape", 1, k);
  literal_output(f, y, "y");
  samara_session *s = literal_open(l);
  for (int64_t n = 0; n < 6; n++) {
    CHECK_EQ_INT(samara_session_set_input(s, 0, &n, sizeof n), SAMARA_OK);
    CHECK_EQ_INT(literal_run(s), SAMARA_OK);
    samara_tensor t;
    CHECK_EQ_INT(samara_session_output(s, 0, &t), SAMARA_OK);
    CHECK_EQ_INT(t.shape[0], 2 * n);
    for (int64_t i = 0; i < 2 * n; i++) CHECK_EQ_INT(((const int64_t *)t.data)[i], n);
  }
  literal_close(s, l);
}

SMR_TEST(what_is_read_lives_until_it_is) {
  check_read_lives(true);
  check_read_lives(false);
}

SMR_TEST(an_element_beyond_the_tensor_is_refused) {
  struct literal *l = cut(SAMARA_INT32, true, 2);
  samara_session *s = literal_open(l);
  CHECK_EQ_INT(samara_session_run(s), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(samara_session_error(s), "element 2 of 'count', which has 2 elements");
  literal_close(s, l);
}

SMR_TEST_MAIN(RUN(guards_name_what_does_not_hold); RUN(an_expression_that_fails_is_a_bad_shape);
              RUN(dims_are_read_from_tensors_of_every_integer_type);
              RUN(a_read_dim_beyond_its_bound_is_a_limit);
              RUN(a_growing_read_dim_that_does_not_fit_is_refused_by_the_operator);
              RUN(what_is_read_lives_until_it_is); RUN(an_element_beyond_the_tensor_is_refused))
