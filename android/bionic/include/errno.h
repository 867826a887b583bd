/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Android's <errno.h> (API level 24 and later) that samara uses. */
#ifndef SAMARA_BIONIC_ERRNO_H_
#define SAMARA_BIONIC_ERRNO_H_

int *__errno(void);
#define errno (*__errno())

#define ENOENT 2
#define EINTR 4
#define EAGAIN 11
#define ENOMEM 12
#define EACCES 13
#define EBUSY 16
#define EEXIST 17
#define EINVAL 22
#define ERANGE 34
#define ENOSYS 38
#define ETIMEDOUT 110

#endif
