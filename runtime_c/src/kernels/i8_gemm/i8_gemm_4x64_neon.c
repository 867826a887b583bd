// SPDX-License-Identifier: Apache-2.0
// int8 product for AArch64 without dot products: tiles up to 4x8.
//
// Two products of -128 by -128 overflow an int16, so each product of bytes is widened by itself: a
// second multiply-add before the widening would save an instruction in four and need weights above
// -128.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/i8_gemm/kernels.h"

#if SMR_ARCH_AARCH64
#include "simd/neon_begin.h"
#define I8_NAME(name) N(i8_gemm_##name)
#define I8_MR 4
#define I8_NR 64
#define I8_STAGED int8_t
#define I8_OFFSET 0

SMR_INLINE void N(i8_gemm_stage)(int8_t *staged, size_t row, size_t at, const int8_t *a, size_t n) {
  memcpy(staged + row * SMR_I8_GEMM_PITCH_BYTES + at, a, n);
}

#include "kernels/i8_gemm/narrow_neon.h"

// Four bytes, repeated over the vector.
SMR_INLINE int8x16_t N(i8_gemm_repeat)(const int8_t *p) {
  int32_t four;
  memcpy(&four, p, sizeof four);
  return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

// mr rows by eight columns at `w`.
SMR_INLINE void N(i8_gemm_tile)(const size_t mr, const int8_t *staged, const int8_t *w,
                                size_t groups, const int32_t *from, size_t from_stride,
                                int32_t *sums) {
  int32x4_t acc[4][4];  // two sums of each of two columns
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t j = 0; j < 4; j++) acc[i][j] = N(izero)();
  }
  for (size_t g = 0; g < groups; g++) {
    const int8x16_t b0 = vld1q_s8(w), b1 = vld1q_s8(w + 16);
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      const int8x16_t a = N(i8_gemm_repeat)(staged + i * SMR_I8_GEMM_PITCH_BYTES);
      acc[i][0] = vpadalq_s16(acc[i][0], vmull_s8(vget_low_s8(a), vget_low_s8(b0)));
      acc[i][1] = vpadalq_s16(acc[i][1], vmull_high_s8(a, b0));
      acc[i][2] = vpadalq_s16(acc[i][2], vmull_s8(vget_low_s8(a), vget_low_s8(b1)));
      acc[i][3] = vpadalq_s16(acc[i][3], vmull_high_s8(a, b1));
    }
    staged += SMR_I8_GROUP;
    w += SMR_I8_GROUP * SMR_I8_PANEL;
  }
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t j = 0; j < 2; j++) {
      const int32x4_t sum = vpaddq_s32(acc[i][2 * j], acc[i][2 * j + 1]);
      N(istore)(sums + i * I8_NR + 4 * j, N(iadd)(sum, N(iload)(from + i * from_stride + 4 * j)));
    }
  }
}

static void N(i8_gemm_tiles)(size_t rows, size_t panels, const int8_t *staged, const int8_t *w,
                             size_t panel_stride_bytes, size_t groups, const int32_t *from,
                             size_t from_stride, int32_t *sums) {
  for (size_t j = 0; j < panels * SMR_I8_PANEL; j += 8, from += 8, sums += 8) {
    const int8_t *at = w + j / SMR_I8_PANEL * panel_stride_bytes + j % SMR_I8_PANEL * SMR_I8_GROUP;
    if (rows == 4) {
      N(i8_gemm_tile)(4, staged, at, groups, from, from_stride, sums);
    } else if (rows == 3) {
      N(i8_gemm_tile)(3, staged, at, groups, from, from_stride, sums);
    } else if (rows == 2) {
      N(i8_gemm_tile)(2, staged, at, groups, from, from_stride, sums);
    } else {
      N(i8_gemm_tile)(1, staged, at, groups, from, from_stride, sums);
    }
  }
}

#include "kernels/i8_gemm/core.h"
I8_KERNELS(4x64__neon, gemv__neon)
#include "kernels/i8_gemm/core_end.h"
#include "simd/end.h"
#endif
