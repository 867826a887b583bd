/* SPDX-License-Identifier: Apache-2.0 */
/* malloc, as Android's C library has it from API level 24 on: what samara calls, and no more. */
#ifndef SAMARA_BIONIC_MALLOC_H_
#define SAMARA_BIONIC_MALLOC_H_

#include <stdlib.h>

#endif
