/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Android's <time.h> (API level 24 and later) that samara uses. */
#ifndef SAMARA_BIONIC_TIME_H_
#define SAMARA_BIONIC_TIME_H_

#include <sys/types.h>

struct timespec {
  time_t tv_sec;
  long tv_nsec;
};
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1

int clock_gettime(clockid_t clock, struct timespec *now);
int nanosleep(const struct timespec *wanted, struct timespec *left);
time_t time(time_t *now);

#endif
