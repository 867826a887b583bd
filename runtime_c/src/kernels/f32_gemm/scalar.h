// SPDX-License-Identifier: Apache-2.0
// Float product in portable C: tiles of 4x4 over a panel. The reference of the other kernels.

#define GEMM_NAME(name) N(f32_gemm_##name)
#include "kernels/f32_gemm/finish.h"

enum { F32_GEMM_SCALAR_MR = 4, F32_GEMM_SCALAR_NR = 4 };

// mr rows by four columns at `w`. Only rows <= mr rows exist; the others repeat the last. The sums
// are written to `sums` [mr][SMR_PANEL].
SMR_INLINE void N(f32_gemm_tile)(const size_t mr, const int f16, size_t rows, const float *a,
                                 const float *const *pointers, const void *w, const float *bias,
                                 float *sums, const struct smr_f32_gemm_params *params) {
  float acc[F32_GEMM_SCALAR_MR][F32_GEMM_SCALAR_NR];
  const float *row[F32_GEMM_SCALAR_MR];
  const size_t k = params->k, taps = SMR_HAS(f32_gemm_indirect) ? params->taps : 1;
  const char *wp = (const char *)w;
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t j = 0; j < F32_GEMM_SCALAR_NR; j++) acc[i][j] = bias ? bias[j] : 0.0f;
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
    for (size_t c = 0; c < k; c++) {
      float b[F32_GEMM_SCALAR_NR];
      SMR_UNROLL for (size_t j = 0; j < F32_GEMM_SCALAR_NR; j++) {
        b[j] = f16 ? N(load_f16)((const uint16_t *)(const void *)wp + j)
                   : N(load)((const float *)(const void *)wp + j);
      }
      wp += SMR_PANEL * (f16 ? sizeof(uint16_t) : sizeof(float));
      SMR_UNROLL for (size_t i = 0; i < mr; i++) {
        const float x = row[i][c];
        SMR_UNROLL for (size_t j = 0; j < F32_GEMM_SCALAR_NR; j++) {
          acc[i][j] = N(fma)(x, b[j], acc[i][j]);
        }
      }
    }
  }
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t j = 0; j < F32_GEMM_SCALAR_NR; j++) sums[i * SMR_PANEL + j] = acc[i][j];
  }
}

SMR_INLINE void N(f32_gemm_panel)(const int f16, size_t rows, size_t columns, const float *a,
                                  const float *const *pointers, const void *w, const float *bias,
                                  void *out, const void *residual,
                                  const struct smr_f32_gemm_params *params) {
  float sums[F32_GEMM_SCALAR_MR * SMR_PANEL];
  const size_t w_bytes = f16 ? sizeof(uint16_t) : sizeof(float);
  for (size_t j = 0; j < columns; j += F32_GEMM_SCALAR_NR) {
    const char *wj = (const char *)w + j * w_bytes;
    const float *bj = bias ? bias + j : NULL;
    if (SMR_HAS(f32_gemm_short) && rows == 1) {
      N(f32_gemm_tile)(1, f16, rows, a, pointers, wj, bj, sums + j, params);
    } else if (rows == 2) {
      N(f32_gemm_tile)(2, f16, rows, a, pointers, wj, bj, sums + j, params);
    } else {
      N(f32_gemm_tile)(4, f16, rows, a, pointers, wj, bj, sums + j, params);
    }
  }
  N(f32_gemm_finish)(rows, columns, sums, SMR_PANEL, out, residual, params);
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

static void N(f32_gemm_row)(const int f16, size_t columns, const float *a, const void *w,
                            const float *bias, void *out, const void *residual,
                            const struct smr_f32_gemm_params *params) {
  const size_t out_bytes = params->out_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  for (size_t j = 0; j < columns; j += SMR_PANEL) {
    const size_t n = columns - j < SMR_PANEL ? columns - j : SMR_PANEL;
    const char *wj = (const char *)w + j / SMR_PANEL * params->panel_stride_bytes;
    (f16 ? N(f32_gemm_kernel_f16w) : N(f32_gemm_kernel))(
        1, n, a, NULL, wj, bias ? bias + j : NULL, (char *)out + j * out_bytes,
        residual ? (const char *)residual + j * out_bytes : NULL, params);
  }
}

static void N(f32_gemm_gemv_kernel)(size_t rows, size_t columns, const float *a,
                                    const float *const *indirect, const void *w, const float *bias,
                                    void *out, const void *residual,
                                    const struct smr_f32_gemm_params *params) {
  (void)rows, (void)indirect;
  N(f32_gemm_row)(0, columns, a, w, bias, out, residual, params);
}

static void N(f32_gemm_gemv_kernel_f16w)(size_t rows, size_t columns, const float *a,
                                         const float *const *indirect, const void *w,
                                         const float *bias, void *out, const void *residual,
                                         const struct smr_f32_gemm_params *params) {
  (void)rows, (void)indirect;
  N(f32_gemm_row)(1, columns, a, w, bias, out, residual, params);
}

// One row by panels of bytes.
static void N(f32_gemm_gemv_kernel_s8)(size_t rows, size_t columns, const float *a,
                                       const float *const *indirect, const void *w,
                                       const float *bias, void *out, const void *residual,
                                       const struct smr_f32_gemm_params *params) {
  (void)rows, (void)indirect;
  const size_t out_bytes = params->out_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  for (size_t j = 0; j < columns; j += SMR_PANEL) {
    const struct smr_gemm_s8_head *head =
        (const void *)((const char *)w + j / SMR_PANEL * params->panel_stride_bytes);
    const int8_t *bytes = (const int8_t *)(head + 1);
    float sums[SMR_PANEL], zeros[SMR_PANEL];
    for (size_t i = 0; i < SMR_PANEL; i++) {
      sums[i] = bias ? bias[j + i] : 0.0f;
      zeros[i] = head->shifted ? N(load_f16)(head->zeros + i) : 0.0f;
    }
    for (size_t c = 0; c < params->k; c++) {
      const int8_t *row = bytes + c * SMR_PANEL;
      for (size_t i = 0; i < SMR_PANEL; i++)
        sums[i] = N(fma)(a[c], ((float)row[i] - zeros[i]) * head->scales[i], sums[i]);
    }
    N(f32_gemm_finish)(1, columns - j < SMR_PANEL ? columns - j : SMR_PANEL, sums, SMR_PANEL,
                       (char *)out + j * out_bytes,
                       residual ? (const char *)residual + j * out_bytes : NULL, params);
  }
}

static void N(f32_gemm_unfold_s8)(size_t k, const void *panel, float *out) {
  const struct smr_gemm_s8_head *head = (const struct smr_gemm_s8_head *)panel;
  const int8_t *bytes = (const int8_t *)(head + 1);
  for (size_t i = 0; i < SMR_PANEL; i++) {
    const float zero = N(load_f16)(head->zeros + i);
    for (size_t c = 0; c < k; c++)
      out[c * SMR_PANEL + i] = ((float)bytes[c * SMR_PANEL + i] - zero) * head->scales[i];
  }
}

GEMM_CONFIG(4, 16, .tall_mr = 0);

#undef GEMM_NAME
