// SPDX-License-Identifier: Apache-2.0
// Runs in a thread of the session's own: order, answers, what is refused, cancelling, destroying.
#include "base/fp.h"

#include "harness.h"

#include "base/atomic.h"
#include "base/os.h"
#include "ops/table/opattrs.h"
#include "session/model_literal.h"

enum { ASYNC_N = 4, ASYNC_RUNS = 50 };

// main(x [4]) -> y = x + x.
static struct literal *doubling(void) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_symbol(f, "n", 0, 0, ASYNC_N);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t y = literal_map(f, smr_op_find(SMR_CODE_ADD), "add", LITERAL_LIST(x, x), "y", n);
  literal_output(f, y, "y");
  return l;
}

// What the callback saw. One thread at a time writes it.
struct told {
  int count;
  samara_status status, begun;
  float last;
  int more;  // runs that it begins itself
  SMR_ATOMIC(int) go;
};

static float first_output(samara_session *session) {
  samara_tensor t = {.data = NULL};
  return samara_session_output(session, 0, &t) == SAMARA_OK ? *(const float *)t.data : -1;
}

static void tell(void *user, samara_session *session, samara_status status) {
  struct told *told = user;
  told->count++;
  told->status = status;
  told->last = first_output(session);
  if (told->more > 0) {
    told->more--;
    const float x[ASYNC_N] = {told->last, 0, 0, 0};
    told->status = samara_session_set_input(session, 0, x, sizeof x);
    if (told->status == SAMARA_OK) told->status = samara_session_run_async(session, tell, told);
  }
}

SMR_TEST(runs_follow_each_other) {
  struct literal *l = doubling();
  samara_session *s = literal_open(l);
  struct told told = {.count = 0};
  samara_session_wait(s);  // there is no run
  for (int i = 0; i < ASYNC_RUNS; i++) {
    const float x[ASYNC_N] = {(float)i, 0, 0, 0};
    REQUIRE(samara_session_set_input(s, 0, x, sizeof x) == SAMARA_OK);
    CHECK_EQ_INT(samara_session_run_async(s, tell, &told), SAMARA_OK);
    samara_session_wait(s);
    CHECK_EQ_INT(told.count, i + 1);
    CHECK_EQ_INT(told.status, SAMARA_OK);
    CHECK(told.last == 2.0f * (float)i);
  }
  CHECK_EQ_INT(samara_session_run_async(s, NULL, NULL), SAMARA_OK);  // no callback
  samara_session_wait(s);
  CHECK(first_output(s) == 2.0f * (ASYNC_RUNS - 1));
  literal_close(s, l);
}

SMR_TEST(the_callback_begins_the_next_run) {
  struct literal *l = doubling();
  samara_session *s = literal_open(l);
  struct told told = {.more = 9};
  const float x[ASYNC_N] = {1, 0, 0, 0};
  REQUIRE(samara_session_set_input(s, 0, x, sizeof x) == SAMARA_OK);
  CHECK_EQ_INT(samara_session_run_async(s, tell, &told), SAMARA_OK);
  samara_session_wait(s);
  CHECK_EQ_INT(told.count, 10);
  CHECK(told.last == 1024.0f);
  literal_close(s, l);
}

// Holds the run that it watches until it may go on.
static int hold(void *user, const char *node, const char *const *names,
                const samara_tensor *tensors, size_t count) {
  struct told *told = user;
  (void)node, (void)names, (void)tensors, (void)count;
  while (SMR_ATOMIC_LOAD(&told->go) == 0) smr_os_thread_yield();
  return 0;
}

SMR_TEST(a_session_that_runs_takes_no_other_run) {
  struct literal *l = doubling();
  samara_session *s = literal_open(l);
  struct told told = {.count = 0};
  SMR_ATOMIC_STORE(&told.go, 0);
  CHECK_EQ_INT(samara_session_watch(s, hold, &told), SAMARA_OK);
  CHECK_EQ_INT(samara_session_run_async(s, tell, &told), SAMARA_OK);
  CHECK_EQ_INT(samara_session_run_async(s, tell, &told), SAMARA_BAD_STATE);
  SMR_ATOMIC_STORE(&told.go, 1);
  samara_session_wait(s);
  CHECK_EQ_INT(told.count, 1);
  CHECK_EQ_INT(told.status, SAMARA_OK);
  literal_close(s, l);
}

// Asks the run to stop, behind its first node.
static int cancel(void *user, const char *node, const char *const *names,
                  const samara_tensor *tensors, size_t count) {
  (void)node, (void)names, (void)tensors, (void)count;
  samara_session_cancel(user);
  return 0;
}

static struct literal *two_nodes(int64_t most) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_symbol(f, "n", 0, 0, most);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t s = literal_map(f, smr_op_find(SMR_CODE_ADD), "add", LITERAL_LIST(x, x), "s", n);
  const uint32_t y = literal_map(f, smr_op_find(SMR_CODE_RELU), "relu", LITERAL_LIST(s), "y", n);
  literal_output(f, y, "y");
  return l;
}

SMR_TEST(a_run_is_cancelled) {
  struct literal *l = two_nodes(ASYNC_N);
  samara_session *s = literal_open(l);
  struct told told = {.count = 0};
  CHECK_EQ_INT(samara_session_watch(s, cancel, s), SAMARA_OK);
  CHECK_EQ_INT(samara_session_run_async(s, tell, &told), SAMARA_OK);
  samara_session_wait(s);
  CHECK_EQ_INT(told.status, SAMARA_CANCELLED);
  CHECK_EQ_INT(samara_session_watch(s, NULL, NULL), SAMARA_OK);
  CHECK_EQ_INT(samara_session_run_async(s, tell, &told), SAMARA_OK);
  samara_session_wait(s);
  CHECK_EQ_INT(told.status, SAMARA_OK);
  literal_close(s, l);
}

// Begins the next run and cancels it before the thread, which runs this callback, can take it.
static void cancel_the_next(void *user, samara_session *session, samara_status status) {
  struct told *told = user;
  told->count++;
  told->status = status;
  if (told->count > 1) return;
  told->begun = samara_session_run_async(session, cancel_the_next, told);
  samara_session_cancel(session);
}

SMR_TEST(a_run_is_cancelled_before_it_is_taken) {
  struct literal *l = two_nodes(ASYNC_N);
  samara_session *s = literal_open(l);
  struct told told = {.count = 0};
  CHECK_EQ_INT(samara_session_run_async(s, cancel_the_next, &told), SAMARA_OK);
  samara_session_wait(s);
  CHECK_EQ_INT(told.begun, SAMARA_OK);
  CHECK_EQ_INT(told.count, 2);
  CHECK_EQ_INT(told.status, SAMARA_CANCELLED);
  // Only that run is cancelled.
  samara_session_cancel(s);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK_EQ_INT(samara_session_run_async(s, tell, &told), SAMARA_OK);
  samara_session_wait(s);
  CHECK_EQ_INT(told.status, SAMARA_OK);
  literal_close(s, l);
}

// Without shapes a run is refused before it starts. Cancelling it does not cancel a later one.
SMR_TEST(a_cancelled_run_that_is_refused) {
  struct literal *l = two_nodes(INT64_MAX);
  samara_session *s = literal_open(l);
  struct told told = {.count = 0};
  const int64_t n = ASYNC_N;
  CHECK_EQ_INT(samara_session_run_async(s, cancel_the_next, &told), SAMARA_OK);
  samara_session_wait(s);
  CHECK_EQ_INT(told.count, 2);
  CHECK_EQ_INT(told.status, SAMARA_BAD_STATE);
  CHECK_EQ_INT(literal_resize(s, 0, n), SAMARA_OK);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  literal_close(s, l);
}

SMR_TEST(destroying_waits_for_the_run) {
  for (int i = 0; i < ASYNC_RUNS; i++) {
    struct literal *l = doubling();
    samara_session *s = literal_open(l);
    struct told told = {.count = 0};
    CHECK_EQ_INT(samara_session_run_async(s, tell, &told), SAMARA_OK);
    literal_close(s, l);
    CHECK_EQ_INT(told.count, 1);
  }
}

SMR_TEST(null_is_refused) {
  CHECK_EQ_INT(samara_session_run_async(NULL, NULL, NULL), SAMARA_BAD_ARGUMENT);
  samara_session_wait(NULL);
}

SMR_TEST_MAIN(RUN(runs_follow_each_other); RUN(the_callback_begins_the_next_run);
              RUN(a_session_that_runs_takes_no_other_run); RUN(a_run_is_cancelled);
              RUN(a_run_is_cancelled_before_it_is_taken); RUN(a_cancelled_run_that_is_refused);
              RUN(destroying_waits_for_the_run); RUN(null_is_refused))
