// SPDX-License-Identifier: Apache-2.0
// Sessions of one model in several threads, with a pool they share: the same bits as alone.
//
// SAMARA_FILES names models, separated by colons; without it the fuzzers' corpus is used.
#include "base/fp.h"

#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "base/fnv.h"
#include "base/os.h"

enum { THREADS_COUNT = 2, THREADS_RUNS = 3, THREADS_PATH = 4096 };

static const char *const threads_corpus[] = {"sample", "packed", "stages", "control"};

struct threads_runner {
  const samara_model *model;
  samara_pool *pool;
  uint64_t digest;  // of statuses and outputs of all runs
};

static void threads_fill(const samara_tensor *t) {
  const bool is_float = t->dtype == SAMARA_FLOAT32;
  const size_t count = is_float ? t->size_bytes / sizeof(float) : t->size_bytes;
  for (size_t i = 0; i < count; i++) {
    if (is_float)
      ((float *)t->data)[i] = (float)(i % 17) * 0.125f - 1;
    else
      ((uint8_t *)t->data)[i] = (uint8_t)(i % 2);
  }
}

// Create, run and destroy: packing of weights happens in all threads at once.
static void threads_run(void *argument) {
  struct threads_runner *r = (struct threads_runner *)argument;
  r->digest = SMR_FNV_START;
  samara_session *session = NULL;
  const samara_session_options options = {.struct_size = sizeof options, .pool = r->pool};
  samara_status status = samara_session_create(r->model, &options, &session, NULL);
  r->digest = smr_fnv(r->digest, &status, sizeof status);
  if (session == NULL) return;
  for (int run = 0; run < THREADS_RUNS; run++) {
    samara_tensor t;
    for (size_t i = 0; i < samara_model_input_count(r->model, NULL); i++)
      if (samara_session_input(session, i, &t) == SAMARA_OK) threads_fill(&t);
    status = samara_session_run(session);
    r->digest = smr_fnv(r->digest, &status, sizeof status);
    for (size_t i = 0; i < samara_model_output_count(r->model, NULL); i++)
      if (samara_session_output(session, i, &t) == SAMARA_OK && t.size_bytes != 0)
        r->digest = smr_fnv(r->digest, t.data, t.size_bytes);
  }
  samara_session_destroy(session);
}

static void threads_check(const char *path) {
  samara_model *model = NULL;
  samara_error error = {.text = ""};
  if (!CHECK_EQ_INT(samara_model_open_path(path, NULL, &model, &error), SAMARA_OK)) {
    fprintf(stderr, "  %s: %s\n", path, error.text);
    return;
  }
  samara_pool *pool = NULL;
  const samara_pool_options options = {.struct_size = sizeof options, .threads = 2};
  CHECK_EQ_INT(samara_pool_create(&options, &pool, NULL), SAMARA_OK);
  struct threads_runner runners[THREADS_COUNT];
  struct smr_os_thread threads[THREADS_COUNT];
  for (int i = 0; i < THREADS_COUNT; i++) {
    runners[i] = (struct threads_runner){.model = model, .pool = pool};
    CHECK(smr_os_thread_start(&threads[i], threads_run, &runners[i]));
  }
  for (int i = 0; i < THREADS_COUNT; i++) smr_os_thread_join(&threads[i]);
  struct threads_runner alone = {.model = model};
  threads_run(&alone);
  for (int i = 0; i < THREADS_COUNT; i++) CHECK(runners[i].digest == alone.digest);
  samara_pool_destroy(pool);
  samara_model_close(model);
}

SMR_TEST(sessions_of_one_model_do_not_meet) {
  char path[THREADS_PATH];
  const char *files = getenv("SAMARA_FILES");
  if (files == NULL || *files == '\0') {
    for (size_t i = 0; i < sizeof threads_corpus / sizeof *threads_corpus; i++) {
      snprintf(path, sizeof path, "%s/runtime_c/fuzz/corpus/run/%s.samara", SMR_REPO_DIR,
               threads_corpus[i]);
      threads_check(path);
    }
    return;
  }
  for (const char *at = files; *at != '\0';) {
    const size_t length = strcspn(at, ":");
    REQUIRE(length < sizeof path);
    memcpy(path, at, length);
    path[length] = '\0';
    threads_check(path);
    at += length + (at[length] == ':');
  }
}

SMR_TEST_MAIN(RUN(sessions_of_one_model_do_not_meet))
