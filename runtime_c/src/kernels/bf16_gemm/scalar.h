// SPDX-License-Identifier: Apache-2.0
// Float product in bfloat16 in portable C: the reference of the other kernels. Slow.

#define GEMM_NAME(name) N(bf16_gemm_##name)
#include "kernels/f32_gemm/finish.h"
#include "kernels/bf16_gemm/rows.h"

static float N(bf16_gemm_rounded)(float x) { return smr_bf16_to_f32(smr_f32_to_bf16(x)); }

static void N(bf16_gemm_kernel)(size_t rows, size_t columns, const float *a,
                                const float *const *indirect, const void *w, const float *bias,
                                void *out, const void *residual,
                                const struct smr_f32_gemm_params *params) {
  float sums[4 * SMR_PANEL];
  for (size_t i = 0; i < rows; i++) {
    const uint16_t *pair = (const uint16_t *)w;
    float *sum = sums + i * SMR_PANEL;
    for (size_t j = 0; j < SMR_PANEL; j++) sum[j] = bias ? bias[j] : 0.0f;
    for (size_t tap = 0; tap < params->taps; tap++) {
      const float *row = N(bf16_gemm_row)(i, tap, a, indirect, params);
      for (size_t c = 0; c < params->k; c++) {
        const float x = N(bf16_gemm_rounded)(row[c]);
        for (size_t j = 0; j < SMR_PANEL; j++) sum[j] += x * smr_bf16_to_f32(pair[2 * j + c % 2]);
        if (c % 2 != 0 || c + 1 == params->k) pair += 2 * SMR_PANEL;
      }
    }
  }
  GEMM_NAME(finish)(rows, columns, sums, SMR_PANEL, out, residual, params);
}

static void N(bf16_gemm_gemv_kernel)(size_t rows, size_t columns, const float *a,
                                     const float *const *indirect, const void *w, const float *bias,
                                     void *out, const void *residual,
                                     const struct smr_f32_gemm_params *params) {
  (void)rows, (void)indirect;
  N(bf16_gemm_gemv)(N(bf16_gemm_kernel), SMR_PANEL, columns, a, w, bias, out, residual, params);
}

BF16_CONFIG(4, 16);

#undef GEMM_NAME
