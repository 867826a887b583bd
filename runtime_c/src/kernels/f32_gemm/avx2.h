// SPDX-License-Identifier: Apache-2.0
// Float product for AVX2 with FMA: tiles up to 6x16, and matrix-vector.

#define GEMM_NAME(name) N(f32_gemm_##name)
#include "kernels/f32_gemm/core.h"
#include "kernels/f32_gemm/gemv.h"

#define TILES_OF_ROWS(mr)                  \
  GEMM_TILE(tile_##mr##x8, mr, 1, 0, 0, 1) \
  GEMM_TILE(tile_##mr##x16, mr, 2, 0, 0, 1)
TILES_OF_ROWS(1)
TILES_OF_ROWS(2)
TILES_OF_ROWS(3)
TILES_OF_ROWS(4)
TILES_OF_ROWS(5)
TILES_OF_ROWS(6)

// [width in half panels - 1][rows - 1]
#define TILES(in, n)                                              \
  {in && SMR_HAS(f32_gemm_short) ? N(f32_gemm_tile_1x##n) : NULL, \
   in && SMR_HAS(f32_gemm_short) ? N(f32_gemm_tile_2x##n) : NULL, \
   in && SMR_HAS(f32_gemm_short) ? N(f32_gemm_tile_3x##n) : NULL, \
   in ? N(f32_gemm_tile_4x##n) : NULL,                            \
   in ? N(f32_gemm_tile_5x##n) : NULL,                            \
   in ? N(f32_gemm_tile_6x##n) : NULL}
static const N(f32_gemm_tile_function)
    N(f32_gemm_tiles)[2][6] = {TILES(SMR_HAS(f32_gemm_half), 8), TILES(1, 16)};

static void N(f32_gemm_kernel)(size_t rows, size_t columns, const float *a,
                               const float *const *indirect, const void *w, const float *bias,
                               void *out, const void *residual,
                               const struct smr_f32_gemm_params *params) {
  const N(f32_gemm_tile_function) *const tiles = N(f32_gemm_tiles)[(columns - 1) / 8];
  tiles[rows - 1](rows, columns, a, indirect, w, bias, out, residual, params);
}

// float16 weights: fewer instances; missing rows repeat the last one.
GEMM_TILE(tile_2x16h, 2, 2, 0, 1, 0)
GEMM_TILE(tile_4x16h, 4, 2, 0, 1, 0)
GEMM_TILE(tile_5x16h, 5, 2, 0, 1, 0)
GEMM_TILE(tile_6x16h, 6, 2, 0, 1, 0)
static const N(f32_gemm_tile_function) N(f32_gemm_tiles_f16)[6] = {
    N(f32_gemm_tile_2x16h), N(f32_gemm_tile_2x16h), N(f32_gemm_tile_4x16h),
    N(f32_gemm_tile_4x16h), N(f32_gemm_tile_5x16h), N(f32_gemm_tile_6x16h)};

static void N(f32_gemm_kernel_f16w)(size_t rows, size_t columns, const float *a,
                                    const float *const *indirect, const void *w, const float *bias,
                                    void *out, const void *residual,
                                    const struct smr_f32_gemm_params *params) {
  N(f32_gemm_tiles_f16)[rows - 1](rows, columns, a, indirect, w, bias, out, residual, params);
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

GEMM_CONFIG(6, 16, .tall_mr = 0);

#undef TILES_OF_ROWS
#undef TILES
#include "kernels/f32_gemm/core_end.h"
