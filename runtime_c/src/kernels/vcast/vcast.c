// SPDX-License-Identifier: Apache-2.0
// Conversion between dtypes in portable C.
#include "base/fp.h"

#include "kernels/vcast/vcast.h"

#include <samara/samara.h>

#include <math.h>

#include "simd/common.h"
#include "simd/half.h"

enum { VCAST_BLOCK = 256 };

#define VCAST(from, to, T, R, value)                                                   \
  SMR_VECTORIZED static void vcast_##from##_##to(size_t n, const void *x_, void *y_) { \
    const T *px = (const T *)x_;                                                       \
    R *y = (R *)y_;                                                                    \
    for (size_t i = 0; i < n; i++) {                                                   \
      const T x = px[i];                                                               \
      y[i] = (R)(value);                                                               \
    }                                                                                  \
  }

// Clamps x to floats that the type can hold; NaN becomes `least`. The conversion can then run
// unconditionally.
SMR_INLINE float vcast_clamp(float x, float least, float most) {
  const float above = x > least ? x : least;
  return above < most ? above : most;
}
// The same, but NaN becomes 0.
SMR_INLINE float vcast_within(float x, float least, float most) {
  return vcast_clamp(x == x ? x : 0.0f, least, most);
}

// `most` is the greatest float in the type and `above` the next one.
#define VCAST_SATURATE(T, least, most, above, MOST) \
  (x >= (above) ? (MOST) : (T)vcast_within(x, least, most))

#define VCAST_FROM_INTEGER(from, T) \
  VCAST(from, f32, T, float, x)     \
  VCAST(from, i8, T, int8_t, x)     \
  VCAST(from, u8, T, uint8_t, x)    \
  VCAST(from, i32, T, int32_t, x)   \
  VCAST(from, i64, T, int64_t, x)   \
  VCAST(from, bool, T, uint8_t, x != 0)
VCAST_FROM_INTEGER(i8, int8_t)
VCAST_FROM_INTEGER(u8, uint8_t)
VCAST_FROM_INTEGER(i32, int32_t)
VCAST_FROM_INTEGER(i64, int64_t)
#undef VCAST_FROM_INTEGER

// To types whose limits are floats: through int32 in blocks, which compilers vectorize.
#define VCAST_NARROW(to, R, within, least, most)                                            \
  SMR_VECTORIZED static void vcast_f32_##to(size_t n, const void *x_, void *y_) {           \
    const float *x = (const float *)x_;                                                     \
    R *y = (R *)y_;                                                                         \
    int32_t block[VCAST_BLOCK];                                                             \
    for (size_t i = 0; i < n; i += VCAST_BLOCK) {                                           \
      const size_t count = n - i < VCAST_BLOCK ? n - i : VCAST_BLOCK;                       \
      for (size_t j = 0; j < count; j++) block[j] = (int32_t)within(x[i + j], least, most); \
      for (size_t j = 0; j < count; j++) y[i + j] = (R)block[j];                            \
    }                                                                                       \
  }
VCAST(f32, f32, float, float, x)
VCAST_NARROW(i8, int8_t, vcast_within, -128.0f, 127.0f)
VCAST_NARROW(u8, uint8_t, vcast_clamp, 0.0f, 255.0f)
VCAST(f32, i32, float, int32_t,
      VCAST_SATURATE(int32_t, -0x1p31f, 0x1.fffffep30f, 0x1p31f, INT32_MAX))
VCAST(f32, i64_any, float, int64_t,
      VCAST_SATURATE(int64_t, -0x1p63f, 0x1.fffffep62f, 0x1p63f, INT64_MAX))

// Most blocks hold small numbers, which all vector instruction sets can convert.
SMR_VECTORIZED static void vcast_f32_i64(size_t n, const void *x_, void *y_) {
  const float *x = (const float *)x_;
  int64_t *y = (int64_t *)y_;
  int32_t block[VCAST_BLOCK];
  for (size_t i = 0; i < n; i += VCAST_BLOCK) {
    const size_t count = n - i < VCAST_BLOCK ? n - i : VCAST_BLOCK;
    int32_t large = 0;
    for (size_t j = 0; j < count; j++) large |= !(fabsf(x[i + j]) < 0x1p31f);
    if (large) {
      vcast_f32_i64_any(count, x + i, y + i);
      continue;
    }
    for (size_t j = 0; j < count; j++) block[j] = (int32_t)x[i + j];
    for (size_t j = 0; j < count; j++) y[i + j] = block[j];
  }
}

VCAST(f32, bool, float, uint8_t, x != 0.0f)

VCAST(f32, bf16, float, uint16_t, smr_f32_to_bf16(x))
VCAST(bf16, f32, uint16_t, float, smr_bf16_to_f32(x))

VCAST(bool, f32, uint8_t, float, x != 0)
VCAST(bool, 8, uint8_t, uint8_t, x != 0)
VCAST(bool, i32, uint8_t, int32_t, x != 0)
VCAST(bool, i64, uint8_t, int64_t, x != 0)
#undef VCAST_SATURATE
#undef VCAST_NARROW
#undef VCAST

#define VCAST_IN(from, to, kernel) \
  SMR_HAS(type_##from) && SMR_HAS(type_##to) ? vcast_##kernel : NULL
#define VCAST_ROW(type, from)                              \
  {[SAMARA_FLOAT32] = VCAST_IN(type, float32, from##_f32), \
   [SAMARA_INT8] = VCAST_IN(type, int8, from##_i8),        \
   [SAMARA_UINT8] = VCAST_IN(type, uint8, from##_u8),      \
   [SAMARA_INT32] = VCAST_IN(type, int32, from##_i32),     \
   [SAMARA_INT64] = VCAST_IN(type, int64, from##_i64),     \
   [SAMARA_BOOL] = VCAST_IN(type, bool, from##_bool)}
static const smr_vcast_ukernel vcast_kernels[SAMARA_BOOL + 1][SAMARA_BOOL + 1] = {
    [SAMARA_FLOAT32] = VCAST_ROW(float32, f32),
    [SAMARA_INT8] = VCAST_ROW(int8, i8),
    [SAMARA_UINT8] = VCAST_ROW(uint8, u8),
    [SAMARA_INT32] = VCAST_ROW(int32, i32),
    [SAMARA_INT64] = VCAST_ROW(int64, i64),
    [SAMARA_BOOL] = {[SAMARA_FLOAT32] = VCAST_IN(bool, float32, bool_f32),
                     [SAMARA_INT8] = VCAST_IN(bool, int8, bool_8),
                     [SAMARA_UINT8] = VCAST_IN(bool, uint8, bool_8),
                     [SAMARA_INT32] = VCAST_IN(bool, int32, bool_i32),
                     [SAMARA_INT64] = VCAST_IN(bool, int64, bool_i64),
                     [SAMARA_BOOL] = VCAST_IN(bool, bool, bool_8)},
};
#undef VCAST_IN
#undef VCAST_ROW

smr_vcast_ukernel smr_vcast_kernel(uint8_t from, uint8_t to) {
  if (SMR_HAS(type_bfloat16) && from == SAMARA_BFLOAT16 && to == SAMARA_FLOAT32)
    return vcast_bf16_f32;
  if (SMR_HAS(type_bfloat16) && from == SAMARA_FLOAT32 && to == SAMARA_BFLOAT16)
    return vcast_f32_bf16;
  return from <= SAMARA_BOOL && to <= SAMARA_BOOL ? vcast_kernels[from][to] : NULL;
}
