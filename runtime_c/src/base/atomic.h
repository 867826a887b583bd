// SPDX-License-Identifier: Apache-2.0
// Words shared between threads, and their replacement if there are no atomics.
//
// SMR_NO_ATOMICS, for compilers and cores without <stdatomic.h>, makes the library single-threaded:
// pools have no workers, locks do nothing where no system provides them (os_none.c), and a flag
// that an interrupt or a callback may set is volatile. A compiler that defines __STDC_NO_ATOMICS__
// implies it, and so does bare metal, which has no threads.
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
// Relaxed: no other access depends on their order.
#define SMR_ATOMIC_LOAD(object) atomic_load_explicit((object), memory_order_relaxed)
#define SMR_ATOMIC_STORE(object, value) \
  atomic_store_explicit((object), (value), memory_order_relaxed)
#endif

/// Replace `from` by `to`; keep any other value.
static inline void smr_atomic_replace(SMR_ATOMIC(int) * object, int from, int to) {
#if defined(SMR_NO_ATOMICS)
  if (*object == from) *object = to;
#else
  atomic_compare_exchange_strong(object, &from, to);
#endif
}

#endif
