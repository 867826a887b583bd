/* SPDX-License-Identifier: Apache-2.0 */
/* A flag that several threads may take: Swift has no atomics on the oldest systems. */
#ifndef SAMARA_SAMARA_SWIFT_H_
#define SAMARA_SAMARA_SWIFT_H_

#include <stdbool.h>
#include <stdint.h>

/* Take the flag; false where it is taken. */
static inline bool samara_flag_take(int32_t *flag) {
  int32_t free = 0;
  return __atomic_compare_exchange_n(flag, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Give back a flag that this thread, or one that handed over to it, took. */
static inline void samara_flag_give(int32_t *flag) { __atomic_store_n(flag, 0, __ATOMIC_RELEASE); }

#endif /* SAMARA_SAMARA_SWIFT_H_ */
