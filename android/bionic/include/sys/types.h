/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Android's <sys/types.h> (API level 24 and later) that samara uses. */
#ifndef SAMARA_BIONIC_SYS_TYPES_H_
#define SAMARA_BIONIC_SYS_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__LP64__)
typedef long ssize_t;
#else
typedef int ssize_t;
#endif
/* 64 bits in every ABI: functions that take it are declared in their large-file variants. */
typedef int64_t off_t;
typedef int pid_t;
typedef unsigned int uid_t, gid_t, mode_t;
#if defined(__LP64__)
typedef unsigned long dev_t, ino_t;
#else
typedef unsigned int dev_t;
typedef unsigned long ino_t;
#endif
typedef long time_t;
typedef int clockid_t;

#endif
