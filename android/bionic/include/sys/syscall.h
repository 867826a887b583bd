/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of system calls, as Android's C library has it from API level 24 on: what samara calls,
 * and no more. */
#ifndef SAMARA_BIONIC_SYS_SYSCALL_H_
#define SAMARA_BIONIC_SYS_SYSCALL_H_

/* None: what needs one is left out. */

#endif
