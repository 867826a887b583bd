// SPDX-License-Identifier: Apache-2.0
// Direct convolution for AVX2 with FMA: the tiles of the float product over a table of offsets.

#define GEMM_NAME(name) N(f32_conv_direct_##name)
#include "kernels/f32_gemm/core.h"

GEMM_TILE_OFFSETS(tile_6x8, 6, 1, 0, 0)
GEMM_TILE_OFFSETS(tile_6x16, 6, 2, 0, 0)
GEMM_TILE_OFFSETS(tile_6x16h, 6, 2, 0, 1)

static void N(f32_conv_direct)(size_t rows, size_t columns, const float *const *rows_a,
                               const int32_t *offsets, const void *w, const float *bias, void *out,
                               const void *residual, const struct smr_f32_gemm_params *params) {
  (SMR_HAS(conv_direct_half) && columns <= 8 ? N(f32_conv_direct_tile_6x8)
                                             : N(f32_conv_direct_tile_6x16))(
      rows, columns, rows_a, offsets, w, bias, out, residual, params);
}

static void N(f32_conv_direct_f16w)(size_t rows, size_t columns, const float *const *rows_a,
                                    const int32_t *offsets, const void *w, const float *bias,
                                    void *out, const void *residual,
                                    const struct smr_f32_gemm_params *params) {
  N(f32_conv_direct_tile_6x16h)(rows, columns, rows_a, offsets, w, bias, out, residual, params);
}

CONV_DIRECT_CONFIG(6, 16);

#include "kernels/f32_gemm/core_end.h"
