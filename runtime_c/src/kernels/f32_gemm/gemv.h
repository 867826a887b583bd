// SPDX-License-Identifier: Apache-2.0
// One row times all panels: reads weights sequentially, one or two panels at a time; memory-bound.
//
// Eight accumulators hide the latency of the multiply-add. With P = VF / 16 vectors per panel,
// element k is added to accumulator k mod (8 / P), and the partial sums are added pairwise. This
// order does not depend on the range of columns.

#define GEMV_VECTORS (SMR_PANEL / VF)
#define GEMV_SPLIT (GEMV_VECTORS <= 4 ? 8 / GEMV_VECTORS : 2)
// Panels computed side by side if there are enough registers: an element of A is loaded once. Not
// in builds for size: 1.4 KB of code for 1 to 10 %.
#if defined(SMR_FOR_SIZE)
#define GEMV_TOGETHER 1
#else
#define GEMV_TOGETHER (GEMV_VECTORS == 1 ? 2 : 1)
#endif

// Types of weights: floats, and bytes with and without zero points.
#define GEMV_F32 0
#define GEMV_F16 1
#define GEMV_S8 2
#define GEMV_S8_SHIFTED 3
#define GEMV_BYTES(type) \
  ((type) >= GEMV_S8 ? sizeof(int8_t) : (type) == GEMV_F16 ? sizeof(uint16_t) : sizeof(float))

// What a panel of bytes is dequantized by.
struct GEMM_NAME(gemv_columns) {
  N(vf) scale[GEMV_VECTORS], zero[GEMV_VECTORS];
};

SMR_INLINE void GEMM_NAME(gemv_columns_load)(const int type, const void *panel,
                                             struct GEMM_NAME(gemv_columns) * columns) {
  if (type < GEMV_S8) return;
  const struct smr_gemm_s8_head *head = (const struct smr_gemm_s8_head *)panel;
  SMR_UNROLL for (size_t j = 0; j < GEMV_VECTORS; j++) {
    columns->scale[j] = N(load)(head->scales + j * VF);
    columns->zero[j] = type == GEMV_S8_SHIFTED ? N(load_f16)(head->zeros + j * VF) : N(zero)();
  }
}

// Vector j of a row. A byte becomes the float that `unfold` writes, so that the sums have the bits
// of a product by floats.
SMR_INLINE N(vf) GEMM_NAME(gemv_load)(const char *w, size_t j, const int type,
                                      const struct GEMM_NAME(gemv_columns) * columns) {
  if (type == GEMV_F32) return N(load)((const float *)(const void *)w + j * VF);
  if (type == GEMV_F16) return N(load_f16)((const uint16_t *)(const void *)w + j * VF);
  N(vf) v = N(to_float)(N(iload_i8)((const int8_t *)w + j * VF));
  if (type == GEMV_S8_SHIFTED) v = N(sub)(v, columns->zero[j]);
  return N(mul)(v, columns->scale[j]);
}

// Sums, before the clamp, of `panels` panels from `w`, `stride` bytes apart.
SMR_INLINE void GEMM_NAME(gemv_panels)(const size_t panels, const int type, size_t k,
                                       const float *a, const char *w, size_t stride,
                                       const float *bias, N(vf) (*sums)[GEMV_VECTORS]) {
  const size_t step = SMR_PANEL * GEMV_BYTES(type);
  N(vf) acc[GEMV_TOGETHER][GEMV_SPLIT][GEMV_VECTORS];
  struct GEMM_NAME(gemv_columns) columns[GEMV_TOGETHER];
  SMR_UNROLL for (size_t p = 0; p < panels; p++) {
    SMR_UNROLL for (size_t s = 0; s < GEMV_SPLIT; s++) {
      SMR_UNROLL for (size_t j = 0; j < GEMV_VECTORS; j++) {
        acc[p][s][j] = s == 0 && bias ? N(load)(bias + p * SMR_PANEL + j * VF) : N(zero)();
      }
    }
  }
  SMR_UNROLL for (size_t p = 0; p < panels; p++)
      GEMM_NAME(gemv_columns_load)(type, w + p * stride, &columns[p]);
  if (type >= GEMV_S8) w += sizeof(struct smr_gemm_s8_head);
  size_t c = 0;
  for (; c + GEMV_SPLIT <= k; c += GEMV_SPLIT) {
    SMR_UNROLL for (size_t s = 0; s < GEMV_SPLIT; s++) {
      const N(vf) x = N(set1)(a[c + s]);
      SMR_UNROLL for (size_t p = 0; p < panels; p++) {
        SMR_UNROLL for (size_t j = 0; j < GEMV_VECTORS; j++) {
          const N(vf) v = GEMM_NAME(gemv_load)(w + p * stride + s * step, j, type, &columns[p]);
          acc[p][s][j] = N(fma)(x, v, acc[p][s][j]);
        }
      }
    }
    w += GEMV_SPLIT * step;
  }
  SMR_UNROLL for (size_t s = 0; s + 1 < GEMV_SPLIT; s++) {
    if (c + s >= k) continue;
    const N(vf) x = N(set1)(a[c + s]);
    SMR_UNROLL for (size_t p = 0; p < panels; p++) {
      SMR_UNROLL for (size_t j = 0; j < GEMV_VECTORS; j++) {
        const N(vf) v = GEMM_NAME(gemv_load)(w + p * stride + s * step, j, type, &columns[p]);
        acc[p][s][j] = N(fma)(x, v, acc[p][s][j]);
      }
    }
  }
  SMR_UNROLL for (size_t p = 0; p < panels; p++) {
    SMR_UNROLL for (size_t j = 0; j < GEMV_VECTORS; j++) {
      SMR_UNROLL for (size_t width = GEMV_SPLIT / 2; width > 0; width /= 2) {
        SMR_UNROLL for (size_t s = 0; s < width; s++) {
          acc[p][s][j] = N(add)(acc[p][s][j], acc[p][s + width][j]);
        }
      }
      sums[p][j] = acc[p][0][j];
    }
  }
}

SMR_INLINE void GEMM_NAME(gemv)(const int type, size_t columns, const float *a, const void *w,
                                const float *bias, void *out, const void *residual,
                                const struct smr_f32_gemm_params *params) {
  const size_t stride = params->panel_stride_bytes;
  const size_t out_bytes = params->out_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  N(vf) sums[GEMV_TOGETHER][GEMV_VECTORS];
  for (size_t done = 0, ready = 0; done < columns; done += SMR_PANEL) {
    const char *wp = (const char *)w + done / SMR_PANEL * stride;
    const float *b = bias ? bias + done : NULL;
    if (ready > 0) {
      ready--;
      SMR_UNROLL for (size_t j = 0; j < GEMV_VECTORS; j++) sums[0][j] = sums[GEMV_TOGETHER - 1][j];
    } else if (GEMV_TOGETHER > 1 && columns - done > SMR_PANEL) {
      ready = 1;
      GEMM_NAME(gemv_panels)(GEMV_TOGETHER, type, params->k, a, wp, stride, b, sums);
    } else {
      GEMM_NAME(gemv_panels)(1, type, params->k, a, wp, stride, b, sums);
    }
    if (columns - done >= SMR_PANEL && params->out_type == SMR_GEMM_F32) {
      float *to = (float *)out + done;
      const float *r = residual ? (const float *)residual + done : NULL;
      const N(vf) lo = N(set1)(params->lo), hi = N(set1)(params->hi);
      SMR_UNROLL for (size_t j = 0; j < GEMV_VECTORS; j++) {
        const N(vf) v = r ? N(add)(sums[0][j], N(load)(r + j * VF)) : sums[0][j];
        N(store)(to + j * VF, N(clamp)(v, lo, hi));
      }
      continue;
    }
    float row[SMR_PANEL];
    SMR_UNROLL for (size_t j = 0; j < GEMV_VECTORS; j++) N(store)(row + j * VF, sums[0][j]);
    const size_t n = columns - done < SMR_PANEL ? columns - done : SMR_PANEL;
    GEMM_NAME(finish)(1, n, row, SMR_PANEL, (char *)out + done * out_bytes,
                      residual ? (const char *)residual + done * out_bytes : NULL, params);
  }
}

static void GEMM_NAME(gemv_kernel_s8)(size_t rows, size_t columns, const float *a,
                                      const float *const *indirect, const void *w,
                                      const float *bias, void *out, const void *residual,
                                      const struct smr_f32_gemm_params *params) {
  (void)rows, (void)indirect;
  if (((const struct smr_gemm_s8_head *)w)->shifted)
    GEMM_NAME(gemv)(GEMV_S8_SHIFTED, columns, a, w, bias, out, residual, params);
  else
    GEMM_NAME(gemv)(GEMV_S8, columns, a, w, bias, out, residual, params);
}

static void GEMM_NAME(unfold_s8)(size_t k, const void *panel, float *out) {
  const char *bytes = (const char *)panel + sizeof(struct smr_gemm_s8_head);
  struct GEMM_NAME(gemv_columns) columns;
  GEMM_NAME(gemv_columns_load)(GEMV_S8_SHIFTED, panel, &columns);
  for (size_t c = 0; c < k; c++, bytes += SMR_PANEL, out += SMR_PANEL) {
    SMR_UNROLL for (size_t j = 0; j < GEMV_VECTORS; j++)
        N(store)(out + j * VF, GEMM_NAME(gemv_load)(bytes, j, GEMV_S8_SHIFTED, &columns));
  }
}

#undef GEMV_VECTORS
#undef GEMV_SPLIT
#undef GEMV_TOGETHER
#undef GEMV_F32
#undef GEMV_F16
#undef GEMV_S8
#undef GEMV_S8_SHIFTED
#undef GEMV_BYTES
