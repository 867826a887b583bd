// SPDX-License-Identifier: Apache-2.0
// Conversion between any two dtypes through 8 bytes per element, in portable C.
//
// Floats pass through float64, which holds them exactly. Integers to integers pass through 64 bits,
// of which the target takes the low ones. Integers to floats pass through float64 too; those with
// more than 53 bits are first rounded to odd (Boldo and Melquiond, "Emulation of FMA and correctly
// rounded sums", 2008), so that rounding again to fewer bits gives the same result as rounding
// once.
#include "base/fp.h"

#include "kernels/vcast/vcast_wide.h"

#include <samara/samara.h>

#include <string.h>

#include "simd/common.h"
#include "simd/half.h"

#define WIDE_STEP(name, T, R, value)                                           \
  SMR_VECTORIZED static void wide_##name(size_t n, const void *x_, void *y_) { \
    const T *px = (const T *)x_;                                               \
    R *y = (R *)y_;                                                            \
    for (size_t i = 0; i < n; i++) {                                           \
      const T x = px[i];                                                       \
      y[i] = (R)(value);                                                       \
    }                                                                          \
  }

// ---- to float64 ----

// A magnitude of more than 53 bits keeps its upper bits; the lowest of these is set if any bit
// below was set.
static double wide_odd(uint64_t magnitude) {
  if (magnitude >> 53 == 0) return (double)magnitude;
  return (double)((magnitude & ~UINT64_C(0x7ff)) | (magnitude & 0x7ff ? UINT64_C(0x800) : 0));
}

static double wide_odd_signed(int64_t x) {
  return x < 0 ? -wide_odd((uint64_t)0 - (uint64_t)x) : wide_odd((uint64_t)x);
}

WIDE_STEP(f32_f64, float, double, x)
WIDE_STEP(f16_f64, uint16_t, double, smr_f16_to_f32(x))
WIDE_STEP(bf16_f64, uint16_t, double, smr_bf16_to_f32(x))
WIDE_STEP(i8_f64, int8_t, double, x)
WIDE_STEP(u8_f64, uint8_t, double, x)
WIDE_STEP(bool_f64, uint8_t, double, x != 0)
WIDE_STEP(i16_f64, int16_t, double, x)
WIDE_STEP(u16_f64, uint16_t, double, x)
WIDE_STEP(i32_f64, int32_t, double, x)
WIDE_STEP(u32_f64, uint32_t, double, x)
WIDE_STEP(i64_f64, int64_t, double, x)
WIDE_STEP(u64_f64, uint64_t, double, x)
WIDE_STEP(i64_odd, int64_t, double, wide_odd_signed(x))
WIDE_STEP(u64_odd, uint64_t, double, wide_odd(x))

// ---- to 64 bits ----

WIDE_STEP(i8_i64, int8_t, int64_t, x)
WIDE_STEP(u8_i64, uint8_t, int64_t, x)
WIDE_STEP(bool_i64, uint8_t, int64_t, x != 0)
WIDE_STEP(i16_i64, int16_t, int64_t, x)
WIDE_STEP(u16_i64, uint16_t, int64_t, x)
WIDE_STEP(i32_i64, int32_t, int64_t, x)
WIDE_STEP(u32_i64, uint32_t, int64_t, x)

static void wide_copy(size_t n, const void *x, void *y) {
  if (n != 0) memcpy(y, x, 8 * n);
}

// Element i of an int4 or uint4 tensor, as its four bits.
static uint8_t wide_nibble(const uint8_t *x, size_t i) {
  return (uint8_t)(x[i / 2] >> (i % 2 * 4) & 15);
}

#define WIDE_FROM_PACKED(name, R, value)                        \
  static void wide_##name(size_t n, const void *x_, void *y_) { \
    R *y = (R *)y_;                                             \
    for (size_t i = 0; i < n; i++) {                            \
      const int x = wide_nibble((const uint8_t *)x_, i);        \
      y[i] = (R)(value);                                        \
    }                                                           \
  }
WIDE_FROM_PACKED(u4_f64, double, x)
WIDE_FROM_PACKED(u4_i64, int64_t, x)
WIDE_FROM_PACKED(i4_f64, double, (x ^ 8) - 8)
WIDE_FROM_PACKED(i4_i64, int64_t, (x ^ 8) - 8)
#undef WIDE_FROM_PACKED

// ---- from float64 ----

// Rounds x to float32, to odd if inexact. Infinite only if x is.
static float wide_f32_odd(double x) {
  const float f = (float)x;
  if ((double)f == x || x != x) return f;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  if ((bits & 1u) == 0) {
    const double magnitude = x < 0 ? -x : x, rounded = f < 0 ? -(double)f : (double)f;
    bits = rounded < magnitude ? bits + 1 : bits - 1;
  }
  float odd;
  memcpy(&odd, &bits, sizeof odd);
  return odd;
}

// Truncates and saturates to [least, above), whose ends are floats; NaN gives 0.
#define WIDE_SATURATE(T, least, above, LEAST, MOST) \
  (x < (above) ? (x >= (least) ? (T)x : x < (least) ? (LEAST) : 0) : x >= (above) ? (MOST) : 0)

static int64_t wide_to_i64(double x) {
  return WIDE_SATURATE(int64_t, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX);
}

WIDE_STEP(f64_f32, double, float, x)
WIDE_STEP(f64_f16, double, uint16_t, smr_f32_to_f16(wide_f32_odd(x)))
WIDE_STEP(f64_bf16, double, uint16_t, smr_f32_to_bf16(wide_f32_odd(x)))
WIDE_STEP(f64_i8, double, int8_t, WIDE_SATURATE(int8_t, -0x1p7, 0x1p7, INT8_MIN, INT8_MAX))
WIDE_STEP(f64_u8, double, uint8_t, WIDE_SATURATE(uint8_t, 0.0, 0x1p8, 0, UINT8_MAX))
WIDE_STEP(f64_bool, double, uint8_t, x != 0.0)
WIDE_STEP(f64_i16, double, int16_t, WIDE_SATURATE(int16_t, -0x1p15, 0x1p15, INT16_MIN, INT16_MAX))
WIDE_STEP(f64_u16, double, uint16_t, WIDE_SATURATE(uint16_t, 0.0, 0x1p16, 0, UINT16_MAX))
WIDE_STEP(f64_i32, double, int32_t, WIDE_SATURATE(int32_t, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX))
WIDE_STEP(f64_u32, double, uint32_t, WIDE_SATURATE(uint32_t, 0.0, 0x1p32, 0, UINT32_MAX))
WIDE_STEP(f64_i64, double, int64_t, wide_to_i64(x))
WIDE_STEP(f64_u64, double, uint64_t, WIDE_SATURATE(uint64_t, 0.0, 0x1p64, 0, UINT64_MAX))

// ---- from 64 bits ----

WIDE_STEP(i64_8, uint64_t, uint8_t, x)
WIDE_STEP(i64_16, uint64_t, uint16_t, x)
WIDE_STEP(i64_32, uint64_t, uint32_t, x)
WIDE_STEP(i64_bool, uint64_t, uint8_t, x != 0)
#undef WIDE_STEP

#define WIDE_TO_PACKED(name, T, value)                                \
  static void wide_##name(size_t n, const void *x_, void *y_) {       \
    const T *px = (const T *)x_;                                      \
    uint8_t *y = (uint8_t *)y_;                                       \
    for (size_t i = 0; i < n; i++) {                                  \
      const T x = px[i];                                              \
      const uint8_t bits = (uint8_t)((uint64_t)(value) & 15);         \
      y[i / 2] = (uint8_t)(i % 2 == 0 ? bits : y[i / 2] | bits << 4); \
    }                                                                 \
  }
WIDE_TO_PACKED(f64_4, double, wide_to_i64(x))
WIDE_TO_PACKED(i64_4, uint64_t, x)
#undef WIDE_TO_PACKED
#undef WIDE_SATURATE

// ---- the tables ----

struct wide_row {
  smr_vcast_ukernel f64, i64;  // i64 is NULL if the dtype is a float
};

static const struct wide_row wide_from[] = {
    [SAMARA_FLOAT32] = {wide_f32_f64, NULL},        [SAMARA_FLOAT16] = {wide_f16_f64, NULL},
    [SAMARA_INT8] = {wide_i8_f64, wide_i8_i64},     [SAMARA_UINT8] = {wide_u8_f64, wide_u8_i64},
    [SAMARA_INT32] = {wide_i32_f64, wide_i32_i64},  [SAMARA_INT64] = {wide_i64_odd, wide_copy},
    [SAMARA_BOOL] = {wide_bool_f64, wide_bool_i64}, [SAMARA_FLOAT64] = {wide_copy, NULL},
    [SAMARA_BFLOAT16] = {wide_bf16_f64, NULL},      [SAMARA_INT16] = {wide_i16_f64, wide_i16_i64},
    [SAMARA_UINT16] = {wide_u16_f64, wide_u16_i64}, [SAMARA_UINT32] = {wide_u32_f64, wide_u32_i64},
    [SAMARA_UINT64] = {wide_u64_odd, wide_copy},    [SAMARA_INT4] = {wide_i4_f64, wide_i4_i64},
    [SAMARA_UINT4] = {wide_u4_f64, wide_u4_i64},
};

static const struct wide_row wide_to[] = {
    [SAMARA_FLOAT32] = {wide_f64_f32, NULL},        [SAMARA_FLOAT16] = {wide_f64_f16, NULL},
    [SAMARA_INT8] = {wide_f64_i8, wide_i64_8},      [SAMARA_UINT8] = {wide_f64_u8, wide_i64_8},
    [SAMARA_INT32] = {wide_f64_i32, wide_i64_32},   [SAMARA_INT64] = {wide_f64_i64, wide_copy},
    [SAMARA_BOOL] = {wide_f64_bool, wide_i64_bool}, [SAMARA_FLOAT64] = {wide_copy, NULL},
    [SAMARA_BFLOAT16] = {wide_f64_bf16, NULL},      [SAMARA_INT16] = {wide_f64_i16, wide_i64_16},
    [SAMARA_UINT16] = {wide_f64_u16, wide_i64_16},  [SAMARA_UINT32] = {wide_f64_u32, wide_i64_32},
    [SAMARA_UINT64] = {wide_f64_u64, wide_copy},    [SAMARA_INT4] = {wide_f64_4, wide_i64_4},
    [SAMARA_UINT4] = {wide_f64_4, wide_i64_4},
};

struct smr_vcast_steps smr_vcast_steps(uint8_t from, uint8_t to) {
  const size_t count = sizeof wide_from / sizeof wide_from[0];
  if (!SMR_HAS(vcast_wide) || from >= count || to >= count)
    return (struct smr_vcast_steps){NULL, NULL};
  const struct wide_row *x = &wide_from[from], *y = &wide_to[to];
  if (x->i64 != NULL && y->i64 != NULL) return (struct smr_vcast_steps){x->i64, y->i64};
  // float64 itself is rounded to nearest.
  if (to == SAMARA_FLOAT64 && from == SAMARA_INT64)
    return (struct smr_vcast_steps){wide_i64_f64, wide_copy};
  if (to == SAMARA_FLOAT64 && from == SAMARA_UINT64)
    return (struct smr_vcast_steps){wide_u64_f64, wide_copy};
  return (struct smr_vcast_steps){x->f64, y->f64};
}
