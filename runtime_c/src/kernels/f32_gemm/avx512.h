// SPDX-License-Identifier: Apache-2.0
// Float product for AVX-512: tiles up to 8x48, 14x16 for a single panel, and matrix-vector.

#define GEMM_NAME(name) N(f32_gemm_##name)
#include "kernels/f32_gemm/core.h"
#include "kernels/f32_gemm/gemv.h"

#define TILES_OF_ROWS(mr)                   \
  GEMM_TILE(tile_##mr##x8, mr, 0, 1, 0, 1)  \
  GEMM_TILE(tile_##mr##x16, mr, 1, 0, 0, 1) \
  GEMM_TILE(tile_##mr##x24, mr, 1, 1, 0, 1) \
  GEMM_TILE(tile_##mr##x32, mr, 2, 0, 0, 1) \
  GEMM_TILE(tile_##mr##x48, mr, 3, 0, 0, 1)
TILES_OF_ROWS(1)
TILES_OF_ROWS(2)
TILES_OF_ROWS(3)
TILES_OF_ROWS(4)
TILES_OF_ROWS(5)
TILES_OF_ROWS(6)
TILES_OF_ROWS(7)
TILES_OF_ROWS(8)

// [width in half panels - 1][rows - 1]
#define TILES(in, n)                                              \
  {in && SMR_HAS(f32_gemm_short) ? N(f32_gemm_tile_1x##n) : NULL, \
   in && SMR_HAS(f32_gemm_short) ? N(f32_gemm_tile_2x##n) : NULL, \
   in && SMR_HAS(f32_gemm_short) ? N(f32_gemm_tile_3x##n) : NULL, \
   in ? N(f32_gemm_tile_4x##n) : NULL,                            \
   in ? N(f32_gemm_tile_5x##n) : NULL,                            \
   in ? N(f32_gemm_tile_6x##n) : NULL,                            \
   in ? N(f32_gemm_tile_7x##n) : NULL,                            \
   in ? N(f32_gemm_tile_8x##n) : NULL}
static const N(f32_gemm_tile_function) N(f32_gemm_tiles)[6][8] = {TILES(SMR_HAS(f32_gemm_half), 8),
                                                                  TILES(1, 16),
                                                                  TILES(SMR_HAS(f32_gemm_half), 24),
                                                                  TILES(1, 32),
                                                                  TILES(1, 48),
                                                                  TILES(1, 48)};

static void N(f32_gemm_kernel)(size_t rows, size_t columns, const float *a,
                               const float *const *indirect, const void *w, const float *bias,
                               void *out, const void *residual,
                               const struct smr_f32_gemm_params *params) {
  const N(f32_gemm_tile_function) *const tiles = N(f32_gemm_tiles)[(columns - 1) / 8];
  tiles[rows - 1](rows, columns, a, indirect, w, bias, out, residual, params);
}

// float16 weights: fewer instances; missing rows repeat the last one.
#define TILES_OF_ROWS_F16(mr)                \
  GEMM_TILE(tile_##mr##x16h, mr, 1, 0, 1, 0) \
  GEMM_TILE(tile_##mr##x32h, mr, 2, 0, 1, 0) \
  GEMM_TILE(tile_##mr##x48h, mr, 3, 0, 1, 0)
TILES_OF_ROWS_F16(2)
TILES_OF_ROWS_F16(4)
TILES_OF_ROWS_F16(7)
TILES_OF_ROWS_F16(8)

#define TILES_F16(n)                                                                \
  {N(f32_gemm_tile_2x##n##h), N(f32_gemm_tile_4x##n##h), N(f32_gemm_tile_7x##n##h), \
   N(f32_gemm_tile_8x##n##h)}
static const N(f32_gemm_tile_function)
    N(f32_gemm_tiles_f16)[3][4] = {TILES_F16(16), TILES_F16(32), TILES_F16(48)};

static void N(f32_gemm_kernel_f16w)(size_t rows, size_t columns, const float *a,
                                    const float *const *indirect, const void *w, const float *bias,
                                    void *out, const void *residual,
                                    const struct smr_f32_gemm_params *params) {
  const size_t height = rows <= 2 ? 0 : rows <= 4 ? 1 : rows <= 7 ? 2 : 3;
  const N(f32_gemm_tile_function) *const tiles = N(f32_gemm_tiles_f16)[(columns - 1) / 16];
  tiles[height](rows, columns, a, indirect, w, bias, out, residual, params);
}

GEMM_TILE_STRIDED(tile_9x16, 9, 1)
GEMM_TILE_STRIDED(tile_10x16, 10, 1)
GEMM_TILE_STRIDED(tile_11x16, 11, 1)
GEMM_TILE_STRIDED(tile_12x16, 12, 1)
GEMM_TILE_STRIDED(tile_13x16, 13, 1)
GEMM_TILE_STRIDED(tile_14x16, 14, 1)
static const N(f32_gemm_tile_function)
    N(f32_gemm_tiles_tall)[14] = {SMR_HAS(f32_gemm_short) ? N(f32_gemm_tile_1x16) : NULL,
                                  SMR_HAS(f32_gemm_short) ? N(f32_gemm_tile_2x16) : NULL,
                                  SMR_HAS(f32_gemm_short) ? N(f32_gemm_tile_3x16) : NULL,
                                  N(f32_gemm_tile_4x16),
                                  N(f32_gemm_tile_5x16),
                                  N(f32_gemm_tile_6x16),
                                  N(f32_gemm_tile_7x16),
                                  N(f32_gemm_tile_8x16),
                                  N(f32_gemm_tile_9x16),
                                  N(f32_gemm_tile_10x16),
                                  N(f32_gemm_tile_11x16),
                                  N(f32_gemm_tile_12x16),
                                  N(f32_gemm_tile_13x16),
                                  N(f32_gemm_tile_14x16)};

static void N(f32_gemm_tall_kernel)(size_t rows, size_t columns, const float *a,
                                    const float *const *indirect, const void *w, const float *bias,
                                    void *out, const void *residual,
                                    const struct smr_f32_gemm_params *params) {
  N(f32_gemm_tiles_tall)[rows - 1](rows, columns, a, indirect, w, bias, out, residual, params);
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

GEMM_CONFIG(8, 48, .tall_mr = 14, .tall = GEMM_IN(f32_gemm_tall, f32_gemm_tall_kernel),
            .tall_name = "f32_gemm_14x16__" SMR_SIMD_NAME);

#undef TILES_OF_ROWS
#undef TILES
#undef TILES_OF_ROWS_F16
#undef TILES_F16
#include "kernels/f32_gemm/core_end.h"
