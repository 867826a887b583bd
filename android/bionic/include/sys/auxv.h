/* SPDX-License-Identifier: Apache-2.0 */
/* Facts that the kernel tells, as Android's C library has it from API level 24 on: what samara
 * calls, and no more. */
#ifndef SAMARA_BIONIC_SYS_AUXV_H_
#define SAMARA_BIONIC_SYS_AUXV_H_

#define AT_HWCAP 16
#define AT_HWCAP2 26

unsigned long getauxval(unsigned long what);

#endif
