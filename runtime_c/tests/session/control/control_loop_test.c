// SPDX-License-Identifier: Apache-2.0
// The operator `loop`: trip counts, conditions, carried, captured and stacked values, growing ones.
#include "base/fp.h"

#include "harness.h"

#include <stdatomic.h>

#include "base/os.h"
#include "ops/table/opattrs.h"
#include "session/model_literal.h"

static const struct smr_op *op(uint16_t code) { return smr_op_find(code); }
static const float one = 1;
static const float hundred = 100;

// body(i, c, x [n], k [n]) -> (sum(x + k) < 100, x + k, (stacked) x * k)
static void add_body(struct literal *l, bool with_condition) {
  struct literal_function *f = literal_add(l, "body", false);
  literal_input(f, literal_value(f, "i", SAMARA_INT64, 0));
  const uint32_t c = literal_input(f, literal_value(f, "c", SAMARA_BOOL, 0));
  const uint32_t n = literal_symbol(f, "n", 2, 0, INT64_MAX);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t k = literal_input(f, literal_vector(f, "k", n));
  const uint32_t y = literal_map(f, op(SMR_CODE_ADD), "step", LITERAL_LIST(x, k), "y", n);
  const uint32_t p = literal_map(f, op(SMR_CODE_MUL), "product", LITERAL_LIST(x, k), "p", n);
  uint32_t go = c;
  if (with_condition) {
    const uint32_t s = literal_value(f, "s", SAMARA_FLOAT32, 0);
    go = literal_value(f, "go", SAMARA_BOOL, 0);
    const uint32_t most = literal_constant(l, f, "most", SAMARA_FLOAT32, &hundred, 0);
    const uint32_t node =
        literal_node(f, op(SMR_CODE_REDUCE_SUM), "sum", LITERAL_LIST(y), LITERAL_LIST(s));
    static const int64_t axes[] = {0};
    literal_attr(f, node, "axes", (struct smr_attr){.ints = axes, .count = 1});
    literal_node(f, op(SMR_CODE_LT), "less", LITERAL_LIST(s, most), LITERAL_LIST(go));
  }
  literal_output(f, go, "go");
  literal_output(f, y, "y");
  literal_output(f, p, "p");
}

enum trips { TRIPS_INPUT, TRIPS_BOUNDED, TRIPS_NONE };

// main(trips i64, x [n], k [n]) -> final x, stacked products [trips, n]
static struct literal *loop_model(enum trips trips, bool with_condition) {
  struct literal *l = literal_new();
  add_body(l, with_condition);
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t t = literal_input(f, literal_value(f, "t", SAMARA_INT64, 0));
  const uint32_t n = literal_symbol(f, "n", 1, 0, 3);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t k = literal_input(f, literal_vector(f, "k", n));
  int64_t bound = -1;
  if (trips == TRIPS_BOUNDED) bound = literal_int(f, 6);
  const uint32_t born = literal_expr(f, SMR_EXPR_BORN, 0, 1, 0, bound);
  const uint32_t y = literal_vector(f, "last", n);
  const uint32_t p = literal_value(f, "all", SAMARA_FLOAT32, 2, born, n);
  const uint32_t node = literal_node(f, op(SMR_CODE_LOOP), "loop",
                                     LITERAL_LIST(trips == TRIPS_NONE ? -1 : (int64_t)t, -1, x, k),
                                     LITERAL_LIST(y, p));
  literal_attr(f, node, "body", (struct smr_attr){.i = 0});
  literal_attr(f, node, "carried", (struct smr_attr){.i = 1});
  literal_output(f, y, "last");
  literal_output(f, p, "all");
  return l;
}

static bool set_trips(samara_session *s, int64_t trips) {
  return samara_session_set_input(s, 0, &trips, sizeof trips) == SAMARA_OK;
}

static void check_trips(samara_session *s, int64_t trips) {
  float last[3], all[3 * 16];
  const float x[] = {1, 2, 3}, k[] = {10, 0, -1};
  for (int i = 0; i < 3; i++) last[i] = x[i];
  for (int64_t t = 0; t < trips; t++)
    for (int i = 0; i < 3; i++) {
      all[t * 3 + i] = last[i] * k[i];
      last[i] += k[i];
    }
  CHECK(literal_feed(s, 1, x, 3));
  CHECK(literal_feed(s, 2, k, 3));
  CHECK(set_trips(s, trips));
  CHECK(literal_gives(s, 0, last, 3));
  CHECK(literal_expect(s, 1, all, 3 * (size_t)(trips > 0 ? trips : 0)));
  samara_tensor t;
  CHECK_EQ_INT(samara_session_output(s, 1, &t), SAMARA_OK);
  CHECK_EQ_INT(t.shape[0], trips > 0 ? trips : 0);
  CHECK_EQ_INT(t.shape[1], 3);
}

SMR_TEST(a_bounded_loop_allocates_nothing) {
  struct literal *l = loop_model(TRIPS_BOUNDED, false);
  struct literal_memory memory;
  samara_session *s = literal_counted(l, &memory);
  const size_t calls = memory.calls;
  for (int64_t t = -1; t <= 6; t++) check_trips(s, t);
  check_trips(s, 5);
  CHECK_EQ_INT(memory.calls, calls);
  CHECK(set_trips(s, 7));
  CHECK_EQ_INT(samara_session_run(s), SAMARA_LIMIT);
  CHECK_CONTAINS(samara_session_error(s), "'all' has 84 bytes, but 72 are planned");
  check_trips(s, 3);
  samara_session_destroy(s);
  CHECK_EQ_INT(memory.live, 0);
  literal_free(l);
}

SMR_TEST(an_unbounded_loop_grows) {
  struct literal *l = loop_model(TRIPS_INPUT, false);
  samara_session *s = literal_open(l);
  for (int64_t t = 0; t < 15; t += 2) check_trips(s, t);
  check_trips(s, 1);
  literal_close(s, l);
}

SMR_TEST(the_condition_ends_a_loop_without_count) {
  struct literal *l = loop_model(TRIPS_NONE, true);
  samara_session *s = literal_open(l);
  // Sums after the steps: 6 + 9 t >= 100 at t = 11.
  CHECK(literal_feed(s, 1, (const float[]){1, 2, 3}, 3));
  CHECK(literal_feed(s, 2, (const float[]){10, 0, -1}, 3));
  CHECK(literal_gives(s, 0, (const float[]){111, 2, -8}, 3));
  samara_tensor t;
  CHECK_EQ_INT(samara_session_output(s, 1, &t), SAMARA_OK);
  CHECK_EQ_INT(t.shape[0], 11);
  literal_close(s, l);
}

SMR_TEST(an_endless_loop_meets_max_steps) {
  struct literal *l = loop_model(TRIPS_NONE, false);
  samara_session *s =
      literal_session(literal_finish(l), (samara_session_options){.max_steps = 1000});
  CHECK_EQ_INT(samara_session_run(s), SAMARA_LIMIT);
  CHECK_CONTAINS(samara_session_error(s), "max_steps");
  literal_close(s, l);
}

struct canceller {
  samara_session *session;
  atomic_bool done;
};

static void cancel_until_done(void *user) {
  struct canceller *c = user;
  while (!atomic_load(&c->done)) samara_session_cancel(c->session);
}

SMR_TEST(an_endless_loop_is_cancelled_from_another_thread) {
  struct literal *l = loop_model(TRIPS_NONE, false);
  struct canceller c = {.session = literal_open(l)};
  struct smr_os_thread thread;
  for (int i = 0; i < 20; i++) {
    atomic_store(&c.done, false);
    REQUIRE(smr_os_thread_start(&thread, cancel_until_done, &c));
    CHECK_EQ_INT(samara_session_run(c.session), SAMARA_CANCELLED);
    atomic_store(&c.done, true);
    smr_os_thread_join(&thread);
  }
  samara_session_destroy(c.session);
  literal_free(l);
}

// body(i, c, a [n], b [m]) -> (c, b, a, (stacked) a): the two change places, no node runs.
SMR_TEST(carried_values_can_change_places) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "swap", false);
  literal_input(f, literal_value(f, "i", SAMARA_INT64, 0));
  const uint32_t c = literal_value(f, "c", SAMARA_BOOL, 0);
  literal_input(f, c);
  const uint32_t two = literal_int(f, 2);
  const uint32_t a = literal_vector(f, "a", two), b = literal_vector(f, "b", two);
  const uint32_t k = literal_vector(f, "k", two);
  literal_input(f, a);
  literal_input(f, b);
  literal_input(f, k);
  literal_output(f, c, "c");
  literal_output(f, b, "a");
  literal_output(f, a, "b");
  literal_output(f, k, "k");
  literal_output(f, a, "s");
  f = literal_add(l, "main", true);
  const uint32_t n = literal_int(f, 2), trips = literal_int(f, 3);
  const uint32_t x = literal_vector(f, "x", n), y = literal_vector(f, "y", n);
  literal_input(f, x);
  literal_input(f, y);
  const uint32_t born = literal_expr(f, SMR_EXPR_BORN, 0, 3, 0, (int64_t)trips);
  const uint32_t p = literal_vector(f, "p", n), q = literal_vector(f, "q", n);
  const uint32_t o = literal_vector(f, "o", n);
  const uint32_t all = literal_value(f, "all", SAMARA_FLOAT32, 2, born, n);
  static const int64_t three = 3;
  const uint32_t t = literal_constant(l, f, "t", SAMARA_INT64, &three, 0);
  const uint32_t node = literal_node(f, op(SMR_CODE_LOOP), "loop", LITERAL_LIST(t, -1, x, y, x),
                                     LITERAL_LIST(p, q, o, all));
  literal_attr(f, node, "body", (struct smr_attr){.i = 0});
  literal_attr(f, node, "carried", (struct smr_attr){.i = 3});
  literal_output(f, p, "p");
  literal_output(f, q, "q");
  literal_output(f, o, "o");
  literal_output(f, all, "all");
  samara_session *s = literal_open(l);
  for (int again = 0; again < 2; again++) {
    CHECK(literal_feed(s, 0, (const float[]){1, 2}, 2));
    CHECK(literal_feed(s, 1, (const float[]){3, 4}, 2));
    CHECK(literal_gives(s, 0, (const float[]){3, 4}, 2));
    CHECK(literal_expect(s, 1, (const float[]){1, 2}, 2));
    CHECK(literal_expect(s, 2, (const float[]){1, 2}, 2));
    CHECK(literal_expect(s, 3, (const float[]){1, 2, 3, 4, 1, 2}, 6));
  }
  literal_close(s, l);
}

// body(i, c, x [n]) -> (c, concat(x, 1)): the carried value grows by one per trip.
SMR_TEST(a_carried_value_can_grow) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "append", false);
  literal_input(f, literal_value(f, "i", SAMARA_INT64, 0));
  const uint32_t c = literal_value(f, "c", SAMARA_BOOL, 0);
  literal_input(f, c);
  const uint32_t n = literal_symbol(f, "n", 2, 0, INT64_MAX);
  const uint32_t x = literal_vector(f, "x", n);
  literal_input(f, x);
  const uint32_t more = literal_expr(f, SMR_EXPR_ADD, (int32_t)n, (int32_t)literal_int(f, 1), 0, 0);
  const uint32_t e = literal_constant(l, f, "e", SAMARA_FLOAT32, &one, 1, 1);
  const uint32_t y = literal_map(f, op(SMR_CODE_CONCAT), "join", LITERAL_LIST(x, e), "y", more);
  const uint32_t r = literal_map(f, op(SMR_CODE_RELU), "relu", LITERAL_LIST(y), "r", more);
  const uint32_t w = literal_map(f, op(SMR_CODE_ADD), "add", LITERAL_LIST(r, e), "w", more);
  literal_output(f, c, "c");
  literal_output(f, w, "w");
  f = literal_add(l, "main", true);
  const uint32_t t = literal_value(f, "t", SAMARA_INT64, 0);
  literal_input(f, t);
  const uint32_t x0 = literal_vector(f, "x0", literal_int(f, 1));
  literal_input(f, x0);
  const uint32_t born = literal_expr(f, SMR_EXPR_BORN, 0, 0, 0, -1);
  const uint32_t z = literal_vector(f, "z", born);
  const uint32_t node =
      literal_node(f, op(SMR_CODE_LOOP), "loop", LITERAL_LIST(t, -1, x0), LITERAL_LIST(z));
  literal_attr(f, node, "body", (struct smr_attr){.i = 0});
  literal_attr(f, node, "carried", (struct smr_attr){.i = 1});
  const uint32_t z2 = literal_map(f, op(SMR_CODE_ADD), "double", LITERAL_LIST(z, z), "z2", born);
  literal_output(f, z2, "z2");
  literal_output(f, z, "z");
  samara_session *s = literal_open(l);
  const int64_t counts[] = {3, 0, 10, 2};
  for (int i = 0; i < 4; i++) {
    CHECK(set_trips(s, counts[i]));
    CHECK(literal_feed(s, 1, (const float[]){5}, 1));
    CHECK_EQ_INT(literal_run(s), SAMARA_OK);
    float want[16], twice[16];
    want[0] = 5 + (float)counts[i];
    for (int k = 1; k <= counts[i]; k++) want[k] = (float)(counts[i] - k + 2);
    for (int k = 0; k <= counts[i]; k++) twice[k] = 2 * want[k];
    CHECK(literal_expect(s, 1, want, (size_t)counts[i] + 1));
    CHECK(literal_expect(s, 0, twice, (size_t)counts[i] + 1));
  }
  literal_close(s, l);
}

SMR_TEST_MAIN(RUN(a_bounded_loop_allocates_nothing); RUN(an_unbounded_loop_grows);
              RUN(the_condition_ends_a_loop_without_count); RUN(an_endless_loop_meets_max_steps);
              RUN(an_endless_loop_is_cancelled_from_another_thread);
              RUN(carried_values_can_change_places); RUN(a_carried_value_can_grow))
