// SPDX-License-Identifier: Apache-2.0
// Sums, products, maxima and minima of integers, bool and float64 in portable C.
#include "base/fp.h"

#include "kernels/vreduce/vreduce.h"

#include <samara/samara.h>

#include "base/parts.h"

#include <math.h>
#include <stdbool.h>

#include "simd/common.h"

#if defined(__clang__)  // clang would unroll, which only adds code
#define VREDUCE_PLAIN _Pragma("clang loop unroll(disable) vectorize(disable)")
#else
#define VREDUCE_PLAIN
#endif

// One kernel: elements of type T, read as `load` of e, reduced as values of type W; a total holds
// them as type S in `field`. `value` combines the total t and the element v. One output is reduced
// in a register, several row by row. `dense` handles adjacent elements of one output first.
#define VREDUCE(name, T, W, S, field, load, value, dense)                           \
  static void vreduce_##name(size_t n, size_t stride, size_t count, const void *x_, \
                             union smr_vreduce_total *totals) {                     \
    const T *x = (const T *)x_;                                                     \
    dense;                                                                          \
    const size_t step = count == 1 ? n : 1;                                         \
    for (size_t i = 0; i < n; i += step, x += stride)                               \
      VREDUCE_PLAIN for (size_t j = 0; j < count; j++) {                            \
        W t = (W)totals[j].field;                                                   \
        VREDUCE_PLAIN for (size_t k = 0; k < step; k++) {                           \
          const T e = x[k * stride + j];                                            \
          const W v = (W)(load);                                                    \
          t = (W)(value);                                                           \
        }                                                                           \
        totals[j].field = (S)t;                                                     \
      }                                                                             \
  }

// Adjacent integers, in any order, as vectors: reduced as values of type A, then converted to W.
#define VREDUCE_DENSE(name, T, A, W, load, value)                                         \
  SMR_VECTORIZED static uint64_t vreduce_dense_##name(size_t n, const T *x, uint64_t u) { \
    A t = (A)u;                                                                           \
    for (size_t k = 0; k < n; k++) {                                                      \
      const T e = x[k];                                                                   \
      const A v = (A)(load);                                                              \
      t = (A)(value);                                                                     \
    }                                                                                     \
    return (uint64_t)(W)t;                                                                \
  }
#define VREDUCE_TRY_DENSE(name)                        \
  if (count == 1 && stride == 1) {                     \
    totals->u = vreduce_dense_##name(n, x, totals->u); \
    return;                                            \
  }

// Integers; W is the widest type of the same signedness.
#define VREDUCE_EXTREME(name, t_, T, W, load, value) \
  VREDUCE_DENSE(name##_##t_, T, T, W, load, value)   \
  VREDUCE(name##_##t_, T, W, uint64_t, u, load, value, VREDUCE_TRY_DENSE(name##_##t_))
#define VREDUCE_EXTREMES(t_, T, W, load)              \
  VREDUCE_EXTREME(max, t_, T, W, load, v > t ? v : t) \
  VREDUCE_EXTREME(min, t_, T, W, load, v < t ? v : t)
#define VREDUCE_INTEGERS(t_, T, W)                                                   \
  VREDUCE_DENSE(sum_##t_, T, uint64_t, uint64_t, e, t + v)                           \
  VREDUCE(sum_##t_, T, uint64_t, uint64_t, u, e, t + v, VREDUCE_TRY_DENSE(sum_##t_)) \
  VREDUCE(prod_##t_, T, uint64_t, uint64_t, u, e, t *v, )                            \
  VREDUCE_EXTREMES(t_, T, W, e)
#define VREDUCE_SIGNED(t_, T) VREDUCE_INTEGERS(t_, T, int64_t)
#define VREDUCE_UNSIGNED(t_, T) VREDUCE_INTEGERS(t_, T, uint64_t)
VREDUCE_SIGNED(i8, int8_t)
VREDUCE_SIGNED(i16, int16_t)
VREDUCE_SIGNED(i32, int32_t)
VREDUCE_SIGNED(i64, int64_t)
VREDUCE_UNSIGNED(u8, uint8_t)
VREDUCE_UNSIGNED(u16, uint16_t)
VREDUCE_UNSIGNED(u32, uint32_t)
VREDUCE_UNSIGNED(u64, uint64_t)
VREDUCE_EXTREMES(b8, uint8_t, uint64_t, e != 0)
VREDUCE(sum_f64, double, double, double, f, e, t + v, )
VREDUCE(prod_f64, double, double, double, f, e, t *v, )
VREDUCE(max_f64, double, double, double, f, e, v > t || v != v ? v : t, )
VREDUCE(min_f64, double, double, double, f, e, v < t || v != v ? v : t, )
#undef VREDUCE_UNSIGNED
#undef VREDUCE_SIGNED
#undef VREDUCE_INTEGERS
#undef VREDUCE_EXTREMES
#undef VREDUCE_EXTREME
#undef VREDUCE_TRY_DENSE
#undef VREDUCE_DENSE
#undef VREDUCE
#undef VREDUCE_PLAIN

#define VREDUCE_IN(type, name, kernel) \
  SMR_HAS(vreduce_##name) && SMR_HAS(type_##type) ? vreduce_##name##_##kernel : NULL
#define VREDUCE_NUMBERS(name)                                                                    \
  [SAMARA_INT8] = VREDUCE_IN(int8, name, i8), [SAMARA_INT16] = VREDUCE_IN(int16, name, i16),     \
  [SAMARA_INT32] = VREDUCE_IN(int32, name, i32), [SAMARA_INT64] = VREDUCE_IN(int64, name, i64),  \
  [SAMARA_UINT8] = VREDUCE_IN(uint8, name, u8), [SAMARA_UINT16] = VREDUCE_IN(uint16, name, u16), \
  [SAMARA_UINT32] = VREDUCE_IN(uint32, name, u32),                                               \
  [SAMARA_UINT64] = VREDUCE_IN(uint64, name, u64),                                               \
  [SAMARA_FLOAT64] = VREDUCE_IN(float64, name, f64)
enum { VREDUCE_DTYPES = SAMARA_UINT64 + 1 };
// By dtype.
static const smr_vreduce_ukernel vreduce_row_sum[VREDUCE_DTYPES] = {VREDUCE_NUMBERS(sum)};
static const smr_vreduce_ukernel vreduce_row_prod[VREDUCE_DTYPES] = {VREDUCE_NUMBERS(prod)};
static const smr_vreduce_ukernel vreduce_row_max[VREDUCE_DTYPES] = {
    VREDUCE_NUMBERS(max), [SAMARA_BOOL] = VREDUCE_IN(bool, max, b8)};
static const smr_vreduce_ukernel vreduce_row_min[VREDUCE_DTYPES] = {
    VREDUCE_NUMBERS(min), [SAMARA_BOOL] = VREDUCE_IN(bool, min, b8)};
#define VREDUCE_ROW(name) SMR_HAS(vreduce_##name) ? vreduce_row_##name : NULL
static const smr_vreduce_ukernel *const vreduce_rows[SMR_VREDUCE_COUNT] = {
    [SMR_VREDUCE_SUM] = VREDUCE_ROW(sum),
    [SMR_VREDUCE_PROD] = VREDUCE_ROW(prod),
    [SMR_VREDUCE_MAX] = VREDUCE_ROW(max),
    [SMR_VREDUCE_MIN] = VREDUCE_ROW(min),
};
#undef VREDUCE_ROW
#undef VREDUCE_IN
#undef VREDUCE_NUMBERS

smr_vreduce_ukernel smr_vreduce_kernel(enum smr_vreduce_op op, uint8_t dtype) {
  return dtype < VREDUCE_DTYPES && vreduce_rows[op] != NULL ? vreduce_rows[op][dtype] : NULL;
}

// Bits of the dtype; negative if signed.
static int vreduce_bits(uint8_t dtype) {
  switch (dtype) {
    case SAMARA_INT8:
      return -8;
    case SAMARA_UINT8:
      return 8;
    case SAMARA_INT16:
      return -16;
    case SAMARA_UINT16:
      return 16;
    case SAMARA_INT32:
      return -32;
    case SAMARA_UINT32:
      return 32;
    case SAMARA_INT64:
      return -64;
    case SAMARA_BOOL:
      return 1;
    default:
      return 64;
  }
}

union smr_vreduce_total smr_vreduce_start(enum smr_vreduce_op op, uint8_t dtype) {
  const bool is_float = dtype == SAMARA_FLOAT64;
  const int bits = vreduce_bits(dtype);
  if (op == SMR_VREDUCE_SUM || op == SMR_VREDUCE_PROD) {
    const unsigned one = op == SMR_VREDUCE_PROD;
    return is_float ? (union smr_vreduce_total){.f = one} : (union smr_vreduce_total){.u = one};
  }
  const bool highest = op == SMR_VREDUCE_MIN;
  if (is_float) return (union smr_vreduce_total){.f = highest ? INFINITY : -INFINITY};
  if (bits > 0) return (union smr_vreduce_total){.u = highest ? UINT64_MAX >> (64 - bits) : 0};
  // 0111... of the dtype's width, or its complement, sign-extended.
  const uint64_t most = UINT64_MAX >> (65 + bits);
  return (union smr_vreduce_total){.u = highest ? most : ~most};
}

void smr_vreduce_store(uint8_t dtype, union smr_vreduce_total total, uint64_t divisor, void *y,
                       size_t i) {
  if (dtype == SAMARA_FLOAT64) {
    ((double *)y)[i] = divisor ? total.f / (double)divisor : total.f;
    return;
  }
  const int bits = vreduce_bits(dtype);
  if (divisor && bits < 0 && (int64_t)total.u < 0)
    total.u = 0 - (0 - total.u) / divisor;
  else if (divisor)
    total.u /= divisor;
  switch (bits < 0 ? -bits : bits) {
    case 64:
      ((uint64_t *)y)[i] = total.u;
      break;
    case 32:
      ((uint32_t *)y)[i] = (uint32_t)total.u;
      break;
    case 16:
      ((uint16_t *)y)[i] = (uint16_t)total.u;
      break;
    default:
      ((uint8_t *)y)[i] = (uint8_t)total.u;
  }
}
