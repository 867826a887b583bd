// SPDX-License-Identifier: Apache-2.0
// int8 product for AArch64 with dot products: tiles up to 8x8, A by lane.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/i8_gemm/kernels.h"

#if SMR_ARCH_AARCH64
#include "simd/neon_dot_begin.h"
#define I8_NAME(name) N(i8_gemm_##name)
#define I8_MR 8
#define I8_NR 64
#define I8_STAGED int8_t
#define I8_OFFSET 0

SMR_INLINE void N(i8_gemm_stage)(int8_t *staged, size_t row, size_t at, const int8_t *a, size_t n) {
  memcpy(staged + row * SMR_I8_GEMM_PITCH_BYTES + at, a, n);
}

#include "kernels/i8_gemm/narrow_neon.h"

// One group of four of a tile: lane `lane` of every row times eight columns.
#define DOT_STEP(lane)                                           \
  do {                                                           \
    const int8_t *at = w + (lane) * SMR_I8_GROUP * SMR_I8_PANEL; \
    const int8x16_t b0 = vld1q_s8(at), b1 = vld1q_s8(at + 16);   \
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {                 \
      acc[i][0] = vdotq_laneq_s32(acc[i][0], b0, a[i], lane);    \
      acc[i][1] = vdotq_laneq_s32(acc[i][1], b1, a[i], lane);    \
    }                                                            \
  } while (0)

// mr rows by eight columns at `w`.
SMR_INLINE void N(i8_gemm_tile)(const size_t mr, const int8_t *staged, const int8_t *w,
                                size_t groups, const int32_t *from, size_t from_stride,
                                int32_t *sums) {
  int32x4_t acc[8][2];
  int8x16_t a[8];
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    acc[i][0] = N(iload)(from + i * from_stride);
    acc[i][1] = N(iload)(from + i * from_stride + 4);
  }
  size_t g = 0;
  for (; g + 4 <= groups; g += 4) {
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      a[i] = vld1q_s8(staged + i * SMR_I8_GEMM_PITCH_BYTES);
    }
    DOT_STEP(0);
    DOT_STEP(1);
    DOT_STEP(2);
    DOT_STEP(3);
    staged += 4 * SMR_I8_GROUP;
    w += 4 * SMR_I8_GROUP * SMR_I8_PANEL;
  }
  for (; g < groups; g++) {
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      int32_t four;
      memcpy(&four, staged + i * SMR_I8_GEMM_PITCH_BYTES, sizeof four);
      a[i] = vreinterpretq_s8_s32(vdupq_n_s32(four));
    }
    DOT_STEP(0);
    staged += SMR_I8_GROUP;
    w += SMR_I8_GROUP * SMR_I8_PANEL;
  }
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    N(istore)(sums + i * I8_NR, acc[i][0]);
    N(istore)(sums + i * I8_NR + 4, acc[i][1]);
  }
}

typedef void (*N(i8_gemm_tile_function))(const int8_t *staged, const int8_t *w, size_t groups,
                                         const int32_t *from, size_t from_stride, int32_t *sums);

#define DOT_TILE(mr)                                                                         \
  static void N(i8_gemm_tile_##mr)(const int8_t *staged, const int8_t *w, size_t groups,     \
                                   const int32_t *from, size_t from_stride, int32_t *sums) { \
    N(i8_gemm_tile)(mr, staged, w, groups, from, from_stride, sums);                         \
  }
DOT_TILE(2)
DOT_TILE(3)
DOT_TILE(4)
DOT_TILE(5)
DOT_TILE(6)
DOT_TILE(7)
DOT_TILE(8)

// A single row takes whole panels, two groups at a time: eight sums hide the latency, and weights
// are one stream.
static void N(i8_gemm_tile_1)(const int8_t *staged, const int8_t *w, size_t groups,
                              const int32_t *from, int32_t *sums) {
  int32x4_t acc[2][4];
  SMR_UNROLL for (size_t j = 0; j < 4; j++) {
    acc[0][j] = N(iload)(from + 4 * j);
    acc[1][j] = N(izero)();
  }
  for (size_t g = 0; g < groups; g++, staged += SMR_I8_GROUP, w += SMR_I8_GROUP * SMR_I8_PANEL) {
    int32_t four;
    memcpy(&four, staged, sizeof four);
    const int8x16_t a = vreinterpretq_s8_s32(vdupq_n_s32(four));
    SMR_UNROLL for (size_t j = 0; j < 4; j++) {
      acc[0][j] = vdotq_s32(acc[0][j], vld1q_s8(w + 16 * j), a);
    }
    if (++g == groups) break;
    staged += SMR_I8_GROUP;
    w += SMR_I8_GROUP * SMR_I8_PANEL;
    memcpy(&four, staged, sizeof four);
    const int8x16_t next = vreinterpretq_s8_s32(vdupq_n_s32(four));
    SMR_UNROLL for (size_t j = 0; j < 4; j++) {
      acc[1][j] = vdotq_s32(acc[1][j], vld1q_s8(w + 16 * j), next);
    }
  }
  SMR_UNROLL for (size_t j = 0; j < 4; j++) {
    N(istore)(sums + 4 * j, N(iadd)(acc[0][j], acc[1][j]));
  }
}

static void N(i8_gemm_tiles)(size_t rows, size_t panels, const int8_t *staged, const int8_t *w,
                             size_t panel_stride_bytes, size_t groups, const int32_t *from,
                             size_t from_stride, int32_t *sums) {
  static const N(i8_gemm_tile_function)
      tiles[7] = {N(i8_gemm_tile_2), N(i8_gemm_tile_3), N(i8_gemm_tile_4), N(i8_gemm_tile_5),
                  N(i8_gemm_tile_6), N(i8_gemm_tile_7), N(i8_gemm_tile_8)};
  for (size_t p = 0; p < panels; p++, w += panel_stride_bytes) {
    const size_t j = p * SMR_I8_PANEL;
    if (rows == 1) {
      N(i8_gemm_tile_1)(staged, w, groups, from + j, sums + j);
      continue;
    }
    const N(i8_gemm_tile_function) tile = tiles[rows - 2];
    tile(staged, w, groups, from + j, from_stride, sums + j);
    tile(staged, w + 8 * SMR_I8_GROUP, groups, from + j + 8, from_stride, sums + j + 8);
  }
}

#include "kernels/i8_gemm/core.h"
I8_KERNELS(8x64__neon_dot, gemv__neon_dot)
#include "kernels/i8_gemm/core_end.h"
#undef DOT_STEP
#undef DOT_TILE
#include "simd/end.h"
#endif
