// SPDX-License-Identifier: Apache-2.0
// Functions of one element in portable C.
#include "base/fp.h"

#include "kernels/vunary/vunary.h"

#include <samara/samara.h>

#include <math.h>

// One kernel: an operand of type T, a result of type R; `value` in terms of x.
#define VUNARY(name, T, R, value)                                 \
  static void vunary_##name(size_t n, const void *x_, void *y_) { \
    const T *px = (const T *)x_;                                  \
    R *y = (R *)y_;                                               \
    for (size_t i = 0; i < n; i++) {                              \
      const T x = px[i];                                          \
      y[i] = (R)(value);                                          \
    }                                                             \
  }

// Negation in unsigned arithmetic wraps.
#define VUNARY_INTEGER(t, T)                                   \
  VUNARY(neg_##t, T, T, 0 - (uint64_t)x)                       \
  VUNARY(abs_##t, T, T, x < 0 ? 0 - (uint64_t)x : (uint64_t)x) \
  VUNARY(sign_##t, T, T, (x > 0) - (x < 0))                    \
  VUNARY(relu_##t, T, T, x > 0 ? x : 0)
VUNARY_INTEGER(i8, int8_t)
VUNARY_INTEGER(i32, int32_t)
VUNARY_INTEGER(i64, int64_t)
#undef VUNARY_INTEGER

VUNARY(sign_u8, uint8_t, uint8_t, x > 0)
VUNARY(copy_u8, uint8_t, uint8_t, x)
VUNARY(neg_u8, uint8_t, uint8_t, 0 - (uint64_t)x)
VUNARY(bit_not_8, uint8_t, uint8_t, ~x)
VUNARY(bit_not_32, uint32_t, uint32_t, ~x)
VUNARY(bit_not_64, uint64_t, uint64_t, ~x)
VUNARY(not_bool, uint8_t, uint8_t, !x)
VUNARY(is_nan, float, uint8_t, x != x)
VUNARY(is_inf, float, uint8_t, x == INFINITY || x == -INFINITY)
VUNARY(is_inf_positive, float, uint8_t, x == INFINITY)
VUNARY(is_inf_negative, float, uint8_t, x == -INFINITY)
#undef VUNARY

#define VUNARY_SIGNED(name)                                                 \
  [SAMARA_INT8] = vunary_##name##_i8, [SAMARA_INT32] = vunary_##name##_i32, \
  [SAMARA_INT64] = vunary_##name##_i64
static const smr_vunary_ukernel vunary_kernels[SMR_VUNARY_COUNT][SAMARA_BOOL + 1] = {
    [SMR_VUNARY_NEG] = {VUNARY_SIGNED(neg), [SAMARA_UINT8] = vunary_neg_u8},
    [SMR_VUNARY_ABS] = {VUNARY_SIGNED(abs), [SAMARA_UINT8] = vunary_copy_u8},
    [SMR_VUNARY_SIGN] = {VUNARY_SIGNED(sign), [SAMARA_UINT8] = vunary_sign_u8},
    [SMR_VUNARY_RELU] = {VUNARY_SIGNED(relu), [SAMARA_UINT8] = vunary_copy_u8},
    [SMR_VUNARY_BIT_NOT] = {[SAMARA_INT8] = vunary_bit_not_8,
                            [SAMARA_UINT8] = vunary_bit_not_8,
                            [SAMARA_INT32] = vunary_bit_not_32,
                            [SAMARA_INT64] = vunary_bit_not_64},
    [SMR_VUNARY_NOT] = {[SAMARA_BOOL] = vunary_not_bool},
    [SMR_VUNARY_IS_NAN] = {[SAMARA_FLOAT32] = vunary_is_nan},
    [SMR_VUNARY_IS_INF] = {[SAMARA_FLOAT32] = vunary_is_inf},
    [SMR_VUNARY_IS_INF_POSITIVE] = {[SAMARA_FLOAT32] = vunary_is_inf_positive},
    [SMR_VUNARY_IS_INF_NEGATIVE] = {[SAMARA_FLOAT32] = vunary_is_inf_negative},
};
#undef VUNARY_SIGNED

smr_vunary_ukernel smr_vunary_kernel(enum smr_vunary function, uint8_t dtype) {
  return dtype <= SAMARA_BOOL ? vunary_kernels[function][dtype] : NULL;
}
