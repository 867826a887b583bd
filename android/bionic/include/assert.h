/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Android's <assert.h> (API level 24 and later) that samara uses. */
#ifndef SAMARA_BIONIC_ASSERT_H_
#define SAMARA_BIONIC_ASSERT_H_

/* The function that Android's assert calls is not declared here; libraries define NDEBUG. */
#if !defined(NDEBUG)
#error "compile with -DNDEBUG"
#endif
#undef assert
#define assert(condition) ((void)0)
#undef static_assert
#define static_assert _Static_assert

#endif
