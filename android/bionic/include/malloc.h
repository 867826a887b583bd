/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Android's <malloc.h> (API level 24 and later) that samara uses. */
#ifndef SAMARA_BIONIC_MALLOC_H_
#define SAMARA_BIONIC_MALLOC_H_

#include <stdlib.h>

#endif
