/* SPDX-License-Identifier: Apache-2.0 */
/* An atomic flag: Swift's own atomics need newer systems than the package supports. */
#ifndef SAMARA_SAMARA_SWIFT_H_
#define SAMARA_SAMARA_SWIFT_H_

#include <stdbool.h>
#include <stdint.h>

/* Take the flag; false if it is already taken. */
static inline bool samara_flag_take(int32_t *flag) {
  int32_t free = 0;
  return __atomic_compare_exchange_n(flag, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Release the flag. It must have been taken by this thread or by one that handed it over. */
static inline void samara_flag_give(int32_t *flag) { __atomic_store_n(flag, 0, __ATOMIC_RELEASE); }

#endif /* SAMARA_SAMARA_SWIFT_H_ */
