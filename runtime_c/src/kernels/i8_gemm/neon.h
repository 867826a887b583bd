// SPDX-License-Identifier: Apache-2.0
// int8 product for AArch64 without dot products: tiles up to 4x8.
//
// Two products of -128 by -128 overflow int16, so every product is widened separately. A second
// multiply-add before widening would save one instruction in four, but only works for weights above
// -128.

#define I8_NAME(name) N(i8_gemm_##name)

// Four bytes, repeated over the vector.
SMR_INLINE int8x16_t N(i8_gemm_repeat)(const int8_t *p) {
  int32_t four;
  memcpy(&four, p, sizeof four);
  return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

// mr rows by eight columns.
SMR_INLINE void N(i8_gemm_tile)(const size_t mr, const struct smr_i8_gemm_rows *at) {
  const int8_t *staged = at->staged, *w = at->w;
  int32x4_t acc[4][4];  // two partial sums for each of two columns
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t j = 0; j < 4; j++) acc[i][j] = N(izero)();
  }
  for (size_t g = at->groups; g > 0; g--) {
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
  const int32_t *from = at->from;
  int32_t *sums = at->sums;
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t j = 0; j < 2; j++) {
      const int32x4_t sum = vpaddq_s32(acc[i][2 * j], acc[i][2 * j + 1]);
      N(istore)(sums + 4 * j, N(iadd)(sum, N(iload)(from + 4 * j)));
    }
    from += at->from_stride;
    sums += SMR_I8_GEMM_SUMS;
  }
}

#include "kernels/i8_gemm/rows.h"
I8_ROWS(4, 8, N(i8_gemm_tile)(4, &at))
I8_ROWS(2, 8, N(i8_gemm_tile)(2, &at))
I8_ROWS(1, 8, N(i8_gemm_tile)(1, &at))
#undef I8_ROWS

static const struct smr_i8_gemm_tile_kernel N(i8_gemm_tiles)[] = {
    {4, 3, N(i8_gemm_rows_4)}, {2, 2, N(i8_gemm_rows_2)}, {1, 1, N(i8_gemm_rows_1)}};

static const struct smr_i8_gemm_funcs N(i8_gemm_funcs) = {
    .staged_bytes = 1,
    .woven = 1,
    .fills = false,
    .tiles = N(i8_gemm_tiles),
    .ends = &smr_i8_gemm_ends_neon,
    .stage = smr_i8_gemm_stage_bytes,
};
I8_GEMM_CONFIG(4, 64, 0);
#undef I8_NAME
