// SPDX-License-Identifier: Apache-2.0
// Running nodes: results, threads, failures, cancel, deadline, steps, watch.
#include "base/fp.h"

#include "harness.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/os.h"
#include "session/model_literal.h"

enum { RUN_N = 64 * 1024 };

// y = x + 1 in tiles of 256 elements; fails at negative numbers, naming the element.
static samara_status probe_prepare(struct smr_job *job) {
  job->tiles = ((size_t)smr_numel(job->outputs[0]) + 255) / 256;
  job->thread_scratch_bytes = 256 * sizeof(float);
  job->kernel = "probe_x256";
  return SAMARA_OK;
}

static samara_status probe_run(const struct smr_job *job, size_t begin, size_t end,
                               void *thread_scratch) {
  const float *x = job->inputs[0]->data;
  float *y = job->outputs[0]->data, *scratch = thread_scratch;
  const size_t n = (size_t)smr_numel(job->outputs[0]);
  for (size_t t = begin; t < end; t++) {
    const size_t stop = (t + 1) * 256 < n ? (t + 1) * 256 : n;
    for (size_t i = t * 256; i < stop; i++) {
      if (x[i] < 0) SMR_FAIL(job->error, BAD_DATA, "element %zu is negative", i);
      scratch[i - t * 256] = x[i] + 1;
    }
    for (size_t i = t * 256; i < stop; i++) y[i] = scratch[i - t * 256];
  }
  return SAMARA_OK;
}

static const struct smr_op_funcs probe_funcs = {.prepare = probe_prepare, .run = probe_run};
static const struct smr_op probe_op = {.dtypes = UINT32_MAX,
                                       .name = "probe",
                                       .code = 9999,
                                       .min_inputs = 1,
                                       .max_inputs = 1,
                                       .min_outputs = 1,
                                       .max_outputs = 1,
                                       .funcs = &probe_funcs};

// x -> probe -> a -> probe -> b -> probe -> y, all [RUN_N].
static struct literal *chain(void) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_int(f, RUN_N);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t a = literal_map(f, &probe_op, "first", LITERAL_LIST(x), "a", n);
  const uint32_t b = literal_map(f, &probe_op, "second", LITERAL_LIST(a), "b", n);
  const uint32_t y = literal_map(f, &probe_op, "third", LITERAL_LIST(b), "y", n);
  literal_output(f, y, "y");
  return l;
}

static float *ramp(void) {
  float *x = malloc(RUN_N * sizeof *x);
  for (size_t i = 0; x != NULL && i < RUN_N; i++) x[i] = (float)(i % 1000);
  return x;
}

SMR_TEST(runs_a_chain_with_any_number_of_threads) {
  struct literal *l = chain();
  const samara_model *model = literal_finish(l);
  float *x = ramp();
  REQUIRE(x != NULL);
  for (size_t threads = 1; threads <= 4; threads++) {
    samara_pool *pool = literal_pool(threads);
    samara_session *s = literal_session(model, (samara_session_options){.pool = pool});
    CHECK_EQ_INT(samara_session_set_input(s, 0, x, RUN_N * sizeof *x), SAMARA_OK);
    CHECK_EQ_INT(samara_session_run(s), SAMARA_OK);
    samara_tensor y;
    REQUIRE(samara_session_output(s, 0, &y) == SAMARA_OK);
    CHECK_EQ_INT(y.rank, 1);
    CHECK_EQ_INT(y.shape[0], RUN_N);
    CHECK_EQ_INT(y.dtype, SAMARA_FLOAT32);
    bool same = true;
    for (size_t i = 0; i < RUN_N; i++) same = same && ((const float *)y.data)[i] == x[i] + 3;
    CHECK(same);
    samara_session_destroy(s);
    samara_pool_destroy(pool);
  }
  free(x);
  literal_free(l);
}

SMR_TEST(a_failure_names_function_node_and_lowest_element) {
  struct literal *l = chain();
  const samara_model *model = literal_finish(l);
  float *x = ramp();
  x[300] = -5;    // becomes -3 for the third node
  x[60000] = -2;  // becomes -1 for the second
  x[59999] = -2;
  for (size_t threads = 1; threads <= 4; threads += 3) {
    samara_pool *pool = literal_pool(threads);
    samara_session *s = literal_session(model, (samara_session_options){.pool = pool});
    CHECK_EQ_INT(samara_session_set_input(s, 0, x, RUN_N * sizeof *x), SAMARA_OK);
    for (int again = 0; again < 20; again++) {
      CHECK_EQ_INT(samara_session_run(s), SAMARA_BAD_DATA);
      CHECK_STR(samara_session_error(s),
                "function 'main', node 'first' (probe): element 300 is negative");
    }
    samara_tensor y;
    CHECK_EQ_INT(samara_session_output(s, 0, &y), SAMARA_BAD_STATE);
    x[300] = 1;
    x[59999] = x[60000] = 1;
    CHECK_EQ_INT(samara_session_set_input(s, 0, x, RUN_N * sizeof *x), SAMARA_OK);
    CHECK_EQ_INT(samara_session_run(s), SAMARA_OK);
    CHECK_STR(samara_session_error(s), "");
    CHECK_EQ_INT(samara_session_output(s, 0, &y), SAMARA_OK);
    x[300] = -5;
    samara_session_destroy(s);
    samara_pool_destroy(pool);
  }
  free(x);
  literal_free(l);
}

// ---- watch, cancel ----

struct watched {
  samara_session *session;
  char nodes[64];
  float first[4];
  int calls;
  int stop_at;    // returns nonzero there
  int cancel_at;  // cancels the session there
};

static int watch(void *user, const char *node, const char *const *names,
                 const samara_tensor *tensors, size_t count) {
  struct watched *w = user;
  if (w->calls < 4 && count == 1) w->first[w->calls] = ((const float *)tensors[0].data)[7];
  strncat(w->nodes, node, sizeof w->nodes - strlen(w->nodes) - 1);
  strncat(w->nodes, ">", sizeof w->nodes - strlen(w->nodes) - 1);
  strncat(w->nodes, names[0], sizeof w->nodes - strlen(w->nodes) - 1);
  strncat(w->nodes, " ", sizeof w->nodes - strlen(w->nodes) - 1);
  w->calls++;
  if (w->calls == w->cancel_at) samara_session_cancel(w->session);
  return w->calls == w->stop_at;
}

SMR_TEST(watch_sees_every_node_and_can_stop) {
  struct literal *l = chain();
  samara_session *s = literal_open(l);
  float *x = ramp();
  struct watched w = {.session = s};
  CHECK_EQ_INT(samara_session_watch(s, watch, &w), SAMARA_OK);
  CHECK_EQ_INT(samara_session_set_input(s, 0, x, RUN_N * sizeof *x), SAMARA_OK);
  CHECK_EQ_INT(samara_session_run(s), SAMARA_OK);
  CHECK_STR(w.nodes, "first>a second>b third>y ");
  CHECK_EQ_INT(w.first[0], 8);
  CHECK_EQ_INT(w.first[1], 9);
  CHECK_EQ_INT(w.first[2], 10);
  w = (struct watched){.session = s, .stop_at = 2};
  CHECK_EQ_INT(samara_session_run(s), SAMARA_CANCELLED);
  CHECK_EQ_INT(w.calls, 2);
  CHECK_CONTAINS(samara_session_error(s), "node 'second'");
  samara_session_watch(s, NULL, NULL);
  CHECK_EQ_INT(samara_session_run(s), SAMARA_OK);
  samara_session_destroy(s);
  free(x);
  literal_free(l);
}

SMR_TEST(cancel_stops_the_run_that_is_going_on_and_no_other) {
  struct literal *l = chain();
  samara_session *s = literal_open(l);
  samara_session_cancel(s);
  CHECK_EQ_INT(samara_session_run(s), SAMARA_OK);
  struct watched w = {.session = s, .cancel_at = 1};
  samara_session_watch(s, watch, &w);
  CHECK_EQ_INT(samara_session_run(s), SAMARA_CANCELLED);
  CHECK_EQ_INT(w.calls, 1);
  w.cancel_at = 0;
  CHECK_EQ_INT(samara_session_run(s), SAMARA_OK);
  samara_session_cancel(NULL);
  literal_close(s, l);
}

// ---- limits ----

SMR_TEST(max_steps_counts_nodes_of_one_run) {
  struct literal *l = chain();
  const samara_model *model = literal_finish(l);
  samara_session *s = literal_session(model, (samara_session_options){.max_steps = 3});
  CHECK_EQ_INT(samara_session_run(s), SAMARA_OK);
  CHECK_EQ_INT(samara_session_run(s), SAMARA_OK);
  samara_session_destroy(s);
  s = literal_session(model, (samara_session_options){.max_steps = 2});
  CHECK_EQ_INT(samara_session_run(s), SAMARA_LIMIT);
  CHECK_CONTAINS(samara_session_error(s), "node 'third' (probe): more than max_steps = 2");
  literal_close(s, l);
}

static int dawdle(void *user, const char *node, const char *const *names,
                  const samara_tensor *tensors, size_t count) {
  (void)node, (void)names, (void)tensors, (void)count;
  volatile unsigned *turns = user;
  while (*turns < 20 * 1000 * 1000) ++*turns;
  *turns = 0;
  return 0;
}

SMR_TEST(a_deadline_stops_a_late_run) {
  struct literal *l = chain();
  const samara_model *model = literal_finish(l);
  unsigned turns = 0;
  samara_session *s = literal_session(model, (samara_session_options){.deadline_us = 1000});
  samara_session_watch(s, dawdle, &turns);
  CHECK_EQ_INT(samara_session_run(s), SAMARA_LIMIT);
  CHECK_CONTAINS(samara_session_error(s), "deadline of 1000 us");
  samara_session_destroy(s);
  s = literal_session(model, (samara_session_options){.deadline_us = 3600u * 1000 * 1000});
  CHECK_EQ_INT(samara_session_run(s), SAMARA_OK);
  literal_close(s, l);
}

static atomic_size_t slow_tiles;

// A probe that takes a millisecond per tile.
static samara_status slow_run(const struct smr_job *job, size_t begin, size_t end,
                              void *thread_scratch) {
  for (size_t tile = begin; tile < end; tile++) {
    const uint64_t start = smr_os_now_ns();
    while (smr_os_now_ns() - start < 1000 * 1000) {
    }
    atomic_fetch_add(&slow_tiles, 1);
  }
  return probe_run(job, begin, end, thread_scratch);
}

SMR_TEST(a_deadline_stops_inside_a_node) {
  static const struct smr_op_funcs funcs = {.prepare = probe_prepare, .run = slow_run};
  struct smr_op slow = probe_op;
  slow.funcs = &funcs;
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_int(f, RUN_N);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t y = literal_map(f, &slow, "only", LITERAL_LIST(x), "y", n);
  literal_output(f, y, "y");
  const samara_model *model = literal_finish(l);
  for (size_t threads = 1; threads <= 2; threads++) {
    samara_pool *pool = literal_pool(threads);
    samara_session *s =
        literal_session(model, (samara_session_options){.pool = pool, .deadline_us = 20000});
    atomic_store(&slow_tiles, 0);
    CHECK_EQ_INT(samara_session_run(s), SAMARA_LIMIT);
    CHECK_CONTAINS(samara_session_error(s), "node 'only'");
    CHECK_CONTAINS(samara_session_error(s), "deadline of 20000 us");
    // 256 tiles would be all; each thread has time for 20, and finishes the one it is at.
    CHECK(atomic_load(&slow_tiles) <= 21 * threads);
    samara_session_destroy(s);
    samara_pool_destroy(pool);
  }
  literal_free(l);
}

// ---- threads of the caller ----

struct thread_hook {
  struct smr_os_thread threads[4];
  int started, refuse_from;
};

static int hook_spawn(void *user, void (*thread)(void *), void *arg) {
  struct thread_hook *hook = user;
  if (hook->started >= hook->refuse_from) return -1;
  return smr_os_thread_start(&hook->threads[hook->started++], thread, arg) ? 0 : -1;
}

static void hook_join(void *user) {
  struct thread_hook *hook = user;
  for (int i = 0; i < hook->started; i++) smr_os_thread_join(&hook->threads[i]);
}

SMR_TEST(threads_can_be_the_callers) {
  struct literal *l = chain();
  const samara_model *model = literal_finish(l);
  struct thread_hook hook = {.refuse_from = 4};
  const samara_pool_options options = {.struct_size = sizeof options,
                                       .threads = 3,
                                       .spawn = hook_spawn,
                                       .join = hook_join,
                                       .thread_user = &hook};
  samara_pool *pool = NULL;
  REQUIRE(samara_pool_create(&options, &pool, NULL) == SAMARA_OK);
  CHECK_EQ_INT(hook.started, 2);
  samara_session *s = literal_session(model, (samara_session_options){.pool = pool});
  samara_tensor y;
  CHECK_EQ_INT(samara_session_run(s), SAMARA_OK);
  CHECK_EQ_INT(samara_session_output(s, 0, &y), SAMARA_OK);
  CHECK_EQ_INT(((const float *)y.data)[RUN_N - 1], 3);
  samara_session_destroy(s);
  samara_pool_destroy(pool);
  literal_free(l);
}

SMR_TEST_MAIN(RUN(runs_a_chain_with_any_number_of_threads);
              RUN(a_failure_names_function_node_and_lowest_element);
              RUN(watch_sees_every_node_and_can_stop);
              RUN(cancel_stops_the_run_that_is_going_on_and_no_other);
              RUN(max_steps_counts_nodes_of_one_run); RUN(a_deadline_stops_a_late_run);
              RUN(a_deadline_stops_inside_a_node); RUN(threads_can_be_the_callers))
