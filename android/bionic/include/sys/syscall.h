/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Android's <sys/syscall.h> (API level 24 and later) that samara uses. */
#ifndef SAMARA_BIONIC_SYS_SYSCALL_H_
#define SAMARA_BIONIC_SYS_SYSCALL_H_

/* Empty: samara leaves out what needs the number of a system call. */

#endif
