/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on numbers that come from a file: every product and sum is checked. */
#ifndef SMR_BASE_CHECKED_H_
#define SMR_BASE_CHECKED_H_

#include "base/fp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// True and *out = a * b; false on overflow.
static inline bool smr_mul_size(size_t a, size_t b, size_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
/// True and *out = a + b; false on overflow.
static inline bool smr_add_size(size_t a, size_t b, size_t *out) {
  return !__builtin_add_overflow(a, b, out);
}
static inline bool smr_mul_i64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
static inline bool smr_add_i64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_add_overflow(a, b, out);
}
static inline bool smr_sub_i64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_sub_overflow(a, b, out);
}

#endif /* SMR_BASE_CHECKED_H_ */
