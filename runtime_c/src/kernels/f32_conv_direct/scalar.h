// SPDX-License-Identifier: Apache-2.0
// Direct convolution in portable C: tiles of 4x4 over a table of offsets.

#define GEMM_NAME(name) N(f32_conv_direct_##name)
#include "kernels/f32_gemm/finish.h"

enum { F32_CONV_DIRECT_SCALAR_MR = 4, F32_CONV_DIRECT_SCALAR_NR = 4 };

SMR_INLINE void N(f32_conv_direct_panel)(const int f16, size_t rows, size_t columns,
                                         const float *const *rows_a, const int32_t *offsets,
                                         const void *w, const float *bias, void *out,
                                         const void *residual,
                                         const struct smr_f32_gemm_params *params) {
  const size_t mr = F32_CONV_DIRECT_SCALAR_MR, nr = F32_CONV_DIRECT_SCALAR_NR;
  float sums[F32_CONV_DIRECT_SCALAR_MR * SMR_PANEL];
  for (size_t first = 0; first < columns; first += nr) {
    float acc[F32_CONV_DIRECT_SCALAR_MR][F32_CONV_DIRECT_SCALAR_NR];
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      SMR_UNROLL for (size_t j = 0; j < nr; j++) acc[i][j] = bias ? bias[first + j] : 0.0f;
    }
    for (size_t c = 0; c < params->k; c++) {
      SMR_UNROLL for (size_t j = 0; j < nr; j++) {
        const size_t at = c * SMR_PANEL + first + j;
        const float b =
            f16 ? N(load_f16)((const uint16_t *)w + at) : N(load)((const float *)w + at);
        SMR_UNROLL for (size_t i = 0; i < mr; i++) {
          acc[i][j] = N(fma)(rows_a[i][offsets[c]], b, acc[i][j]);
        }
      }
    }
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      SMR_UNROLL for (size_t j = 0; j < nr; j++) sums[i * SMR_PANEL + first + j] = acc[i][j];
    }
  }
  N(f32_conv_direct_finish)(rows, columns, sums, SMR_PANEL, out, residual, params);
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

CONV_DIRECT_CONFIG(4, 16);

#undef GEMM_NAME
