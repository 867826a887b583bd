/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Android's <inttypes.h> (API level 24 and later) that samara uses. */
#ifndef SAMARA_BIONIC_INTTYPES_H_
#define SAMARA_BIONIC_INTTYPES_H_

#include <stdint.h>

#if defined(__LP64__)
#define SAMARA_BIONIC_64_ "l"
#define SAMARA_BIONIC_PTR_ "l"
#else
#define SAMARA_BIONIC_64_ "ll"
#define SAMARA_BIONIC_PTR_ ""
#endif
#define PRId32 "d"
#define PRIu32 "u"
#define PRIx32 "x"
#define PRId64 SAMARA_BIONIC_64_ "d"
#define PRIu64 SAMARA_BIONIC_64_ "u"
#define PRIx64 SAMARA_BIONIC_64_ "x"
#define PRIuPTR SAMARA_BIONIC_PTR_ "u"
#define PRIxPTR SAMARA_BIONIC_PTR_ "x"

#endif
