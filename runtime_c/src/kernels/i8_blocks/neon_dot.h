// SPDX-License-Identifier: Apache-2.0
// Products in blocks for AArch64 with dot products of four bytes.

#define BLOCKS_ROWS 4
#define BLOCKS_VECTORS 2
#define BLOCKS_ROW_VECTORS BLOCKS_V
#define BLOCKS_SHIFT_8 0

#include "kernels/i8_blocks/neon_halves.h"

// Group j of 32 rows of 4 bits: lane j of the first and of the second 16 elements of rows of x.
#define BLOCKS_STEP(j)                                                                  \
  SMR_UNROLL for (size_t v = 0; v < nv; v++) {                                          \
    int8x16_t low, high;                                                                \
    N(blocks_halves)(w + (j) * BLOCKS_GROUP_BYTES + v * 16, masks, &low, &high);        \
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {                                        \
      sums[i][v] = vdotq_laneq_s32(sums[i][v], low, vld1q_s8(x + i * stride), j);       \
      sums[i][v] = vdotq_laneq_s32(sums[i][v], high, vld1q_s8(x + i * stride + 16), j); \
    }                                                                                   \
  }

SMR_INLINE void N(blocks_sum_4)(const size_t mr, const size_t nv,
                                const struct N(blocks_masks) * masks, const char *w,
                                const int8_t *x, size_t stride, int32x4_t (*sums)[BLOCKS_V]){
    BLOCKS_STEP(0) BLOCKS_STEP(1) BLOCKS_STEP(2) BLOCKS_STEP(3)}
#undef BLOCKS_STEP

SMR_INLINE void N(blocks_sum_8)(const size_t mr, const size_t nv, size_t groups, const char *w,
                                const int8_t *x, size_t stride, int32x4_t (*sums)[BLOCKS_V]) {
  for (; groups > 0; groups--, w += BLOCKS_GROUP_BYTES, x += SMR_NARROW_ROWS_8) {
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      const int8x16_t a = N(blocks_repeat)(x + i * stride);
      SMR_UNROLL for (size_t v = 0; v < nv; v++) {
        sums[i][v] = vdotq_s32(sums[i][v], vld1q_s8((const int8_t *)w + v * 16), a);
      }
    }
  }
}
