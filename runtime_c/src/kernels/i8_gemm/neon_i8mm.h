// SPDX-License-Identifier: Apache-2.0
// int8 product for AArch64 with matrix multiplication of bytes: tiles up to 8x8, in pairs of rows.
//
// The instruction multiplies two rows of eight elements by two columns of eight. Staging
// interleaves rows accordingly; columns are interleaved when their two groups of four are loaded.

#define I8_NAME(name) N(i8_gemm_##name)

// Copies fewer than eight bytes.
SMR_INLINE void N(i8_gemm_few)(int8_t *to, const int8_t *a, size_t n) {
  if (n & 4) {
    memcpy(to, a, 4);
    to += 4;
    a += 4;
  }
  if (n & 2) {
    memcpy(to, a, 2);
    to += 2;
    a += 2;
  }
  if (n & 1) *to = *a;
}

// Rows 2i and 2i + 1 are [k / 8][2][8].
static void N(i8_gemm_stage)(size_t rows, const int8_t *const *rows_of_a, size_t n, size_t at,
                             void *staged) {
  for (size_t row = 0; row < rows; row++) {
    const int8_t *a = rows_of_a[row];
    int8_t *to =
        (int8_t *)staged + row / 2 * 2 * SMR_I8_GEMM_PITCH_BYTES + row % 2 * 8 + at / 8 * 16;
    size_t left = n;
    if (at % 8 != 0) {
      const size_t room = 8 - at % 8, part = left < room ? left : room;
      N(i8_gemm_few)(to + at % 8, a, part);
      to += 16;
      a += part;
      left -= part;
    }
    for (; left >= 8; left -= 8) {
      memcpy(to, a, 8);
      to += 16;
      a += 8;
    }
    N(i8_gemm_few)(to, a, left);
  }
}

// Eight columns of two groups of four: b[j] has eight elements of columns 2j and 2j + 1.
SMR_INLINE void N(i8_gemm_weave)(int8x16_t *b, const int8x16_t *low, const int8x16_t *high) {
  SMR_UNROLL for (size_t j = 0; j < 2; j++) {
    const int32x4_t x = vreinterpretq_s32_s8(low[j]), y = vreinterpretq_s32_s8(high[j]);
    b[2 * j] = vreinterpretq_s8_s32(vzip1q_s32(x, y));
    b[2 * j + 1] = vreinterpretq_s8_s32(vzip2q_s32(x, y));
  }
}

// Two groups of a tile.
SMR_INLINE void N(i8_gemm_step)(const size_t pairs, int32x4_t (*acc)[4], const int8_t *staged,
                                const int8x16_t *low, const int8x16_t *high) {
  int8x16_t b[4];
  N(i8_gemm_weave)(b, low, high);
  SMR_UNROLL for (size_t i = 0; i < pairs; i++) {
    const int8x16_t a = vld1q_s8(staged + i * 2 * SMR_I8_GEMM_PITCH_BYTES);
    SMR_UNROLL for (size_t j = 0; j < 4; j++) acc[i][j] = vmmlaq_s32(acc[i][j], a, b[j]);
  }
}

// 2 * pairs rows by eight columns.
SMR_INLINE void N(i8_gemm_tile)(const size_t pairs, const struct smr_i8_gemm_rows *at) {
  const int8_t *staged = at->staged, *w = at->w;
  int32x4_t acc[4][4];  // two rows of two columns
  SMR_UNROLL for (size_t i = 0; i < pairs; i++) {
    SMR_UNROLL for (size_t j = 0; j < 4; j++) acc[i][j] = N(izero)();
  }
  size_t groups = at->groups;
  for (; groups >= 2; groups -= 2) {
    const int8_t *next = w + SMR_I8_GROUP * SMR_I8_PANEL;
    const int8x16_t low[2] = {vld1q_s8(w), vld1q_s8(w + 16)};
    const int8x16_t high[2] = {vld1q_s8(next), vld1q_s8(next + 16)};
    N(i8_gemm_step)(pairs, acc, staged, low, high);
    staged += 16;
    w += 2 * SMR_I8_GROUP * SMR_I8_PANEL;
  }
  if (groups > 0) {
    const int8x16_t low[2] = {vld1q_s8(w), vld1q_s8(w + 16)};
    const int8x16_t high[2] = {vdupq_n_s8(0), vdupq_n_s8(0)};
    N(i8_gemm_step)(pairs, acc, staged, low, high);
  }
  SMR_UNROLL for (size_t i = 0; i < pairs; i++) {
    SMR_UNROLL for (size_t j = 0; j < 2; j++) {
      const int64x2_t x = vreinterpretq_s64_s32(acc[i][2 * j]);
      const int64x2_t y = vreinterpretq_s64_s32(acc[i][2 * j + 1]);
      const int32x4_t row[2] = {vreinterpretq_s32_s64(vzip1q_s64(x, y)),
                                vreinterpretq_s32_s64(vzip2q_s64(x, y))};
      SMR_UNROLL for (size_t r = 0; r < 2; r++) {
        const int32x4_t before = N(iload)(at->from + (2 * i + r) * at->from_stride + 4 * j);
        N(istore)(at->sums + (2 * i + r) * SMR_I8_GEMM_SUMS + 4 * j, N(iadd)(before, row[r]));
      }
    }
  }
}

// A single row: dot products of whole panels, so that weights are read as one stream.
SMR_INLINE void N(i8_gemm_tile_1)(const struct smr_i8_gemm_rows *at) {
  const int8_t *staged = at->staged, *w = at->w;
  const size_t groups = at->groups;
  int32x4_t acc[2][4];
  SMR_UNROLL for (size_t j = 0; j < 4; j++) {
    acc[0][j] = N(iload)(at->from + 4 * j);
    acc[1][j] = N(izero)();
  }
  for (size_t g = 0; g + 2 <= groups; g += 2) {
    int32_t four[2];
    memcpy(four, staged + g * 8, sizeof four);
    SMR_UNROLL for (size_t i = 0; i < 2; i++) {
      const int8x16_t a = vreinterpretq_s8_s32(vdupq_n_s32(four[i]));
      SMR_UNROLL for (size_t j = 0; j < 4; j++) {
        acc[i][j] = vdotq_s32(acc[i][j], vld1q_s8(w + i * 64 + 16 * j), a);
      }
    }
    w += 2 * SMR_I8_GROUP * SMR_I8_PANEL;
  }
  if (groups % 2 != 0) {
    int32_t four;
    memcpy(&four, staged + (groups - 1) * 8, sizeof four);
    const int8x16_t a = vreinterpretq_s8_s32(vdupq_n_s32(four));
    SMR_UNROLL for (size_t j = 0; j < 4; j++) {
      acc[0][j] = vdotq_s32(acc[0][j], vld1q_s8(w + 16 * j), a);
    }
  }
  SMR_UNROLL for (size_t j = 0; j < 4; j++) {
    N(istore)(at->sums + 4 * j, N(iadd)(acc[0][j], acc[1][j]));
  }
}

#include "kernels/i8_gemm/rows.h"
I8_ROWS(8, 8, N(i8_gemm_tile)(4, &at))
I8_ROWS(4, 8, N(i8_gemm_tile)(2, &at))
I8_ROWS(2, 8, N(i8_gemm_tile)(1, &at))
I8_ROWS(1, SMR_I8_PANEL, N(i8_gemm_tile_1)(&at))
#undef I8_ROWS

static const struct smr_i8_gemm_tile_kernel N(i8_gemm_tiles)[] = {{8, 7, N(i8_gemm_rows_8)},
                                                                  {4, 3, N(i8_gemm_rows_4)},
                                                                  {2, 2, N(i8_gemm_rows_2)},
                                                                  {1, 1, N(i8_gemm_rows_1)}};

static const struct smr_i8_gemm_funcs N(i8_gemm_funcs) = {
    .staged_bytes = 1,
    .woven = 2,
    .fills = false,
    .tiles = N(i8_gemm_tiles),
    .ends = &smr_i8_gemm_ends_neon,
    .stage = N(i8_gemm_stage),
};
I8_GEMM_CONFIG(8, 64, 0);
#undef I8_NAME
