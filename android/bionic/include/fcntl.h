/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Android's <fcntl.h> (API level 24 and later) that samara uses. */
#ifndef SAMARA_BIONIC_FCNTL_H_
#define SAMARA_BIONIC_FCNTL_H_

#include <sys/types.h>

#define O_RDONLY 0
#define O_WRONLY 1
#define O_RDWR 2
#define O_CREAT 0100
#define O_EXCL 0200
#define O_TRUNC 01000
#define O_NONBLOCK 04000
#define O_CLOEXEC 02000000

int open(const char *path, int flags, ...);

#endif
