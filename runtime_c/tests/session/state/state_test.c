// SPDX-License-Identifier: Apache-2.0
// Variables: read at entry, written at exit, never half; reset, state_read and state_write.
#include "base/fp.h"

#include "harness.h"

#include "ops/table/opattrs.h"
#include "session/device/device_rig.h"
#include "session/model_literal.h"
#include "session/session.h"
#include "session/state/state_sample.h"

static const struct smr_op *op(uint16_t code) { return smr_op_find(code); }
static const float start_a[] = {1, 2}, start_b[] = {10, 20};
static const int64_t two_dims[] = {2};

// main(x, a = A, b = B) -> y = a + x, A := y', B := a (they change places), y also an output.
static struct literal *counters(void) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_int(f, 2);
  const uint32_t x = literal_vector(f, "x", n), a = literal_vector(f, "a", n);
  const uint32_t b = literal_vector(f, "b", n);
  literal_input(f, a);
  literal_input(f, x);
  literal_input(f, b);
  const uint32_t y = literal_map(f, op(SMR_CODE_ADD), "add", LITERAL_LIST(a, x), "y", n);
  const uint32_t z = literal_map(f, op(SMR_CODE_ADD), "sum", LITERAL_LIST(y, b), "z", n);
  literal_output(f, y, "next_a");
  literal_output(f, z, "z");
  literal_output(f, a, "next_b");
  literal_variable(l, "A", SAMARA_FLOAT32, start_a, 1, two_dims);
  literal_variable(l, "B", SAMARA_FLOAT32, start_b, 1, two_dims);
  literal_variable(l, "unused", SAMARA_FLOAT32, NULL, 1, two_dims);
  literal_bind(f, false, 0, 0);
  literal_bind(f, false, 2, 1);
  literal_bind(f, true, 0, 0);
  literal_bind(f, true, 2, 1);
  return l;
}

static bool state_is(const samara_session *s, const char *name, float first, float second) {
  float got[2] = {0, 0};
  if (samara_session_state_read(s, name, got, sizeof got) != SAMARA_OK) return false;
  if (got[0] == first && got[1] == second) return true;
  fprintf(stderr, "%s is %g %g\n", name, (double)got[0], (double)got[1]);
  return false;
}

SMR_TEST(reads_see_the_values_before_all_writes) {
  struct literal *l = counters();
  samara_session *s = literal_open(l);
  CHECK_EQ_INT(samara_session_state_count(s), 2);
  CHECK_STR(samara_session_state_name(s, 0), "A");
  CHECK_STR(samara_session_state_name(s, 1), "B");
  CHECK(samara_session_state_name(s, 2) == NULL);
  CHECK(state_is(s, "A", 1, 2));
  CHECK(literal_feed(s, 0, (const float[]){1, 100}, 2));
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);  // A = 2 102, B = 1 2, z = A + B = 12 122
  CHECK(literal_expect(s, 0, (const float[]){12, 122}, 2));
  CHECK(state_is(s, "A", 2, 102));
  CHECK(state_is(s, "B", 1, 2));
  CHECK(literal_gives(s, 0, (const float[]){4, 204}, 2));
  CHECK(state_is(s, "A", 3, 202));
  CHECK(state_is(s, "B", 2, 102));
  CHECK_EQ_INT(samara_session_reset(s), SAMARA_OK);
  CHECK(state_is(s, "A", 1, 2));
  CHECK(state_is(s, "B", 10, 20));
  const float mine[] = {-1, -2};
  CHECK_EQ_INT(samara_session_state_write(s, "A", mine, sizeof mine), SAMARA_OK);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK(state_is(s, "A", 0, 98));
  CHECK(state_is(s, "B", -1, -2));
  literal_close(s, l);
}

static int stop_at_second(void *user, const char *node, const char *const *names,
                          const samara_tensor *tensors, size_t count) {
  (void)user, (void)names, (void)tensors, (void)count;
  return strcmp(node, "sum") == 0;
}

SMR_TEST(a_stopped_run_leaves_the_variables_alone) {
  struct literal *l = counters();
  samara_session *s = literal_open(l);
  CHECK(literal_feed(s, 0, (const float[]){5, 5}, 2));
  samara_session_watch(s, stop_at_second, NULL);
  CHECK_EQ_INT(samara_session_run(s), SAMARA_CANCELLED);
  CHECK(state_is(s, "A", 1, 2));
  CHECK(state_is(s, "B", 10, 20));
  samara_session_watch(s, NULL, NULL);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK(state_is(s, "A", 6, 7));
  literal_close(s, l);
}

SMR_TEST(sessions_of_one_model_have_their_own_state) {
  struct literal *l = counters();
  samara_session *s = literal_open(l);
  samara_session *t = literal_session(&l->model, (samara_session_options){0});
  CHECK(literal_feed(s, 0, (const float[]){5, 5}, 2));
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK(state_is(t, "A", 1, 2));
  CHECK(state_is(s, "A", 6, 7));
  samara_session_destroy(s);
  literal_close(t, l);
}

SMR_TEST(wrong_names_and_sizes_are_refused) {
  struct literal *l = counters();
  samara_session *s = literal_open(l);
  float buffer[4] = {0};
  CHECK_EQ_INT(samara_session_state_read(s, "unused", buffer, 8), SAMARA_NOT_FOUND);
  CHECK_CONTAINS(samara_session_error(s), "no variable 'unused'");
  CHECK_EQ_INT(samara_session_state_read(s, NULL, buffer, 8), SAMARA_NOT_FOUND);
  CHECK_EQ_INT(samara_session_state_read(s, "A", buffer, 16), SAMARA_BAD_SHAPE);
  CHECK_EQ_INT(samara_session_state_write(s, "A", NULL, 8), SAMARA_BAD_ARGUMENT);
  samara_tensor info;
  CHECK_EQ_INT(samara_session_state_info(s, "B", &info), SAMARA_OK);
  CHECK_EQ_INT(info.size_bytes, 8);
  CHECK_EQ_INT(info.shape[0], 2);
  CHECK_EQ_INT(info.dtype, SAMARA_FLOAT32);
  CHECK_EQ_INT(((const float *)info.data)[1], 20);
  literal_close(s, l);
}

SMR_TEST(state_obeys_the_arena_limit) {
  struct literal *l = counters();
  const samara_model *model = literal_finish(l);
  samara_session_options options = {.struct_size = sizeof options, .max_arena_bytes = 31};
  samara_session *s = NULL;
  samara_error error;
  CHECK_EQ_INT(samara_session_create(model, &options, &s, &error), SAMARA_LIMIT);
  CHECK_CONTAINS(error.text, "variable 'B' makes 32 bytes of state");
  literal_free(l);
}

// ---- variables that grow ----

static const float rising[] = {1, 2, 3, 4, 5, 6, 7, 8};

// 0: written in place. 1: another node reads the old value, so there are two buffers. 2: a ring
// that no window reads has two as well.
static samara_session *growing(int kind, struct literal **l) {
  *l = state_growing((struct state_growing){.ring = kind == 2, .twice = kind == 1});
  return literal_open(*l);
}

static const struct smr_session_variable *cache_of(const samara_session *s) {
  const struct smr_session_variable *v = &s->state.variables[0];
  return strcmp(v->variable->name, "cache") == 0 ? v : NULL;
}

SMR_TEST(rows_in_use_are_the_value) {
  for (int kind = 0; kind < 3; kind++) {
    struct literal *l;
    samara_session *s = growing(kind, &l);
    samara_tensor y;
    CHECK(state_growing_has(s, 0, NULL));
    CHECK_EQ_INT(state_growing_run(s, 1, 1), SAMARA_OK);
    CHECK(state_growing_has(s, 1, rising));
    CHECK_EQ_INT(state_growing_run(s, 2, 3), SAMARA_OK);
    CHECK(state_growing_has(s, 3, rising));
    CHECK_EQ_INT(samara_session_output(s, 0, &y), SAMARA_OK);
    for (size_t i = 0; i < 6; i++)
      CHECK_EQ_INT(((const float *)y.data)[i], kind == 1 && i >= 2 ? rising[i] : 2 * rising[i]);
    CHECK_EQ_INT(samara_session_reset(s), SAMARA_OK);
    CHECK(state_growing_has(s, 0, NULL));
    CHECK_EQ_INT(state_growing_run(s, 4, 1), SAMARA_OK);
    CHECK(state_growing_has(s, 4, rising));
    float buffer[8] = {0};
    CHECK_EQ_INT(samara_session_state_write(s, "cache", buffer, sizeof buffer), SAMARA_OK);
    CHECK(state_growing_has(s, 4, buffer));
    CHECK_EQ_INT(samara_session_state_write(s, "cache", buffer, 8), SAMARA_BAD_SHAPE);
    literal_close(s, l);
  }
}

// One buffer, which the node writes: no byte of the cache is copied.
SMR_TEST(rows_are_written_in_place) {
  for (int kind = 0; kind < 3; kind++) {
    struct literal *l;
    samara_session *s = growing(kind, &l);
    const struct smr_session_variable *v = cache_of(s);
    REQUIRE(v != NULL);
    void *first = v->data;
    CHECK((v->spare == NULL) == (kind == 0));
    for (int run = 0; run < 3; run++) {
      CHECK_EQ_INT(state_growing_run(s, 1, (float)(2 * run + 1)), SAMARA_OK);
      const struct smr_tensor *next = smr_frame_output(s->entry, 2);
      if (kind != 1) CHECK(next->data == v->data);
      CHECK((v->data == first) == (kind == 0 || run == 1));
    }
    CHECK(state_growing_has(s, 3, rising));
    literal_close(s, l);
  }
}

static int stop_at(void *user, const char *node, const char *const *names,
                   const samara_tensor *tensors, size_t count) {
  (void)names, (void)tensors, (void)count;
  return strcmp(node, user) == 0;
}

SMR_TEST(a_failed_run_adds_no_rows) {
  static const char *const nodes[] = {"write", "sum", "count"};
  for (int kind = 0; kind < 3; kind++) {
    struct literal *l;
    samara_session *s = growing(kind, &l);
    CHECK_EQ_INT(state_growing_run(s, 2, 1), SAMARA_OK);
    for (size_t i = 0; i < 3; i++) {
      samara_session_watch(s, stop_at, (void *)(uintptr_t)nodes[i]);
      CHECK_EQ_INT(state_growing_run(s, 2, 77), SAMARA_CANCELLED);
      CHECK(state_growing_has(s, 2, rising));
    }
    samara_session_watch(s, NULL, NULL);
    if (kind != 2) {
      CHECK_EQ_INT(state_growing_run(s, 3, 77), SAMARA_BAD_DATA);
      CHECK_CONTAINS(samara_session_error(s), "3 new rows do not fit behind 2 into the 4");
    }
    CHECK(state_growing_has(s, 2, rising));
    CHECK_EQ_INT(state_growing_run(s, 2, 5), SAMARA_OK);
    CHECK(state_growing_has(s, 4, rising));
    literal_close(s, l);
  }
}

static samara_status set_length(samara_session *s, int64_t length) {
  return samara_session_state_write(s, "length", &length, sizeof length);
}

SMR_TEST(lengths_are_only_made_less) {
  for (int kind = 0; kind < 3; kind++) {
    struct literal *l;
    samara_session *s = growing(kind, &l);
    CHECK_EQ_INT(set_length(s, 1), SAMARA_LIMIT);
    CHECK_EQ_INT(set_length(s, 0), SAMARA_OK);
    CHECK_EQ_INT(state_growing_run(s, 3, 1), SAMARA_OK);
    CHECK_EQ_INT(set_length(s, 4), SAMARA_LIMIT);
    CHECK_CONTAINS(samara_session_error(s), "'length' is 3 and cannot become 4: 'cache' has no");
    CHECK_EQ_INT(set_length(s, -1), SAMARA_LIMIT);
    CHECK_EQ_INT(set_length(s, INT64_MIN), SAMARA_LIMIT);
    CHECK_EQ_INT(set_length(s, INT64_MAX), SAMARA_LIMIT);
    CHECK_EQ_INT(set_length(s, 3), SAMARA_OK);
    CHECK(state_growing_has(s, 3, rising));
    CHECK_EQ_INT(set_length(s, 1), SAMARA_OK);
    CHECK(state_growing_has(s, 1, rising));
    CHECK_EQ_INT(set_length(s, 2), SAMARA_LIMIT);
    CHECK_EQ_INT(state_growing_run(s, 3, 3), SAMARA_OK);
    CHECK(state_growing_has(s, 4, rising));
    CHECK_EQ_INT(set_length(s, 0), SAMARA_OK);
    CHECK(state_growing_has(s, 0, NULL));
    literal_close(s, l);
  }
}

// Earlier rows of a ring that has gone round are lost.
SMR_TEST(rings_do_not_go_back) {
  struct literal *l;
  samara_session *s = growing(2, &l);
  CHECK_EQ_INT(state_growing_run(s, 3, -1), SAMARA_OK);
  CHECK_EQ_INT(state_growing_run(s, 3, 1), SAMARA_OK);
  const float round[] = {3, 4, 5, 6, 3, 4, 1, 2};
  CHECK(state_growing_has(s, 6, round));
  CHECK_EQ_INT(set_length(s, 5), SAMARA_LIMIT);
  CHECK_EQ_INT(set_length(s, 3), SAMARA_LIMIT);
  CHECK_EQ_INT(set_length(s, 6), SAMARA_OK);
  CHECK(state_growing_has(s, 6, round));
  CHECK_EQ_INT(set_length(s, 0), SAMARA_OK);
  CHECK_EQ_INT(state_growing_run(s, 1, 1), SAMARA_OK);
  CHECK(state_growing_has(s, 1, rising));
  literal_close(s, l);
}

// A device writes rows in its own memory.
SMR_TEST(rows_come_back_from_a_device) {
  for (int kind = 0; kind < 3; kind++) {
    rig_reset();
    struct literal *l =
        state_growing((struct state_growing){.ring = kind == 2, .twice = kind == 1});
    samara_backend *device = rig_open(0, NULL, NULL);
    REQUIRE(device != NULL);
    samara_session *s = rig_session(literal_finish(l), &device, 1, (samara_session_options){0});
    CHECK_EQ_INT(state_growing_run(s, 1, 1), SAMARA_OK);
    CHECK(state_growing_has(s, 1, rising));
    CHECK_EQ_INT(state_growing_run(s, 2, 3), SAMARA_OK);
    CHECK(state_growing_has(s, 3, rising));
    CHECK(mirror_calls("node") > 0);
    CHECK(s->common.devices->residents == NULL);  // not even the length
    literal_close(s, l);
    samara_backend_close(device);
  }
}

SMR_TEST_MAIN(RUN(rows_come_back_from_a_device); RUN(rows_in_use_are_the_value);
              RUN(rows_are_written_in_place); RUN(a_failed_run_adds_no_rows);
              RUN(lengths_are_only_made_less); RUN(rings_do_not_go_back);
              RUN(reads_see_the_values_before_all_writes);
              RUN(a_stopped_run_leaves_the_variables_alone);
              RUN(sessions_of_one_model_have_their_own_state);
              RUN(wrong_names_and_sizes_are_refused); RUN(state_obeys_the_arena_limit))
