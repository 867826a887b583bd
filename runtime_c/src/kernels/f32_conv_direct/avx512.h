// SPDX-License-Identifier: Apache-2.0
// Direct convolution for AVX-512: the tiles of the float product over a table of offsets.

#define GEMM_NAME(name) N(f32_conv_direct_##name)
#include "kernels/f32_gemm/core.h"

GEMM_TILE_OFFSETS(tile_8x8, 8, 0, 1, 0)
GEMM_TILE_OFFSETS(tile_8x16, 8, 1, 0, 0)
GEMM_TILE_OFFSETS(tile_8x24, 8, 1, 1, 0)
GEMM_TILE_OFFSETS(tile_8x32, 8, 2, 0, 0)
GEMM_TILE_OFFSETS(tile_8x48, 8, 3, 0, 0)
GEMM_TILE_OFFSETS(tile_8x16h, 8, 1, 0, 1)
GEMM_TILE_OFFSETS(tile_8x32h, 8, 2, 0, 1)
GEMM_TILE_OFFSETS(tile_8x48h, 8, 3, 0, 1)

// [half panels - 1]; for float16 weights [panels - 1]
static const smr_f32_conv_direct_ukernel N(f32_conv_direct_tiles)[6] = {
    SMR_HAS(conv_direct_half) ? N(f32_conv_direct_tile_8x8) : NULL,
    N(f32_conv_direct_tile_8x16),
    SMR_HAS(conv_direct_half) ? N(f32_conv_direct_tile_8x24) : NULL,
    N(f32_conv_direct_tile_8x32),
    N(f32_conv_direct_tile_8x48),
    N(f32_conv_direct_tile_8x48)};
static const smr_f32_conv_direct_ukernel N(f32_conv_direct_tiles_f16)[3] = {
    N(f32_conv_direct_tile_8x16h), N(f32_conv_direct_tile_8x32h), N(f32_conv_direct_tile_8x48h)};

static void N(f32_conv_direct)(size_t rows, size_t columns, const float *const *rows_a,
                               const int32_t *offsets, const void *w, const float *bias, void *out,
                               const void *residual, const struct smr_f32_gemm_params *params) {
  N(f32_conv_direct_tiles)
  [(columns - 1) / 8](rows, columns, rows_a, offsets, w, bias, out, residual, params);
}

static void N(f32_conv_direct_f16w)(size_t rows, size_t columns, const float *const *rows_a,
                                    const int32_t *offsets, const void *w, const float *bias,
                                    void *out, const void *residual,
                                    const struct smr_f32_gemm_params *params) {
  N(f32_conv_direct_tiles_f16)
  [(columns - 1) / 16](rows, columns, rows_a, offsets, w, bias, out, residual, params);
}

CONV_DIRECT_CONFIG(8, 48);

#include "kernels/f32_gemm/core_end.h"
