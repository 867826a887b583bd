// SPDX-License-Identifier: Apache-2.0
// Float product for 128-bit vectors: tiles on half panels, up to 6x8, and matrix-vector.
//
// WebAssembly's engines have 15 registers on x86. 6x8 needs all of them, if the rows of a step come
// one after the other and the multiply-adds are fused; without fused ones a product needs one
// beside its sum, and 4x8 is 1.4 times as fast as 6x8, whose sums spill. Its tiles of many rows
// have three or four, so that three do not count as few there.

#if defined(SMR_SIMD_WASM) && !defined(SMR_SIMD_RELAXED)
#define V128_SMALL
#endif

#define GEMM_NAME(name) N(f32_gemm_##name)
#include "kernels/f32_gemm/core.h"
#include "kernels/f32_gemm/gemv.h"

enum { F32_GEMM_V128_NR = 8 };

GEMM_TILE(tile_1x8, 1, 2, 0, 0, 1)
GEMM_TILE(tile_2x8, 2, 2, 0, 0, 1)
GEMM_TILE(tile_3x8, 3, 2, 0, 0, 1)
GEMM_TILE(tile_4x8, 4, 2, 0, 0, 1)
// float16 weights: fewer instances; missing rows repeat the last one.
GEMM_TILE(tile_2x8h, 2, 2, 0, 1, 0)
GEMM_TILE(tile_4x8h, 4, 2, 0, 1, 0)
#if !defined(V128_SMALL)
GEMM_TILE(tile_5x8, 5, 2, 0, 0, 1)
GEMM_TILE(tile_6x8, 6, 2, 0, 0, 1)
GEMM_TILE(tile_6x8h, 6, 2, 0, 1, 0)
#endif

#define V128_IN(part, tile) SMR_HAS(part) ? N(f32_gemm_tile_##tile) : NULL
#if defined(V128_SMALL)
#define V128_THREE f32_gemm
#define V128_TALL(part, tile)
#else
#define V128_THREE f32_gemm_short
#define V128_TALL(part, tile) , V128_IN(part, tile)
#endif

// [weight type][rows - 1]
static const N(f32_gemm_tile_function) N(f32_gemm_tiles)[2][6] = {
    {V128_IN(f32_gemm_short, 1x8), V128_IN(f32_gemm_short, 2x8), V128_IN(V128_THREE, 3x8),
     V128_IN(f32_gemm, 4x8) V128_TALL(f32_gemm, 5x8) V128_TALL(f32_gemm, 6x8)},
    {V128_IN(f32_gemm_f16w, 2x8h), V128_IN(f32_gemm_f16w, 2x8h), V128_IN(f32_gemm_f16w, 4x8h),
     V128_IN(f32_gemm_f16w, 4x8h) V128_TALL(f32_gemm_f16w, 6x8h) V128_TALL(f32_gemm_f16w, 6x8h)},
};

static void N(f32_gemm_panel)(const int f16, size_t rows, size_t columns, const float *a,
                              const float *const *indirect, const void *w, const float *bias,
                              void *out, const void *residual,
                              const struct smr_f32_gemm_params *params) {
  const size_t out_bytes = params->out_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  const size_t w_bytes = f16 ? sizeof(uint16_t) : sizeof(float);
  for (size_t j = 0; j < columns; j += F32_GEMM_V128_NR) {
    const size_t n = columns - j < F32_GEMM_V128_NR ? columns - j : F32_GEMM_V128_NR;
    const void *add = residual ? (const char *)residual + j * out_bytes : NULL;
    N(f32_gemm_tiles)
    [f16][rows - 1](rows, n, a, indirect, (const char *)w + j *w_bytes, bias ? bias + j : NULL,
                    (char *)out + j *out_bytes, add, params);
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

#if defined(V128_SMALL)
GEMM_CONFIG(4, 16, .tall_mr = 0);
#else
GEMM_CONFIG(6, 16, .tall_mr = 0);
#endif

#undef V128_IN
#undef V128_SMALL
#undef V128_TALL
#undef V128_THREE
#include "kernels/f32_gemm/core_end.h"
