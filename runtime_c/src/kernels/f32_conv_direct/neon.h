// SPDX-License-Identifier: Apache-2.0
// Direct convolution for AArch64: 8x8 tiles on half panels over a table of offsets.

#define GEMM_NAME(name) N(f32_conv_direct_##name)
#include "kernels/f32_gemm/core.h"

GEMM_TILE_OFFSETS(tile_8x8, 8, 2, 0, 0)
GEMM_TILE_OFFSETS(tile_8x8h, 8, 2, 0, 1)

SMR_INLINE void N(f32_conv_direct_panel)(const int f16, size_t rows, size_t columns,
                                         const float *const *rows_a, const int32_t *offsets,
                                         const void *w, const float *bias, void *out,
                                         const void *residual,
                                         const struct smr_f32_gemm_params *params) {
  const size_t out_bytes = params->out_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  for (size_t j = 0; j < columns; j += 8) {
    const size_t n = columns - j < 8 ? columns - j : 8;
    (f16 ? N(f32_conv_direct_tile_8x8h) : N(f32_conv_direct_tile_8x8))(
        rows, n, rows_a, offsets, (const char *)w + j * (f16 ? sizeof(uint16_t) : sizeof(float)),
        bias ? bias + j : NULL, (char *)out + j * out_bytes,
        residual ? (const char *)residual + j * out_bytes : NULL, params);
  }
}

static void N(f32_conv_direct)(size_t rows, size_t columns, const float *const *rows_a,
                               const int32_t *offsets, const void *w, const float *bias, void *out,
                               const void *residual, const struct smr_f32_gemm_params *params) {
  N(f32_conv_direct_panel)(0, rows, columns, rows_a, offsets, w, bias, out, residual, params);
}

static void N(f32_conv_direct_f16w)(size_t rows, size_t columns, const float *const *rows_a,
                                    const int32_t *offsets, const void *w, const float *bias,
                                    void *out, const void *residual,
                                    const struct smr_f32_gemm_params *params) {
  N(f32_conv_direct_panel)(1, rows, columns, rows_a, offsets, w, bias, out, residual, params);
}

CONV_DIRECT_CONFIG(8, 16);

#include "kernels/f32_gemm/core_end.h"
