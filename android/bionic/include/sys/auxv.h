/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Android's <sys/auxv.h> (API level 24 and later) that samara uses. */
#ifndef SAMARA_BIONIC_SYS_AUXV_H_
#define SAMARA_BIONIC_SYS_AUXV_H_

#define AT_HWCAP 16
#define AT_HWCAP2 26

unsigned long getauxval(unsigned long what);

#endif
