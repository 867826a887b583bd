// SPDX-License-Identifier: Apache-2.0
// Direct convolution for vectors of 128 bits: tiles of the float product over a table of offsets,
// as tall as there.

#define GEMM_NAME(name) N(f32_conv_direct_##name)
#include "kernels/f32_gemm/core.h"

#if defined(SMR_SIMD_WASM) && !defined(SMR_SIMD_RELAXED)
#define CONV_DIRECT_MR 4
#else
#define CONV_DIRECT_MR 6
#endif
GEMM_TILE_OFFSETS(tile_8, CONV_DIRECT_MR, 2, 0, 0)
GEMM_TILE_OFFSETS(tile_8h, CONV_DIRECT_MR, 2, 0, 1)

static void N(f32_conv_direct_panel)(const int f16, size_t rows, size_t columns,
                                     const float *const *rows_a, const int32_t *offsets,
                                     const void *w, const float *bias, void *out,
                                     const void *residual,
                                     const struct smr_f32_gemm_params *params) {
  const size_t out_bytes = params->out_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  const size_t w_bytes = f16 ? sizeof(uint16_t) : sizeof(float);
  for (size_t j = 0; j < columns; j += 8) {
    const size_t n = columns - j < 8 ? columns - j : 8;
    (f16 ? N(f32_conv_direct_tile_8h) : N(f32_conv_direct_tile_8))(
        rows, n, rows_a, offsets, (const char *)w + j * w_bytes, bias ? bias + j : NULL,
        (char *)out + j * out_bytes, residual ? (const char *)residual + j * out_bytes : NULL,
        params);
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

#if defined(SMR_SIMD_WASM) && !defined(SMR_SIMD_RELAXED)
CONV_DIRECT_CONFIG(4, 16);
#else
CONV_DIRECT_CONFIG(6, 16);
#endif
#undef CONV_DIRECT_MR

#include "kernels/f32_gemm/core_end.h"
