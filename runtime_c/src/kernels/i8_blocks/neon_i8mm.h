// SPDX-License-Identifier: Apache-2.0
// Products in blocks for AArch64 with matrix multiplication of bytes.
//
// The instruction multiplies two rows of eight elements by two columns of eight: two neighbouring
// groups of weights are interleaved when they are loaded. A single row uses dot products.

#define BLOCKS_ROWS 8
#define BLOCKS_VECTORS 1
#define BLOCKS_ROW_VECTORS BLOCKS_V
#define BLOCKS_SHIFT_8 0

#include "kernels/i8_blocks/neon_halves.h"

// acc[pairs][2] += rows of x, two at a time, by eight elements of four columns: their first four in
// `a`, the others in `b`.
SMR_INLINE void N(blocks_square)(const size_t pairs, int8x16_t a, int8x16_t b, const int8_t *x,
                                 size_t stride, int32x4_t (*acc)[2]) {
  const int32x4_t first = vreinterpretq_s32_s8(a), second = vreinterpretq_s32_s8(b);
  const int8x16_t w[2] = {vreinterpretq_s8_s32(vzip1q_s32(first, second)),
                          vreinterpretq_s8_s32(vzip2q_s32(first, second))};
  SMR_UNROLL for (size_t i = 0; i < pairs; i++) {
    const int8x16_t two =
        vcombine_s8(vld1_s8(x + 2 * i * stride), vld1_s8(x + (2 * i + 1) * stride));
    acc[i][0] = vmmlaq_s32(acc[i][0], two, w[0]);
    acc[i][1] = vmmlaq_s32(acc[i][1], two, w[1]);
  }
}

SMR_INLINE void N(blocks_add_squares)(const size_t pairs, int32x4_t (*acc)[2],
                                      int32x4_t (*sums)[BLOCKS_V]) {
  SMR_UNROLL for (size_t i = 0; i < pairs; i++) {
    const int64x2_t a = vreinterpretq_s64_s32(acc[i][0]), b = vreinterpretq_s64_s32(acc[i][1]);
    const int32x4_t even = vreinterpretq_s32_s64(vzip1q_s64(a, b));
    const int32x4_t odd = vreinterpretq_s32_s64(vzip2q_s64(a, b));
    sums[2 * i][0] = vaddq_s32(sums[2 * i][0], even);
    sums[2 * i + 1][0] = vaddq_s32(sums[2 * i + 1][0], odd);
  }
}

#define BLOCKS_STEP(j)                                                           \
  SMR_UNROLL for (size_t v = 0; v < nv; v++) {                                   \
    int8x16_t low, high;                                                         \
    N(blocks_halves)(w + (j) * BLOCKS_GROUP_BYTES + v * 16, masks, &low, &high); \
    sums[0][v] = vdotq_laneq_s32(sums[0][v], low, vld1q_s8(x), j);               \
    sums[0][v] = vdotq_laneq_s32(sums[0][v], high, vld1q_s8(x + 16), j);         \
  }

SMR_INLINE void N(blocks_sum_4)(const size_t mr, const size_t nv,
                                const struct N(blocks_masks) * masks, const char *w,
                                const int8_t *x, size_t stride, int32x4_t (*sums)[BLOCKS_V]) {
  if (mr == 1) {
    BLOCKS_STEP(0)
    BLOCKS_STEP(1)
    BLOCKS_STEP(2)
    BLOCKS_STEP(3)
    return;
  }
  int32x4_t acc[BLOCKS_ROWS / 2][2];
  SMR_UNROLL for (size_t i = 0; i < mr / 2; i++) acc[i][0] = acc[i][1] = N(izero)();
  SMR_UNROLL for (size_t j = 0; j < 4; j += 2) {
    int8x16_t low[2], high[2];
    N(blocks_halves)(w + j * BLOCKS_GROUP_BYTES, masks, &low[0], &high[0]);
    N(blocks_halves)(w + (j + 1) * BLOCKS_GROUP_BYTES, masks, &low[1], &high[1]);
    N(blocks_square)(mr / 2, low[0], low[1], x + 4 * j, stride, acc);
    N(blocks_square)(mr / 2, high[0], high[1], x + 16 + 4 * j, stride, acc);
  }
  N(blocks_add_squares)(mr / 2, acc, sums);
}
#undef BLOCKS_STEP

SMR_INLINE void N(blocks_sum_8)(const size_t mr, const size_t nv, size_t groups, const char *w,
                                const int8_t *x, size_t stride, int32x4_t (*sums)[BLOCKS_V]) {
  const int8_t *q = (const int8_t *)w;
  if (mr == 1) {
    for (; groups > 0; groups--, q += BLOCKS_GROUP_BYTES, x += SMR_NARROW_ROWS_8) {
      const int8x16_t a = N(blocks_repeat)(x);
      SMR_UNROLL for (size_t v = 0; v < nv; v++) {
        sums[0][v] = vdotq_s32(sums[0][v], vld1q_s8(q + v * 16), a);
      }
    }
    return;
  }
  int32x4_t acc[BLOCKS_ROWS / 2][2];
  SMR_UNROLL for (size_t i = 0; i < mr / 2; i++) acc[i][0] = acc[i][1] = N(izero)();
  for (; groups >= 2; groups -= 2, q += 2 * BLOCKS_GROUP_BYTES, x += 2 * SMR_NARROW_ROWS_8)
    N(blocks_square)(mr / 2, vld1q_s8(q), vld1q_s8(q + BLOCKS_GROUP_BYTES), x, stride, acc);
  // Rows of x are filled up with zeros to a multiple of eight.
  if (groups > 0) N(blocks_square)(mr / 2, vld1q_s8(q), vdupq_n_s8(0), x, stride, acc);
  N(blocks_add_squares)(mr / 2, acc, sums);
}
