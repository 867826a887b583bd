// SPDX-License-Identifier: Apache-2.0
// Words that another thread may read or write, and what stands for them where there are no atomics.
//
// With SMR_NO_ATOMICS, for compilers and cores without <stdatomic.h>, the library is for one
// thread: pools have no workers, locks do nothing where no system has them (os_none.c), and a flag
// that an interrupt or a callback may set is volatile. A compiler that says __STDC_NO_ATOMICS__
// implies it, and so does bare metal, where there is nobody else.
#ifndef SMR_BASE_ATOMIC_H
#define SMR_BASE_ATOMIC_H

#if !defined(SMR_NO_ATOMICS) && (defined(__STDC_NO_ATOMICS__) || defined(SMR_BARE_METAL))
#define SMR_NO_ATOMICS 1
#endif

#if defined(SMR_NO_ATOMICS)
#define SMR_ATOMIC(type) volatile type
#define SMR_ATOMIC_LOAD(object) (*(object))
#define SMR_ATOMIC_STORE(object, value) ((void)(*(object) = (value)))
#else
#include <stdatomic.h>
#define SMR_ATOMIC(type) _Atomic(type)
// Without order: nothing else is read or written because of what they say.
#define SMR_ATOMIC_LOAD(object) atomic_load_explicit((object), memory_order_relaxed)
#define SMR_ATOMIC_STORE(object, value) \
  atomic_store_explicit((object), (value), memory_order_relaxed)
#endif

/// Make `from` `to`; any other value stays.
static inline void smr_atomic_replace(SMR_ATOMIC(int) * object, int from, int to) {
#if defined(SMR_NO_ATOMICS)
  if (*object == from) *object = to;
#else
  atomic_compare_exchange_strong(object, &from, to);
#endif
}

#endif
