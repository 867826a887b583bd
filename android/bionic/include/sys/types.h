/* SPDX-License-Identifier: Apache-2.0 */
/* Types of the system, as Android's C library has it from API level 24 on: what samara calls, and
 * no more. */
#ifndef SAMARA_BIONIC_SYS_TYPES_H_
#define SAMARA_BIONIC_SYS_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__LP64__)
typedef long ssize_t;
#else
typedef int ssize_t;
#endif
/* Functions that take it are those for files of any size, whatever the ABI. */
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
