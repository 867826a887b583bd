// SPDX-License-Identifier: Apache-2.0
// Conversion between dtypes in portable C.
#include "base/fp.h"

#include "kernels/vcast/vcast.h"

#include <samara/samara.h>

#define VCAST(from, to, T, R, value)                                    \
  static void vcast_##from##_##to(size_t n, const void *x_, void *y_) { \
    const T *px = (const T *)x_;                                        \
    R *y = (R *)y_;                                                     \
    for (size_t i = 0; i < n; i++) {                                    \
      const T x = px[i];                                                \
      y[i] = (R)(value);                                                \
    }                                                                   \
  }

// `least` is a float; `above` is the first float beyond the type.
#define VCAST_SATURATE(T, least, above, LEAST, MOST) \
  (x < (above) ? (x >= (least) ? (T)x : x < (least) ? (LEAST) : 0) : x >= (above) ? (MOST) : 0)

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

VCAST(f32, f32, float, float, x)
VCAST(f32, i8, float, int8_t, VCAST_SATURATE(int8_t, -128.0f, 128.0f, INT8_MIN, INT8_MAX))
VCAST(f32, u8, float, uint8_t, VCAST_SATURATE(uint8_t, 0.0f, 256.0f, 0, UINT8_MAX))
VCAST(f32, i32, float, int32_t, VCAST_SATURATE(int32_t, -0x1p31f, 0x1p31f, INT32_MIN, INT32_MAX))
VCAST(f32, i64, float, int64_t, VCAST_SATURATE(int64_t, -0x1p63f, 0x1p63f, INT64_MIN, INT64_MAX))
VCAST(f32, bool, float, uint8_t, x != 0.0f)

VCAST(bool, f32, uint8_t, float, x != 0)
VCAST(bool, 8, uint8_t, uint8_t, x != 0)
VCAST(bool, i32, uint8_t, int32_t, x != 0)
VCAST(bool, i64, uint8_t, int64_t, x != 0)
#undef VCAST_SATURATE
#undef VCAST

#define VCAST_ROW(from)                                                        \
  {[SAMARA_FLOAT32] = vcast_##from##_f32, [SAMARA_INT8] = vcast_##from##_i8,   \
   [SAMARA_UINT8] = vcast_##from##_u8,    [SAMARA_INT32] = vcast_##from##_i32, \
   [SAMARA_INT64] = vcast_##from##_i64,   [SAMARA_BOOL] = vcast_##from##_bool}
static const smr_vcast_ukernel vcast_kernels[SAMARA_BOOL + 1][SAMARA_BOOL + 1] = {
    [SAMARA_FLOAT32] = VCAST_ROW(f32),
    [SAMARA_INT8] = VCAST_ROW(i8),
    [SAMARA_UINT8] = VCAST_ROW(u8),
    [SAMARA_INT32] = VCAST_ROW(i32),
    [SAMARA_INT64] = VCAST_ROW(i64),
    [SAMARA_BOOL] = {[SAMARA_FLOAT32] = vcast_bool_f32,
                     [SAMARA_INT8] = vcast_bool_8,
                     [SAMARA_UINT8] = vcast_bool_8,
                     [SAMARA_INT32] = vcast_bool_i32,
                     [SAMARA_INT64] = vcast_bool_i64,
                     [SAMARA_BOOL] = vcast_bool_8},
};
#undef VCAST_ROW

smr_vcast_ukernel smr_vcast_kernel(uint8_t from, uint8_t to) {
  return from <= SAMARA_BOOL && to <= SAMARA_BOOL ? vcast_kernels[from][to] : NULL;
}
