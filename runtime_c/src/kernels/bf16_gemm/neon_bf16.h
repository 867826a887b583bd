// SPDX-License-Identifier: Apache-2.0
// Float product in bfloat16 for AArch64: tiles up to 8x8 on half panels, as in float32, with two
// terms of a sum per instruction.

#define GEMM_NAME(name) N(bf16_gemm_##name)
#include "kernels/f32_gemm/finish.h"
#include "kernels/bf16_gemm/rows.h"

enum {
  BF16_NEON_MR = 8,
  BF16_NEON_NR = 8,
  BF16_NEON_CHUNK = 256,  // elements of a row that are rounded at once: 4 KB for all rows
};

// Rounds `count` elements of a row to bfloat16, in whole vectors padded with zeros.
SMR_INLINE void N(bf16_gemm_round)(const float *x, size_t count, uint16_t *out) {
  for (; count >= 8; count -= 8, x += 8, out += 8) {
    const bfloat16x8_t low = vcvtq_low_bf16_f32(vld1q_f32(x));
    vst1q_u16(out, vreinterpretq_u16_bf16(vcvtq_high_bf16_f32(low, vld1q_f32(x + 4))));
  }
  if (count == 0) return;
  float rest[8] = {0};
  for (size_t i = 0; i < count; i++) rest[i] = x[i];
  const bfloat16x8_t low = vcvtq_low_bf16_f32(vld1q_f32(rest));
  vst1q_u16(out, vreinterpretq_u16_bf16(vcvtq_high_bf16_f32(low, vld1q_f32(rest + 4))));
}

// One pair of terms: lane `lane` of every row times eight columns.
#define BF16_STEP(lane)                                                                         \
  do {                                                                                          \
    const bfloat16x8_t b0 = vreinterpretq_bf16_u16(vld1q_u16(wp + (lane) * 2 * SMR_PANEL));     \
    const bfloat16x8_t b1 = vreinterpretq_bf16_u16(vld1q_u16(wp + (lane) * 2 * SMR_PANEL + 8)); \
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {                                                \
      acc[i][0] = vbfdotq_laneq_f32(acc[i][0], b0, x[i], lane);                                 \
      acc[i][1] = vbfdotq_laneq_f32(acc[i][1], b1, x[i], lane);                                 \
    }                                                                                           \
  } while (0)

// mr rows, of which `rows` exist, times the eight columns at `wp`: adds `count` terms to `acc`.
SMR_INLINE void N(bf16_gemm_chunk)(const size_t mr, size_t count,
                                   uint16_t (*chunk)[BF16_NEON_CHUNK], const uint16_t *wp,
                                   float32x4_t (*acc)[2]) {
  bfloat16x8_t x[BF16_NEON_MR];
  size_t c = 0;
  for (; c + 8 <= count; c += 8, wp += 4 * 2 * SMR_PANEL) {
    SMR_UNROLL for (size_t i = 0; i < mr; i++) x[i] =
        vreinterpretq_bf16_u16(vld1q_u16(chunk[i] + c));
    BF16_STEP(0);
    BF16_STEP(1);
    BF16_STEP(2);
    BF16_STEP(3);
  }
  for (; c < count; c += 2, wp += 2 * SMR_PANEL) {
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      uint32_t pair;
      memcpy(&pair, chunk[i] + c, sizeof pair);
      x[i] = vreinterpretq_bf16_u32(vdupq_n_u32(pair));
    }
    BF16_STEP(0);
  }
}

// mr rows by eight columns at `w`. Only rows <= mr rows exist; the others repeat the last.
SMR_INLINE void N(bf16_gemm_pairs)(const size_t mr, size_t rows, size_t columns, const float *a,
                                   const float *const *pointers, const uint16_t *w,
                                   const float *bias, void *out, const void *residual,
                                   const struct smr_f32_gemm_params *params) {
  uint16_t chunk[BF16_NEON_MR][BF16_NEON_CHUNK];
  float32x4_t acc[BF16_NEON_MR][2];
  const size_t k = params->k;
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    acc[i][0] = bias ? vld1q_f32(bias) : vdupq_n_f32(0.0f);
    acc[i][1] = bias ? vld1q_f32(bias + 4) : vdupq_n_f32(0.0f);
  }
  for (size_t tap = 0; tap < params->taps; tap++) {
    for (size_t c = 0; c < k; c += BF16_NEON_CHUNK) {
      const size_t count = k - c < BF16_NEON_CHUNK ? k - c : BF16_NEON_CHUNK;
      for (size_t i = 0; i < mr; i++) {
        const size_t real = i < rows ? i : rows - 1;
        N(bf16_gemm_round)(N(bf16_gemm_row)(real, tap, a, pointers, params) + c, count, chunk[i]);
      }
      N(bf16_gemm_chunk)(mr, count, chunk, w, acc);
      w += (count + 1) / 2 * 2 * SMR_PANEL;
    }
  }
  float sums[BF16_NEON_MR * BF16_NEON_NR];
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    vst1q_f32(sums + i * BF16_NEON_NR, acc[i][0]);
    vst1q_f32(sums + i * BF16_NEON_NR + 4, acc[i][1]);
  }
  GEMM_NAME(finish)(rows, columns, sums, BF16_NEON_NR, out, residual, params);
}

static void N(bf16_gemm_kernel)(size_t rows, size_t columns, const float *a,
                                const float *const *indirect, const void *w, const float *bias,
                                void *out, const void *residual,
                                const struct smr_f32_gemm_params *params) {
  const size_t bytes = params->out_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  for (size_t j = 0; j < columns; j += BF16_NEON_NR) {
    const size_t n = columns - j < BF16_NEON_NR ? columns - j : BF16_NEON_NR;
    const uint16_t *wj = (const uint16_t *)w + 2 * j;
    const float *bj = bias ? bias + j : NULL;
    char *y = (char *)out + j * bytes;
    const char *r = residual ? (const char *)residual + j * bytes : NULL;
    if (rows == 1)
      N(bf16_gemm_pairs)(1, rows, n, a, indirect, wj, bj, y, r, params);
    else if (rows <= 4)
      N(bf16_gemm_pairs)(4, rows, n, a, indirect, wj, bj, y, r, params);
    else
      N(bf16_gemm_pairs)(8, rows, n, a, indirect, wj, bj, y, r, params);
  }
}

static void N(bf16_gemm_gemv_kernel)(size_t rows, size_t columns, const float *a,
                                     const float *const *indirect, const void *w, const float *bias,
                                     void *out, const void *residual,
                                     const struct smr_f32_gemm_params *params) {
  (void)rows, (void)indirect;
  N(bf16_gemm_gemv)(N(bf16_gemm_kernel), SMR_PANEL, columns, a, w, bias, out, residual, params);
}

#undef BF16_STEP
BF16_CONFIG(8, 16);

#undef GEMM_NAME
