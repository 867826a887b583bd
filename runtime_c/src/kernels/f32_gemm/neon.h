// SPDX-License-Identifier: Apache-2.0
// Float product for AArch64: tiles up to 8x8 on half panels (GCC spills no registers there).
//
// Four elements of A are loaded at a time and multiplied by lane, without broadcasts.

#define GEMM_NAME(name) N(f32_gemm_##name)
#include "kernels/f32_gemm/finish.h"
#include "kernels/f32_gemm/gemv.h"

enum { F32_GEMM_NEON_MR = 8, F32_GEMM_NEON_NR = 8 };

SMR_INLINE float32x4_t N(f32_gemm_weights)(const char *w, size_t j, const int f16) {
  return f16 ? N(load_f16)((const uint16_t *)(const void *)w + 4 * j)
             : N(load)((const float *)(const void *)w + 4 * j);
}

// One k of a tile: lane `lane` of every row times eight columns.
#define NEON_STEP(lane)                                                     \
  do {                                                                      \
    const float32x4_t b0 = N(f32_gemm_weights)(wp + (lane) * step, 0, f16); \
    const float32x4_t b1 = N(f32_gemm_weights)(wp + (lane) * step, 1, f16); \
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {                            \
      acc[i][0] = vfmaq_laneq_f32(acc[i][0], b0, x[i], lane);               \
      acc[i][1] = vfmaq_laneq_f32(acc[i][1], b1, x[i], lane);               \
    }                                                                       \
  } while (0)

// mr rows by eight columns at `w`. Only rows <= mr rows exist; the others repeat the last.
SMR_INLINE void N(f32_gemm_tile)(const size_t mr, const int f16, size_t rows, size_t columns,
                                 const float *a, const float *const *pointers, const void *w,
                                 const float *bias, void *out, const void *residual,
                                 const struct smr_f32_gemm_params *params) {
  float32x4_t acc[F32_GEMM_NEON_MR][2];
  const float *row[F32_GEMM_NEON_MR];
  const size_t step = SMR_PANEL * (f16 ? sizeof(uint16_t) : sizeof(float));
  const size_t k = params->k, taps = SMR_HAS(f32_gemm_indirect) ? params->taps : 1;
  const char *wp = (const char *)w;
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    acc[i][0] = bias ? N(load)(bias) : N(zero)();
    acc[i][1] = bias ? N(load)(bias + 4) : N(zero)();
  }
  for (size_t tap = 0; tap < taps; tap++) {
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      const size_t real = i < rows ? i : rows - 1;
      if (SMR_HAS(f32_gemm_indirect) && pointers) {
        const float *p = pointers[real * taps + tap];
        row[i] = p == params->zero
                     ? p
                     : (const float *)(const void *)((const char *)p + params->a_offset_bytes);
      } else {
        row[i] = a + real * params->a_stride;
      }
    }
    size_t c = 0;
    for (; c + 4 <= k; c += 4) {
      float32x4_t x[F32_GEMM_NEON_MR];
      SMR_UNROLL for (size_t i = 0; i < mr; i++) {
        x[i] = N(load)(row[i]);
        row[i] += 4;
      }
      NEON_STEP(0);
      NEON_STEP(1);
      NEON_STEP(2);
      NEON_STEP(3);
      wp += 4 * step;
    }
    for (; c < k; c++) {
      const float32x4_t b0 = N(f32_gemm_weights)(wp, 0, f16);
      const float32x4_t b1 = N(f32_gemm_weights)(wp, 1, f16);
      SMR_UNROLL for (size_t i = 0; i < mr; i++) {
        const float32x4_t x = vld1q_dup_f32(row[i]);
        row[i]++;
        acc[i][0] = vfmaq_f32(acc[i][0], b0, x);
        acc[i][1] = vfmaq_f32(acc[i][1], b1, x);
      }
      wp += step;
    }
  }
  if (!residual && params->out_type == SMR_GEMM_F32 && columns == F32_GEMM_NEON_NR && rows == mr) {
    const float32x4_t lo = N(set1)(params->lo), hi = N(set1)(params->hi);
    float *p = (float *)out;
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      N(store)(p, N(clamp)(acc[i][0], lo, hi));
      N(store)(p + 4, N(clamp)(acc[i][1], lo, hi));
      p += params->out_stride;
    }
    return;
  }
  float sums[F32_GEMM_NEON_MR * F32_GEMM_NEON_NR];
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    N(store)(sums + i * F32_GEMM_NEON_NR, acc[i][0]);
    N(store)(sums + i * F32_GEMM_NEON_NR + 4, acc[i][1]);
  }
  N(f32_gemm_finish)(rows, columns, sums, F32_GEMM_NEON_NR, out, residual, params);
}

typedef void (*N(f32_gemm_tile_function))(size_t rows, size_t columns, const float *a,
                                          const float *const *pointers, const void *w,
                                          const float *bias, void *out, const void *residual,
                                          const struct smr_f32_gemm_params *params);

#define NEON_TILE(name, mr, f16)                                                                 \
  static void N(f32_gemm_##name)(size_t rows, size_t columns, const float *a,                    \
                                 const float *const *pointers, const void *w, const float *bias, \
                                 void *out, const void *residual,                                \
                                 const struct smr_f32_gemm_params *params) {                     \
    N(f32_gemm_tile)(mr, f16, rows, columns, a, pointers, w, bias, out, residual, params);       \
  }
NEON_TILE(tile_1x8, 1, 0)
NEON_TILE(tile_2x8, 2, 0)
NEON_TILE(tile_3x8, 3, 0)
NEON_TILE(tile_4x8, 4, 0)
NEON_TILE(tile_5x8, 5, 0)
NEON_TILE(tile_6x8, 6, 0)
NEON_TILE(tile_7x8, 7, 0)
NEON_TILE(tile_8x8, 8, 0)
NEON_TILE(tile_2x8h, 2, 1)
NEON_TILE(tile_4x8h, 4, 1)
NEON_TILE(tile_6x8h, 6, 1)
NEON_TILE(tile_8x8h, 8, 1)

#define NEON_IN(part, tile) SMR_HAS(part) ? N(f32_gemm_tile_##tile) : NULL

// [weight type][rows - 1]
static const N(f32_gemm_tile_function) N(f32_gemm_tiles)[2][8] = {
    {NEON_IN(f32_gemm_short, 1x8), NEON_IN(f32_gemm_short, 2x8), NEON_IN(f32_gemm_short, 3x8),
     NEON_IN(f32_gemm, 4x8), NEON_IN(f32_gemm, 5x8), NEON_IN(f32_gemm, 6x8), NEON_IN(f32_gemm, 7x8),
     NEON_IN(f32_gemm, 8x8)},
    {NEON_IN(f32_gemm_f16w, 2x8h), NEON_IN(f32_gemm_f16w, 2x8h), NEON_IN(f32_gemm_f16w, 4x8h),
     NEON_IN(f32_gemm_f16w, 4x8h), NEON_IN(f32_gemm_f16w, 6x8h), NEON_IN(f32_gemm_f16w, 6x8h),
     NEON_IN(f32_gemm_f16w, 8x8h), NEON_IN(f32_gemm_f16w, 8x8h)},
};

static void N(f32_gemm_panel)(const int f16, size_t rows, size_t columns, const float *a,
                              const float *const *indirect, const void *w, const float *bias,
                              void *out, const void *residual,
                              const struct smr_f32_gemm_params *params) {
  const size_t out_bytes = params->out_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  const size_t w_bytes = f16 ? sizeof(uint16_t) : sizeof(float);
  for (size_t j = 0; j < columns; j += F32_GEMM_NEON_NR) {
    const size_t n = columns - j < F32_GEMM_NEON_NR ? columns - j : F32_GEMM_NEON_NR;
    N(f32_gemm_tiles)
    [f16][rows - 1](rows, n, a, indirect, (const char *)w + j *w_bytes, bias ? bias + j : NULL,
                    (char *)out + j *out_bytes,
                    residual ? (const char *)residual + j *out_bytes : NULL, params);
  }
}

static void N(f32_gemm_kernel)(size_t rows, size_t columns, const float *a,
                               const float *const *indirect, const void *w, const float *bias,
                               void *out, const void *residual,
                               const struct smr_f32_gemm_params *params) {
  N(f32_gemm_panel)(0, rows, columns, a, indirect, w, bias, out, residual, params);
}

static void N(f32_gemm_kernel_f16w)(size_t rows, size_t columns, const float *a,
                                    const float *const *indirect, const void *w, const float *bias,
                                    void *out, const void *residual,
                                    const struct smr_f32_gemm_params *params) {
  N(f32_gemm_panel)(1, rows, columns, a, indirect, w, bias, out, residual, params);
}

static void N(f32_gemm_gemv_kernel)(size_t rows, size_t columns, const float *a,
                                    const float *const *indirect, const void *w, const float *bias,
                                    void *out, const void *residual,
                                    const struct smr_f32_gemm_params *params) {
  (void)rows, (void)indirect;
  N(f32_gemm_gemv)(0, columns, a, w, bias, out, residual, params);
}

static void N(f32_gemm_gemv_kernel_f16w)(size_t rows, size_t columns, const float *a,
                                         const float *const *indirect, const void *w,
                                         const float *bias, void *out, const void *residual,
                                         const struct smr_f32_gemm_params *params) {
  (void)rows, (void)indirect;
  N(f32_gemm_gemv)(1, columns, a, w, bias, out, residual, params);
}

GEMM_CONFIG(8, 16, .tall_mr = 0);

#undef NEON_STEP
#undef NEON_TILE
#undef NEON_IN
#undef GEMM_NAME
