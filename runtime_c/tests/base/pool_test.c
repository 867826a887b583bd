// SPDX-License-Identifier: Apache-2.0
// The pool runs every tile once, whatever the threads do, and runs inline if necessary.
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE
#endif
#include "base/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/stack_pages.h"
#include "harness.h"

struct cover {
  samara_pool *pool;
  size_t tiles, threads;
  unsigned char *hits;  // plain bytes: disjoint ranges never meet, which TSan confirms
  atomic_size_t calls, bad_thread, nested_calls;
};

static void cover_range(void *context, size_t begin, size_t end, size_t thread) {
  struct cover *cover = context;
  atomic_fetch_add(&cover->calls, 1);
  if (thread >= cover->threads) atomic_fetch_add(&cover->bad_thread, 1);
  for (size_t i = begin; i < end; i++) cover->hits[i]++;
}

static void check_cover(samara_pool *pool, size_t tiles) {
  struct cover cover = {.pool = pool, .tiles = tiles, .threads = samara_pool_threads(pool)};
  cover.hits = calloc(tiles + 1, 1);
  smr_pool_run(pool, tiles, cover_range, &cover);
  size_t wrong = 0;
  for (size_t i = 0; i < tiles; i++) wrong += cover.hits[i] != 1;
  CHECK_EQ_INT(wrong, 0);
  CHECK_EQ_INT(cover.bad_thread, 0);
  if (tiles == 0) CHECK_EQ_INT(cover.calls, 0);
  free(cover.hits);
}

static samara_pool *pool_of(size_t threads) {
  samara_pool *pool = NULL;
  const samara_pool_options options = {.struct_size = sizeof options, .threads = threads};
  if (!CHECK_EQ_INT(samara_pool_create(&options, &pool, NULL), SAMARA_OK)) abort();
  return pool;
}

SMR_TEST(covers_every_tile_once) {
  for (size_t threads = 1; threads <= 5; threads += 2) {
    samara_pool *pool = pool_of(threads);
    CHECK_EQ_INT(samara_pool_threads(pool), threads);
    static const size_t sizes[] = {0, 1, 2, 3, 7, 16, 17, 100, 1000};
    for (int round = 0; round < 200; round++) check_cover(pool, sizes[round % 9]);
    samara_pool_destroy(pool);
  }
}

// More threads than cores, and jobs that end before most threads wake: a late thread must not take
// tiles of the next job.
SMR_TEST(late_workers_do_no_harm) {
  samara_pool *pool = pool_of(8);
  unsigned char hits[40];
  size_t wrong = 0;
  for (size_t round = 0; round < 20000; round++) {
    const size_t tiles = 2 + round * 7 % (sizeof hits - 1);
    memset(hits, 0, sizeof hits);
    struct cover cover = {.pool = pool, .tiles = tiles, .threads = 8, .hits = hits};
    smr_pool_run(pool, tiles, cover_range, &cover);
    for (size_t i = 0; i < sizeof hits; i++) wrong += hits[i] != (i < tiles);
    wrong += cover.bad_thread;
  }
  CHECK_EQ_INT(wrong, 0);
  samara_pool_destroy(pool);
}

struct firsts {
  size_t begins[2];  // of the first range of each thread; SIZE_MAX: it had none
};

static void note_first(void *context, size_t begin, size_t end, size_t thread) {
  struct firsts *firsts = context;
  (void)end;
  if (firsts->begins[thread] == SIZE_MAX) firsts->begins[thread] = begin;
  usleep(200);  // time for the other to come
}

// A thread begins at the same tile in every run.
SMR_TEST(threads_keep_their_part) {
  samara_pool *pool = pool_of(2);
  int own = 0;
  for (int round = 0; round < 50 && own < 10; round++) {
    struct firsts firsts = {{SIZE_MAX, SIZE_MAX}};
    smr_pool_run(pool, 96, note_first, &firsts);
    CHECK_EQ_INT(firsts.begins[0], 0);
    own += firsts.begins[1] == 48;  // not when the worker came after the caller had taken all
  }
  CHECK_EQ_INT(own, 10);
  samara_pool_destroy(pool);
}

// Workers fall asleep between the runs.
SMR_TEST(wakes_sleepers) {
  samara_pool *pool = pool_of(3);
  for (int round = 0; round < 20; round++) {
    usleep(2000);
    check_cover(pool, 64);
  }
  samara_pool_destroy(pool);
}

static void slow_range(void *context, size_t begin, size_t end, size_t thread) {
  usleep(thread == 0 ? 300 : 3000);
  cover_range(context, begin, end, thread);
}

// The caller runs out of tiles first and has to wait for the others, asleep.
SMR_TEST(waits_for_slow_workers) {
  samara_pool *pool = pool_of(4);
  struct cover cover = {.pool = pool, .tiles = 40, .threads = 4, .hits = calloc(40, 1)};
  smr_pool_run(pool, 40, slow_range, &cover);
  for (int i = 0; i < 40; i++) CHECK_EQ_INT(cover.hits[i], 1);
  free(cover.hits);
  samara_pool_destroy(pool);
}

static void nested_inner(void *context, size_t begin, size_t end, size_t thread) {
  struct cover *cover = context;
  CHECK(begin == 0 && end == 10 && thread == 0);
  atomic_fetch_add(&cover->nested_calls, 1);
}

static void nested_outer(void *context, size_t begin, size_t end, size_t thread) {
  struct cover *cover = context;
  cover_range(context, begin, end, thread);
  if (thread == 0 && begin == 0) smr_pool_run(cover->pool, 10, nested_inner, cover);
}

SMR_TEST(busy_runs_inline) {
  samara_pool *pool = pool_of(2);
  size_t inline_runs = 0;
  for (int round = 0; round < 50; round++) {
    struct cover cover = {.pool = pool, .tiles = 8, .threads = 2, .hits = calloc(8, 1)};
    smr_pool_run(pool, 8, nested_outer, &cover);
    for (int i = 0; i < 8; i++) CHECK_EQ_INT(cover.hits[i], 1);
    inline_runs += cover.nested_calls;  // one call, if thread 0 took the first tile
    CHECK(cover.nested_calls <= 1);
    free(cover.hits);
  }
  CHECK(inline_runs > 0);
  samara_pool_destroy(pool);
}

static void *run_many(void *argument) {
  for (int i = 0; i < 300; i++) {
    struct cover cover = {.pool = argument, .tiles = 33, .threads = 3, .hits = calloc(33, 1)};
    smr_pool_run(argument, 33, cover_range, &cover);
    size_t wrong = 0;
    for (int j = 0; j < 33; j++) wrong += cover.hits[j] != 1;
    free(cover.hits);
    if (wrong != 0) return argument;
  }
  return NULL;
}

SMR_TEST(shared_by_sessions_of_several_threads) {
  samara_pool *pool = pool_of(3);
  pthread_t callers[3];
  for (int i = 0; i < 3; i++) CHECK_EQ_INT(pthread_create(&callers[i], NULL, run_many, pool), 0);
  for (int i = 0; i < 3; i++) {
    void *failed = NULL;
    pthread_join(callers[i], &failed);
    CHECK(failed == NULL);
  }
  samara_pool_destroy(pool);
}

static void inline_range(void *context, size_t begin, size_t end, size_t thread) {
  size_t *seen = context;
  seen[0]++;
  seen[1] = begin;
  seen[2] = end;
  seen[3] = thread;
}

SMR_TEST(no_pool_runs_inline) {
  size_t seen[4] = {0, 1, 0, 1};
  smr_pool_run(NULL, 9, inline_range, seen);
  CHECK(seen[0] == 1 && seen[1] == 0 && seen[2] == 9 && seen[3] == 0);
  CHECK_EQ_INT(samara_pool_threads(NULL), 1);
  samara_pool_destroy(NULL);
}

SMR_TEST(forked_child_runs_inline) {
#if defined(__SANITIZE_THREAD__)
  SKIP("ThreadSanitizer does not follow forks of threaded programs");
#else
  samara_pool *pool = pool_of(3);
  check_cover(pool, 50);
  const pid_t child = fork();
  if (child == 0) {
    size_t seen[4] = {0};
    smr_pool_run(pool, 9, inline_range, seen);
    samara_pool_destroy(pool);  // must not wait for threads that did not start
    _exit(seen[0] == 1 && seen[2] == 9 ? 0 : 1);
  }
  int status = 1;
  REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  check_cover(pool, 50);
  samara_pool_destroy(pool);
#endif
}

struct hooks {
  pthread_t threads[8];
  size_t started, limit;
  int joined;
  struct {
    void (*thread)(void *arg);
    void *arg;
    size_t mapped;  // pages of its stack, at its end
  } start[8];
};

static void *hook_main(void *argument) {
  struct hooks *hooks = ((void **)argument)[0];
  const size_t i = (size_t)(uintptr_t)((void **)argument)[1];
  free(argument);
  hooks->start[i].thread(hooks->start[i].arg);
  hooks->start[i].mapped = stack_pages_mapped();
  return NULL;
}

static int hook_spawn(void *user, void (*thread)(void *arg), void *arg) {
  struct hooks *hooks = user;
  if (hooks->started == hooks->limit) return 1;
  hooks->start[hooks->started].thread = thread;
  hooks->start[hooks->started].arg = arg;
  void **argument = malloc(2 * sizeof *argument);
  argument[0] = hooks;
  argument[1] = (void *)(uintptr_t)hooks->started;
  if (pthread_create(&hooks->threads[hooks->started], NULL, hook_main, argument) != 0) return 1;
  hooks->started++;
  return 0;
}

static void hook_join(void *user) {
  struct hooks *hooks = user;
  for (size_t i = 0; i < hooks->started; i++) pthread_join(hooks->threads[i], NULL);
  hooks->joined++;
}

SMR_TEST(callers_threads) {
  struct hooks hooks = {.limit = 8};
  samara_pool *pool = NULL;
  samara_pool_options options = {.struct_size = sizeof options,
                                 .threads = 4,
                                 .spawn = hook_spawn,
                                 .join = hook_join,
                                 .thread_user = &hooks};
  REQUIRE(samara_pool_create(&options, &pool, NULL) == SAMARA_OK);
  CHECK_EQ_INT(hooks.started, 3);
  for (int i = 0; i < 50; i++) check_cover(pool, 41);
  samara_pool_destroy(pool);
  CHECK_EQ_INT(hooks.joined, 1);
  for (size_t i = 0; stack_pages_known() && i < hooks.started; i++)
    CHECK_EQ_INT(hooks.start[i].mapped, STACK_PAGES);
}

SMR_TEST(gives_up_when_threads_are_refused) {
  struct hooks hooks = {.limit = 2};
  samara_pool *pool = (samara_pool *)&hooks;
  samara_error error;
  samara_pool_options options = {.struct_size = sizeof options,
                                 .threads = 4,
                                 .spawn = hook_spawn,
                                 .join = hook_join,
                                 .thread_user = &hooks};
  CHECK_EQ_INT(samara_pool_create(&options, &pool, &error), SAMARA_UNSUPPORTED);
  CHECK(pool == NULL);
  CHECK_EQ_INT(hooks.joined, 1);
  CHECK_CONTAINS(error.text, "thread 4 of 4");
}

static void *no_memory(void *user, size_t size) {
  (void)user, (void)size;
  return NULL;
}
static void no_release(void *user, void *pointer) { (void)user, (void)pointer; }

SMR_TEST(refuses_bad_options) {
  samara_pool *pool = NULL;
  samara_error error;
  samara_pool_options options = {.struct_size = sizeof options, .threads = 100000};
  CHECK_EQ_INT(samara_pool_create(&options, &pool, &error), SAMARA_BAD_ARGUMENT);
  options.threads = 2;
  options.spawn = hook_spawn;
  CHECK_EQ_INT(samara_pool_create(&options, &pool, &error), SAMARA_BAD_ARGUMENT);
  options.spawn = NULL;
  const samara_allocator none = {no_memory, no_release, NULL};
  options.allocator = &none;
  CHECK_EQ_INT(samara_pool_create(&options, &pool, &error), SAMARA_OUT_OF_MEMORY);
  CHECK_EQ_INT(samara_pool_create(&options, NULL, &error), SAMARA_BAD_ARGUMENT);
  CHECK(pool == NULL);
  CHECK_EQ_INT(samara_pool_create(NULL, &pool, &error), SAMARA_OK);
  CHECK(samara_pool_threads(pool) >= 1 && samara_pool_threads(pool) <= 4);
  samara_pool_destroy(pool);
}

SMR_TEST_MAIN(RUN(covers_every_tile_once); RUN(late_workers_do_no_harm);
              RUN(threads_keep_their_part); RUN(wakes_sleepers); RUN(waits_for_slow_workers);
              RUN(busy_runs_inline); RUN(shared_by_sessions_of_several_threads);
              RUN(no_pool_runs_inline); RUN(forked_child_runs_inline); RUN(callers_threads);
              RUN(gives_up_when_threads_are_refused); RUN(refuses_bad_options))
