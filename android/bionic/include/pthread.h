/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Android's <pthread.h> (API level 24 and later) that samara uses. */
#ifndef SAMARA_BIONIC_PTHREAD_H_
#define SAMARA_BIONIC_PTHREAD_H_

#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef long pthread_t;
#if defined(__LP64__)
typedef struct {
  int32_t __private[10];
} pthread_mutex_t;
typedef struct {
  int32_t __private[12];
} pthread_cond_t;
#else
typedef struct {
  int32_t __private[1];
} pthread_mutex_t;
typedef struct {
  int32_t __private[1];
} pthread_cond_t;
#endif
typedef long pthread_mutexattr_t;
typedef long pthread_condattr_t;
typedef int pthread_once_t;
typedef int pthread_key_t;
typedef struct {
  uint32_t flags;
  void *stack_base;
  size_t stack_size;
  size_t guard_size;
  int32_t sched_policy;
  int32_t sched_priority;
#if defined(__LP64__)
  char __reserved[16];
#endif
} pthread_attr_t;
#define PTHREAD_MUTEX_INITIALIZER {{0}}
#define PTHREAD_COND_INITIALIZER {{0}}
#define PTHREAD_ONCE_INIT 0

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                   void *arg);
int pthread_join(pthread_t thread, void **result);
pthread_t pthread_self(void);
int pthread_attr_init(pthread_attr_t *attr);
int pthread_attr_destroy(pthread_attr_t *attr);
int pthread_attr_setstacksize(pthread_attr_t *attr, size_t n);
int pthread_once(pthread_once_t *once, void (*run)(void));
int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr);
int pthread_mutex_destroy(pthread_mutex_t *mutex);
int pthread_mutex_lock(pthread_mutex_t *mutex);
int pthread_mutex_trylock(pthread_mutex_t *mutex);
int pthread_mutex_unlock(pthread_mutex_t *mutex);
int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr);
int pthread_cond_destroy(pthread_cond_t *cond);
int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                           const struct timespec *end);
int pthread_cond_signal(pthread_cond_t *cond);
int pthread_cond_broadcast(pthread_cond_t *cond);

#endif
