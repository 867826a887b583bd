// SPDX-License-Identifier: Apache-2.0
// int8 product for AArch64 with dot products: tiles up to 8x8, A by lane.

#define I8_NAME(name) N(i8_gemm_##name)

// One group of four rows of weights: lane `lane` of every row of A times eight columns.
#define DOT_STEP(lane)                                               \
  do {                                                               \
    const int8_t *group = w + (lane) * SMR_I8_GROUP * SMR_I8_PANEL;  \
    const int8x16_t b0 = vld1q_s8(group), b1 = vld1q_s8(group + 16); \
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {                     \
      acc[i][0] = vdotq_laneq_s32(acc[i][0], b0, a[i], lane);        \
      acc[i][1] = vdotq_laneq_s32(acc[i][1], b1, a[i], lane);        \
    }                                                                \
  } while (0)

// mr rows by eight columns.
SMR_INLINE void N(i8_gemm_tile)(const size_t mr, const struct smr_i8_gemm_rows *at) {
  const int8_t *staged = at->staged, *w = at->w;
  const int32_t *from = at->from;
  int32x4_t acc[8][2];
  int8x16_t a[8];
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    acc[i][0] = N(iload)(from);
    acc[i][1] = N(iload)(from + 4);
    from += at->from_stride;
  }
  size_t groups = at->groups;
  for (; groups >= 4; groups -= 4) {
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
  for (; groups > 0; groups--) {
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      int32_t four;
      memcpy(&four, staged + i * SMR_I8_GEMM_PITCH_BYTES, sizeof four);
      a[i] = vreinterpretq_s8_s32(vdupq_n_s32(four));
    }
    DOT_STEP(0);
    staged += SMR_I8_GROUP;
    w += SMR_I8_GROUP * SMR_I8_PANEL;
  }
  int32_t *sums = at->sums;
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    N(istore)(sums, acc[i][0]);
    N(istore)(sums + 4, acc[i][1]);
    sums += SMR_I8_GEMM_SUMS;
  }
}

// A single row uses whole panels, two groups at a time: eight sums hide the latency, and weights
// are read as one stream.
SMR_INLINE void N(i8_gemm_tile_1)(const struct smr_i8_gemm_rows *at) {
  const int8_t *staged = at->staged, *w = at->w;
  const size_t groups = at->groups;
  int32x4_t acc[2][4];
  SMR_UNROLL for (size_t j = 0; j < 4; j++) {
    acc[0][j] = N(iload)(at->from + 4 * j);
    acc[1][j] = N(izero)();
  }
  for (size_t left = groups / 2; left > 0; left--) {
    const int8x8_t a = vld1_s8(staged);
    SMR_UNROLL for (size_t j = 0; j < 4; j++) {
      acc[0][j] = vdotq_lane_s32(acc[0][j], vld1q_s8(w + 16 * j), a, 0);
    }
    SMR_UNROLL for (size_t j = 0; j < 4; j++) {
      acc[1][j] = vdotq_lane_s32(acc[1][j], vld1q_s8(w + 64 + 16 * j), a, 1);
    }
    staged += 2 * SMR_I8_GROUP;
    w += 2 * SMR_I8_GROUP * SMR_I8_PANEL;
  }
  if (groups % 2 != 0) {
    int32_t four;
    memcpy(&four, staged, sizeof four);
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
I8_ROWS(8, 8, N(i8_gemm_tile)(8, &at))
I8_ROWS(4, 8, N(i8_gemm_tile)(4, &at))
I8_ROWS(2, 8, N(i8_gemm_tile)(2, &at))
I8_ROWS(1, SMR_I8_PANEL, N(i8_gemm_tile_1)(&at))
#undef I8_ROWS

static const struct smr_i8_gemm_tile_kernel N(i8_gemm_tiles)[] = {{8, 7, N(i8_gemm_rows_8)},
                                                                  {4, 3, N(i8_gemm_rows_4)},
                                                                  {2, 2, N(i8_gemm_rows_2)},
                                                                  {1, 1, N(i8_gemm_rows_1)}};

static const struct smr_i8_gemm_funcs N(i8_gemm_funcs) = {
    .staged_bytes = 1,
    .woven = 1,
    .fills = false,
    .tiles = N(i8_gemm_tiles),
    .ends = &smr_i8_gemm_ends_neon,
    .stage = smr_i8_gemm_stage_bytes,
};
I8_GEMM_CONFIG(8, 64, 0);
#undef I8_NAME
#undef DOT_STEP
