// SPDX-License-Identifier: Apache-2.0
// int8 product for AArch64 with matrix multiplication of bytes: tiles up to 8x8, in pairs of rows.
//
// The instruction multiplies two rows of eight elements by two columns of eight. Rows are woven
// that way when they are staged, columns when their two groups of four are loaded.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/i8_gemm/kernels.h"

#if SMR_ARCH_AARCH64
#include "simd/neon_i8mm_begin.h"
#define I8_NAME(name) N(i8_gemm_##name)
#define I8_MR 8
#define I8_NR 64
#define I8_STAGED int8_t
#define I8_OFFSET 0
#define I8_WOVEN 2

// Rows 2i and 2i + 1 are [k / 8][2][8].
SMR_INLINE void N(i8_gemm_stage)(int8_t *staged, size_t row, size_t at, const int8_t *a, size_t n) {
  int8_t *to = staged + row / 2 * 2 * SMR_I8_GEMM_PITCH_BYTES + row % 2 * 8;
  while (n > 0) {
    int8_t *place = to + at / 8 * 16 + at % 8;
    const size_t room = 8 - at % 8, part = n < room ? n : room;
    if (part == 8) {
      memcpy(place, a, 8);
    } else {
      memcpy(place, a, part);
    }
    at += part;
    a += part;
    n -= part;
  }
}

#include "kernels/i8_gemm/narrow_neon.h"

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

// 2 * pairs rows by eight columns at `w`.
SMR_INLINE void N(i8_gemm_tile)(const size_t pairs, const int8_t *staged, const int8_t *w,
                                size_t groups, const int32_t *from, size_t from_stride,
                                int32_t *sums) {
  int32x4_t acc[4][4];  // two rows of two columns
  SMR_UNROLL for (size_t i = 0; i < pairs; i++) {
    SMR_UNROLL for (size_t j = 0; j < 4; j++) acc[i][j] = N(izero)();
  }
  size_t g = 0;
  for (; g + 2 <= groups; g += 2) {
    const int8_t *next = w + SMR_I8_GROUP * SMR_I8_PANEL;
    const int8x16_t low[2] = {vld1q_s8(w), vld1q_s8(w + 16)};
    const int8x16_t high[2] = {vld1q_s8(next), vld1q_s8(next + 16)};
    N(i8_gemm_step)(pairs, acc, staged, low, high);
    staged += 16;
    w += 2 * SMR_I8_GROUP * SMR_I8_PANEL;
  }
  if (g < groups) {
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
        const int32x4_t before = N(iload)(from + (2 * i + r) * from_stride + 4 * j);
        N(istore)(sums + (2 * i + r) * I8_NR + 4 * j, N(iadd)(before, row[r]));
      }
    }
  }
}

// A single row: dot products of whole panels, so that weights are one stream.
static void N(i8_gemm_tile_1)(const int8_t *staged, const int8_t *w, size_t groups,
                              const int32_t *from, int32_t *sums) {
  int32x4_t acc[2][4];
  SMR_UNROLL for (size_t j = 0; j < 4; j++) {
    acc[0][j] = N(iload)(from + 4 * j);
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
    N(istore)(sums + 4 * j, N(iadd)(acc[0][j], acc[1][j]));
  }
}

typedef void (*N(i8_gemm_tile_function))(const int8_t *staged, const int8_t *w, size_t groups,
                                         const int32_t *from, size_t from_stride, int32_t *sums);

#define I8MM_TILE(pairs)                                                                           \
  static void N(i8_gemm_tile_##pairs##p)(const int8_t *staged, const int8_t *w, size_t groups,     \
                                         const int32_t *from, size_t from_stride, int32_t *sums) { \
    N(i8_gemm_tile)(pairs, staged, w, groups, from, from_stride, sums);                            \
  }
I8MM_TILE(1)
I8MM_TILE(2)
I8MM_TILE(3)
I8MM_TILE(4)

static void N(i8_gemm_tiles)(size_t rows, size_t panels, const int8_t *staged, const int8_t *w,
                             size_t panel_stride_bytes, size_t groups, const int32_t *from,
                             size_t from_stride, int32_t *sums) {
  static const N(i8_gemm_tile_function)
      tiles[4] = {N(i8_gemm_tile_1p), N(i8_gemm_tile_2p), N(i8_gemm_tile_3p), N(i8_gemm_tile_4p)};
  for (size_t p = 0; p < panels; p++, w += panel_stride_bytes) {
    const size_t j = p * SMR_I8_PANEL;
    if (rows == 1) {
      N(i8_gemm_tile_1)(staged, w, groups, from + j, sums + j);
      continue;
    }
    const N(i8_gemm_tile_function) tile = tiles[(rows - 1) / 2];
    tile(staged, w, groups, from + j, from_stride, sums + j);
    tile(staged, w + 8 * SMR_I8_GROUP, groups, from + j + 8, from_stride, sums + j + 8);
  }
}

#include "kernels/i8_gemm/core.h"
I8_KERNELS(8x64__neon_i8mm, gemv__neon_i8mm)
#include "kernels/i8_gemm/core_end.h"
#undef I8MM_TILE
#include "simd/end.h"
#endif
