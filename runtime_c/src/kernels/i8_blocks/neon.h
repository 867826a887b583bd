// SPDX-License-Identifier: Apache-2.0
// Products in blocks for AArch64 without dot products.

#define BLOCKS_ROWS 4
#define BLOCKS_VECTORS 1
#define BLOCKS_ROW_VECTORS BLOCKS_V
#define BLOCKS_SHIFT_8 0

#include "kernels/i8_blocks/neon_halves.h"

// 4 bits: two products of a column are at most 2 * 15 * 127 in int16, so that all eight of 32 rows
// fit. A lane has half of a column.
SMR_INLINE void N(blocks_sum_4)(const size_t mr, const size_t nv,
                                const struct N(blocks_masks) * masks, const char *w,
                                const int8_t *x, size_t stride, int32x4_t (*sums)[BLOCKS_V]) {
  SMR_UNROLL for (size_t v = 0; v < nv; v++) {
    int16x8_t acc[BLOCKS_ROWS][2];  // every element of four columns
    SMR_UNROLL for (size_t i = 0; i < mr; i++) acc[i][0] = acc[i][1] = vdupq_n_s16(0);
    SMR_UNROLL for (size_t j = 0; j < 4; j++) {
      int8x16_t half[2];
      N(blocks_halves)(w + j * BLOCKS_GROUP_BYTES + v * 16, masks, &half[0], &half[1]);
      SMR_UNROLL for (size_t h = 0; h < 2; h++) {
        SMR_UNROLL for (size_t i = 0; i < mr; i++) {
          const int8x16_t a = N(blocks_repeat)(x + i * stride + 16 * h + 4 * j);
          acc[i][0] = vmlal_s8(acc[i][0], vget_low_s8(a), vget_low_s8(half[h]));
          acc[i][1] = vmlal_high_s8(acc[i][1], a, half[h]);
        }
      }
    }
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      sums[i][v] =
          vaddq_s32(sums[i][v], vpaddq_s32(vpaddlq_s16(acc[i][0]), vpaddlq_s16(acc[i][1])));
    }
  }
}

SMR_INLINE void N(blocks_sum_8)(const size_t mr, const size_t nv, size_t groups, const char *w,
                                const int8_t *x, size_t stride, int32x4_t (*sums)[BLOCKS_V]) {
  int32x4_t acc[BLOCKS_ROWS][BLOCKS_V][2];
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t v = 0; v < nv; v++) acc[i][v][0] = acc[i][v][1] = N(izero)();
  }
  for (; groups > 0; groups--, w += BLOCKS_GROUP_BYTES, x += SMR_NARROW_ROWS_8) {
    SMR_UNROLL for (size_t v = 0; v < nv; v++) {
      const int8x16_t q = vld1q_s8((const int8_t *)w + v * 16);
      SMR_UNROLL for (size_t i = 0; i < mr; i++) {
        const int8x16_t a = N(blocks_repeat)(x + i * stride);
        acc[i][v][0] = vpadalq_s16(acc[i][v][0], vmull_s8(vget_low_s8(a), vget_low_s8(q)));
        acc[i][v][1] = vpadalq_s16(acc[i][v][1], vmull_high_s8(a, q));
      }
    }
  }
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t v = 0; v < nv; v++) {
      sums[i][v] = vaddq_s32(sums[i][v], vpaddq_s32(acc[i][v][0], acc[i][v][1]));
    }
  }
}
