// SPDX-License-Identifier: Apache-2.0
// Uses a library of the runtime for long, and prints what it took as JSON:
//
//   reliability soak LIBRARY MODEL SECONDS THREADS
//   reliability signals LIBRARY MODEL SECONDS
//   reliability reload LIBRARY MODEL TIMES
//
// The model has one input of float32, which is filled with ones. Every run must give the bits of
// the first.

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <samara/samara.h>

#define EACH(X)                       \
  X(samara_model_open_path)           \
  X(samara_model_open_memory)         \
  X(samara_model_close)               \
  X(samara_session_create)            \
  X(samara_session_destroy)           \
  X(samara_session_input)             \
  X(samara_session_run)               \
  X(samara_session_output)            \
  X(samara_session_reset)             \
  X(samara_session_state_save_memory) \
  X(samara_session_state_load_memory) \
  X(samara_pool_create)               \
  X(samara_pool_destroy)

struct library {
  void *handle;
#define FIELD(name) __typeof__(name) *name;
  EACH(FIELD)
#undef FIELD
};

enum { MOST_THREADS = 64, OUTPUT_BYTES = 4096, STATE_BYTES = 16384, RUNS = 3 };

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static void need(bool condition, const char *what) {
  if (!condition) fail(what);
}

static struct library library_open(const char *path) {
  struct library l = {.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
  if (l.handle == NULL) fail(dlerror());
#define FIND(name)                              \
  *(void **)(&l.name) = dlsym(l.handle, #name); \
  need(l.name != NULL, #name " is missing");
  EACH(FIND)
#undef FIND
  return l;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// ---- what the process holds

static long entries(const char *path) {
  long n = 0;
  DIR *folder = opendir(path);
  while (folder != NULL && readdir(folder) != NULL) n++;
  if (folder != NULL) closedir(folder);
  return n;
}

static long maps_of(const char *name) {
  char line[1024];
  long n = 0;
  FILE *file = fopen("/proc/self/maps", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) n += strstr(line, name) != NULL;
  if (file != NULL) fclose(file);
  return n;
}

static long resident_kib(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  need(file != NULL && fscanf(file, "%ld %ld", &pages, &resident) == 2, "there is no statm");
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

// The signals with handlers, without the two that the C library keeps to itself.
static unsigned long long caught_signals(void) {
  const unsigned long long of_libc = 3ull << 31;
  char line[256];
  unsigned long long set = 0;
  FILE *file = fopen("/proc/self/status", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    (void)sscanf(line, "SigCgt: %llx", &set);
  if (file != NULL) fclose(file);
  return set & ~of_libc;
}

// Bytes that malloc has given and not got back. There is one arena: others count as given.
static long live_bytes(void) {
  const struct mallinfo2 info = mallinfo2();
  return (long)(info.uordblks + info.hblkhd);
}

// ---- one use of everything

struct user {
  const struct library *l;
  const char *path;
  samara_pool *pool;
  double until;
  long rounds;
  size_t size;
  unsigned char expected[OUTPUT_BYTES], state[STATE_BYTES];
};

static void use_session(struct user *u, samara_session *session) {
  const struct library *l = u->l;
  samara_tensor input, output;
  need(l->samara_session_input(session, 0, &input) == SAMARA_OK, "no input");
  for (size_t i = 0; i < input.size_bytes / sizeof(float); i++) ((float *)input.data)[i] = 1.0f;
  for (int i = 0; i < RUNS; i++) {
    need(l->samara_session_run(session) == SAMARA_OK, "a run failed");
    need(l->samara_session_output(session, 0, &output) == SAMARA_OK, "no output");
    need(output.size_bytes <= OUTPUT_BYTES, "the output is large");
    if (u->size == 0) {
      u->size = output.size_bytes;
      memcpy(u->expected, output.data, u->size);
    }
    need(memcmp(u->expected, output.data, u->size) == 0, "another answer");
  }
  size_t size = 0;
  need(l->samara_session_state_save_memory(session, u->state, STATE_BYTES, &size) == SAMARA_OK,
       "save");
  need(l->samara_session_reset(session) == SAMARA_OK, "reset");
  need(l->samara_session_state_load_memory(session, u->state, size) == SAMARA_OK, "load");
  need(l->samara_session_state_load_memory(session, u->state, size - 1) != SAMARA_OK,
       "a cut state");
}

static void use(struct user *u) {
  const struct library *l = u->l;
  samara_error error;
  samara_model *model = NULL;
  samara_session *session = NULL;
  if (l->samara_model_open_path(u->path, NULL, &model, &error) != SAMARA_OK) fail(error.text);
  const samara_session_options options = {.struct_size = sizeof options, .pool = u->pool};
  if (l->samara_session_create(model, &options, &session, &error) != SAMARA_OK) fail(error.text);
  use_session(u, session);
  l->samara_session_destroy(session);
  l->samara_model_close(model);
  need(l->samara_model_open_memory("no model", 8, NULL, &model, &error) != SAMARA_OK,
       "no model is one");
  u->rounds++;
}

static void *use_long(void *user) {
  struct user *u = user;
  do use(u);
  while (now() < u->until);
  return NULL;
}

static samara_pool *pool_of(const struct library *l, size_t threads) {
  samara_pool *pool = NULL;
  const samara_pool_options options = {.struct_size = sizeof options, .threads = threads};
  need(l->samara_pool_create(&options, &pool, NULL) == SAMARA_OK, "no pool");
  return pool;
}

// ---- soak

// Use the library in so many threads for so long; returns the rounds of all. `resident`: the
// largest resident memory in the first quarter of the time and in the last one.
static long in_threads(const struct user *like, int count, double seconds, long resident[2]) {
  static struct user users[MOST_THREADS];
  pthread_t threads[MOST_THREADS];
  const double begin = now();
  for (int i = 0; i < count; i++) {
    users[i] = *like;
    users[i].rounds = 0;
    users[i].until = begin + seconds;
    if (i % 2 != 0) users[i].pool = NULL;
    need(pthread_create(&threads[i], NULL, use_long, &users[i]) == 0, "no thread");
  }
  resident[0] = resident[1] = 0;
  for (double t = 0; (t = now() - begin) < seconds;) {
    const long held = resident_kib();
    if (t < seconds / 4 && held > resident[0]) resident[0] = held;
    if (t > seconds * 3 / 4 && held > resident[1]) resident[1] = held;
    usleep(20000);
  }
  long rounds = 0;
  for (int i = 0; i < count; i++) {
    need(pthread_join(threads[i], NULL) == 0, "no join");
    rounds += users[i].rounds;
  }
  return rounds;
}

static void soak(const char *path, const char *model, double seconds, int threads) {
  const struct library l = library_open(path);
  need(threads >= 1 && threads <= MOST_THREADS, "too many threads");
  struct user u = {.l = &l, .path = model, .pool = pool_of(&l, 2)};
  long resident[2], first[4], last[4];
  use(&u);
  in_threads(&u, threads, 0, resident);
  for (int i = 0; i < 2; i++) {
    long *held = i == 0 ? first : last;
    if (i == 1) u.rounds = in_threads(&u, threads, seconds, resident);
    held[0] = live_bytes();
    held[1] = entries("/proc/self/fd");
    held[2] = entries("/proc/self/task");
    held[3] = maps_of(model);
  }
  printf(
      "{\"rounds\": %ld, \"resident_kib\": [%ld, %ld], \"live_bytes\": [%ld, %ld], "
      "\"files\": [%ld, %ld], \"threads\": [%ld, %ld], \"mappings\": [%ld, %ld]}\n",
      u.rounds, resident[0], resident[1], first[0], last[0], first[1], last[1], first[2], last[2],
      first[3], last[3]);
  l.samara_pool_destroy(u.pool);
}

// ---- signals

static atomic_long arrived;

static void count_signal(int number) {
  (void)number;
  atomic_fetch_add(&arrived, 1);
}

static void signals(const char *path, const char *model, double seconds) {
  const unsigned long long before = caught_signals();
  const struct library l = library_open(path);
  struct user u = {.l = &l, .path = model, .pool = pool_of(&l, 4)};
  use(&u);
  const bool alone = caught_signals() == before;
  struct sigaction action = {.sa_handler = count_signal};  // system calls are not restarted
  need(sigaction(SIGALRM, &action, NULL) == 0, "no handler");
  const struct itimerval each = {{0, 300}, {0, 300}};
  need(setitimer(ITIMER_REAL, &each, NULL) == 0, "no timer");
  u.until = now() + seconds;
  use_long(&u);
  printf("{\"rounds\": %ld, \"signals\": %ld, \"handlers_untouched\": %s}\n", u.rounds,
         atomic_load(&arrived), alone ? "true" : "false");
  l.samara_pool_destroy(u.pool);
}

// ---- reload

static void reload(const char *path, const char *model, int times) {
  struct user u = {.path = model};
  long resident[2] = {0, 0}, live[2] = {0, 0};
  for (int i = 0; i < times; i++) {
    const struct library l = library_open(path);
    u.l = &l;
    u.pool = pool_of(&l, 4);
    use(&u);
    l.samara_pool_destroy(u.pool);
    need(dlclose(l.handle) == 0, "dlclose");
    resident[i >= times / 2] = resident_kib();
    live[i >= times / 2] = live_bytes();
  }
  const char *slash = strrchr(path, '/');
  printf(
      "{\"rounds\": %ld, \"mapped\": %ld, \"threads\": %ld, \"resident_kib\": [%ld, %ld], "
      "\"live_bytes\": [%ld, %ld]}\n",
      u.rounds, maps_of(slash != NULL ? slash + 1 : path), entries("/proc/self/task") - 2,
      resident[0], resident[1], live[0], live[1]);
}

int main(int argc, char **argv) {
  mallopt(M_ARENA_MAX, 1);
  need(argc >= 5, "reliability soak|signals|reload LIBRARY MODEL NUMBER [THREADS]");
  if (strcmp(argv[1], "soak") == 0)
    soak(argv[2], argv[3], atof(argv[4]), argc > 5 ? atoi(argv[5]) : 16);
  else if (strcmp(argv[1], "signals") == 0)
    signals(argv[2], argv[3], atof(argv[4]));
  else
    reload(argv[2], argv[3], atoi(argv[4]));
  return 0;
}
