/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Android's <sched.h> (API level 24 and later) that samara uses. */
#ifndef SAMARA_BIONIC_SCHED_H_
#define SAMARA_BIONIC_SCHED_H_

#include <stddef.h>
#include <sys/types.h>

#if defined(__LP64__)
#define CPU_SETSIZE 1024
#else
#define CPU_SETSIZE 32
#endif
typedef struct {
  unsigned long __bits[CPU_SETSIZE / (8 * sizeof(long))];
} cpu_set_t;
#define CPU_COUNT(set) __sched_cpucount(sizeof(cpu_set_t), set)

int __sched_cpucount(size_t n, const cpu_set_t *set);
int sched_getaffinity(pid_t pid, size_t n, cpu_set_t *set);
int sched_yield(void);

#endif
