// SPDX-License-Identifier: Apache-2.0
/// Android's C library for 64 and 32-bit Arm over glibc: what glibc does not have, and what it lays
/// out otherwise. Threads are those of C11, so that none of the names here calls itself.
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

int *__errno(void) { return &errno; }

int __android_log_write(int priority, const char *tag, const char *text) {
  return printf("log %d %s: %s\n", priority, tag, text);
}

long sysconf(int name) {
  switch (name) {  // as Bionic counts them
    case 39:
    case 40:
      return getpagesize();
    case 96:
      return get_nprocs_conf();
    case 97:
      return get_nprocs();
    default:
      return -1;
  }
}

#if defined(__arm__)
int fstat(int fd, struct stat *facts) { return fstat64(fd, (struct stat64 *)facts); }
int stat(const char *path, struct stat *facts) { return stat64(path, (struct stat64 *)facts); }
#endif

// ---- mutexes: Bionic's are smaller, so each takes the number of one of glibc's ----

enum { MOST = 4096 };
static mtx_t mutexes[MOST];
static cnd_t conditions[MOST];
static atomic_int taken = 1;  // memory that is zero is a mutex that nobody used yet

static int number_of(void *memory) {
  _Atomic int *word = memory;
  int number = atomic_load(word);
  if (number != 0) return number;
  const int fresh = atomic_fetch_add(&taken, 1);
  if (fresh >= MOST) exit(4);
  mtx_init(&mutexes[fresh], mtx_plain);
  cnd_init(&conditions[fresh]);
  return atomic_compare_exchange_strong(word, &number, fresh) ? fresh : number;
}

static mtx_t *mutex_of(void *memory) { return &mutexes[number_of(memory)]; }
static cnd_t *condition_of(void *memory) { return &conditions[number_of(memory)]; }

int pthread_mutex_init(void *mutex, const void *attributes) {
  (void)attributes;
  *(int *)mutex = 0;
  return 0;
}
int pthread_mutex_destroy(void *mutex) { return (void)mutex, 0; }
int pthread_mutex_lock(void *mutex) {
  return mtx_lock(mutex_of(mutex)) == thrd_success ? 0 : EINVAL;
}
int pthread_mutex_trylock(void *mutex) {
  return mtx_trylock(mutex_of(mutex)) == thrd_success ? 0 : EBUSY;
}
int pthread_mutex_unlock(void *mutex) {
  return mtx_unlock(mutex_of(mutex)) == thrd_success ? 0 : EINVAL;
}

int pthread_cond_init(void *condition, const void *attributes) {
  return pthread_mutex_init(condition, attributes);
}
int pthread_cond_destroy(void *condition) { return (void)condition, 0; }
int pthread_cond_wait(void *condition, void *mutex) {
  return cnd_wait(condition_of(condition), mutex_of(mutex)) == thrd_success ? 0 : EINVAL;
}
int pthread_cond_timedwait(void *condition, void *mutex, const struct timespec *end) {
  const int status = cnd_timedwait(condition_of(condition), mutex_of(mutex), end);
  return status == thrd_success ? 0 : status == thrd_timedout ? ETIMEDOUT : EINVAL;
}
int pthread_cond_signal(void *condition) {
  return cnd_signal(condition_of(condition)) == thrd_success ? 0 : EINVAL;
}
int pthread_cond_broadcast(void *condition) {
  return cnd_broadcast(condition_of(condition)) == thrd_success ? 0 : EINVAL;
}

// ---- threads, with stacks of the usual size ----

struct start {
  void *(*run)(void *);
  void *argument;
};

static int begin(void *memory) {
  const struct start start = *(struct start *)memory;
  free(memory);
  start.run(start.argument);
  return 0;
}

int pthread_create(thrd_t *thread, const void *attributes, void *(*run)(void *), void *argument) {
  (void)attributes;
  struct start *start = malloc(sizeof *start);
  if (start == NULL) return EAGAIN;
  *start = (struct start){run, argument};
  return thrd_create(thread, begin, start) == thrd_success ? 0 : EAGAIN;
}
int pthread_join(thrd_t thread, void **result) {
  if (result != NULL) *result = NULL;
  return thrd_join(thread, NULL) == thrd_success ? 0 : EINVAL;
}
int pthread_attr_init(void *attributes) { return (void)attributes, 0; }
int pthread_attr_destroy(void *attributes) { return (void)attributes, 0; }
int pthread_attr_setstacksize(void *attributes, size_t size) {
  return (void)attributes, (void)size, 0;
}
