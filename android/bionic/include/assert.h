/* SPDX-License-Identifier: Apache-2.0 */
/* assert, as Android's C library has it from API level 24 on: what samara calls, and no more. */
#ifndef SAMARA_BIONIC_ASSERT_H_
#define SAMARA_BIONIC_ASSERT_H_

/* Android's assert has a function of its own; libraries are built with NDEBUG. */
#if !defined(NDEBUG)
#error "compile with -DNDEBUG"
#endif
#undef assert
#define assert(condition) ((void)0)
#undef static_assert
#define static_assert _Static_assert

#endif
