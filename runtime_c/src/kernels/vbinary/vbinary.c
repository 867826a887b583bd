// SPDX-License-Identifier: Apache-2.0
// Functions of two elements in portable C.
#include "base/fp.h"

#include "kernels/vbinary/vbinary.h"

#include <samara/samara.h>

#include <math.h>

// One kernel: operands of type T, results of type R; `value` in terms of a and b.
#define VBINARY(name, T, R, value)                                                    \
  static void vbinary_##name(size_t n, const void *a_, size_t a_step, const void *b_, \
                             size_t b_step, void *y_) {                               \
    const T *pa = (const T *)a_, *pb = (const T *)b_;                                 \
    R *y = (R *)y_;                                                                   \
    for (size_t i = 0; i < n; i++) {                                                  \
      const T a = pa[i * a_step], b = pb[i * b_step];                                 \
      y[i] = (R)(value);                                                              \
    }                                                                                 \
  }

// Sign extension, unsigned arithmetic and a narrowing conversion: wrapping, without overflow.
#define VBINARY_WRAP(op) ((uint64_t)a op(uint64_t) b)

static int64_t vbinary_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t vbinary_fmod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

static int64_t vbinary_mod(int64_t a, int64_t b) {
  const int64_t r = vbinary_fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t vbinary_pow(int64_t a, int64_t b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  uint64_t power = (uint64_t)a, result = 1;
  for (uint64_t rest = (uint64_t)b; rest; rest >>= 1, power *= power)
    if (rest & 1u) result *= power;
  return (int64_t)result;
}

static uint64_t vbinary_shl(uint64_t a, uint64_t by, unsigned width) {
  return by < width ? a << by : 0;
}

static int64_t vbinary_shr(int64_t a, uint64_t by, unsigned width) {
  return a >> (by < width ? by : width - 1);
}

#define VBINARY_INTEGER(t, T)                                                  \
  VBINARY(add_##t, T, T, VBINARY_WRAP(+))                                      \
  VBINARY(sub_##t, T, T, VBINARY_WRAP(-))                                      \
  VBINARY(mul_##t, T, T, VBINARY_WRAP(*))                                      \
  VBINARY(div_##t, T, T, vbinary_div(a, b))                                    \
  VBINARY(mod_##t, T, T, vbinary_mod(a, b))                                    \
  VBINARY(fmod_##t, T, T, vbinary_fmod(a, b))                                  \
  VBINARY(pow_##t, T, T, vbinary_pow(a, b))                                    \
  VBINARY(min_##t, T, T, a < b ? a : b)                                        \
  VBINARY(max_##t, T, T, a > b ? a : b)                                        \
  VBINARY(eq_##t, T, uint8_t, a == b)                                          \
  VBINARY(lt_##t, T, uint8_t, a < b)                                           \
  VBINARY(le_##t, T, uint8_t, a <= b)                                          \
  VBINARY(bit_and_##t, T, T, a &b)                                             \
  VBINARY(bit_or_##t, T, T, a | b)                                             \
  VBINARY(bit_xor_##t, T, T, a ^ b)                                            \
  VBINARY(shl_##t, T, T, vbinary_shl((uint64_t)a, (uint64_t)b, 8 * sizeof(T))) \
  VBINARY(shr_##t, T, T, vbinary_shr((int64_t)a, (uint64_t)b, 8 * sizeof(T)))
VBINARY_INTEGER(i8, int8_t)
VBINARY_INTEGER(u8, uint8_t)
VBINARY_INTEGER(i32, int32_t)
VBINARY_INTEGER(i64, int64_t)
#undef VBINARY_INTEGER

static float vbinary_mod_float(float a, float b) {
  const float r = fmodf(a, b);
  if (r == 0.0f) return copysignf(0.0f, b);
  return (r < 0.0f) != (b < 0.0f) ? r + b : r;
}

VBINARY(mod_f32, float, float, vbinary_mod_float(a, b))
VBINARY(fmod_f32, float, float, fmodf(a, b))
VBINARY(pow_f32, float, float, powf(a, b))
VBINARY(atan2_f32, float, float, atan2f(a, b))
VBINARY(eq_f32, float, uint8_t, a == b)
VBINARY(lt_f32, float, uint8_t, a < b)
VBINARY(le_f32, float, uint8_t, a <= b)

VBINARY(eq_bool, uint8_t, uint8_t, !a == !b)
VBINARY(and_bool, uint8_t, uint8_t, a &&b)
VBINARY(or_bool, uint8_t, uint8_t, a || b)
VBINARY(xor_bool, uint8_t, uint8_t, !a != !b)

#undef VBINARY_WRAP
#undef VBINARY

#define VBINARY_INTEGERS(name)                                               \
  [SAMARA_INT8] = vbinary_##name##_i8, [SAMARA_UINT8] = vbinary_##name##_u8, \
  [SAMARA_INT32] = vbinary_##name##_i32, [SAMARA_INT64] = vbinary_##name##_i64
static const smr_vbinary_ukernel vbinary_kernels[SMR_VBINARY_COUNT][SAMARA_BOOL + 1] = {
    [SMR_VBINARY_ADD] = {VBINARY_INTEGERS(add)},
    [SMR_VBINARY_SUB] = {VBINARY_INTEGERS(sub)},
    [SMR_VBINARY_MUL] = {VBINARY_INTEGERS(mul)},
    [SMR_VBINARY_DIV] = {VBINARY_INTEGERS(div)},
    [SMR_VBINARY_MIN] = {VBINARY_INTEGERS(min)},
    [SMR_VBINARY_MAX] = {VBINARY_INTEGERS(max)},
    [SMR_VBINARY_MOD] = {VBINARY_INTEGERS(mod), [SAMARA_FLOAT32] = vbinary_mod_f32},
    [SMR_VBINARY_FMOD] = {VBINARY_INTEGERS(fmod), [SAMARA_FLOAT32] = vbinary_fmod_f32},
    [SMR_VBINARY_POW] = {VBINARY_INTEGERS(pow), [SAMARA_FLOAT32] = vbinary_pow_f32},
    [SMR_VBINARY_EQ] = {VBINARY_INTEGERS(eq), [SAMARA_FLOAT32] = vbinary_eq_f32,
                        [SAMARA_BOOL] = vbinary_eq_bool},
    [SMR_VBINARY_LT] = {VBINARY_INTEGERS(lt), [SAMARA_FLOAT32] = vbinary_lt_f32},
    [SMR_VBINARY_LE] = {VBINARY_INTEGERS(le), [SAMARA_FLOAT32] = vbinary_le_f32},
    [SMR_VBINARY_ATAN2] = {[SAMARA_FLOAT32] = vbinary_atan2_f32},
    [SMR_VBINARY_AND] = {[SAMARA_BOOL] = vbinary_and_bool},
    [SMR_VBINARY_OR] = {[SAMARA_BOOL] = vbinary_or_bool},
    [SMR_VBINARY_XOR] = {[SAMARA_BOOL] = vbinary_xor_bool},
    [SMR_VBINARY_BIT_AND] = {VBINARY_INTEGERS(bit_and)},
    [SMR_VBINARY_BIT_OR] = {VBINARY_INTEGERS(bit_or)},
    [SMR_VBINARY_BIT_XOR] = {VBINARY_INTEGERS(bit_xor)},
    [SMR_VBINARY_SHL] = {VBINARY_INTEGERS(shl)},
    [SMR_VBINARY_SHR] = {VBINARY_INTEGERS(shr)},
};
#undef VBINARY_INTEGERS

smr_vbinary_ukernel smr_vbinary_kernel(enum smr_vbinary function, uint8_t dtype) {
  return dtype <= SAMARA_BOOL ? vbinary_kernels[function][dtype] : NULL;
}

int smr_vbinary_has_zero(uint8_t dtype, size_t n, const void *b, size_t step) {
  int zero = 0;
  for (size_t i = 0; i < n && !zero; i++) {
    const size_t at = i * step;
    switch (dtype) {
      case SAMARA_INT64:
        zero = ((const int64_t *)b)[at] == 0;
        break;
      case SAMARA_INT32:
        zero = ((const int32_t *)b)[at] == 0;
        break;
      default:
        zero = ((const int8_t *)b)[at] == 0;
    }
  }
  return zero;
}
