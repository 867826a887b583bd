// SPDX-License-Identifier: Apache-2.0
// One row times all panels: a single sequential stream of weights, bound by memory.
//
// Eight accumulators hide the latency of the multiply-add: with P = VF / 16 vectors to a panel,
// element k goes to accumulator k mod (8 / P) and the partial sums are added pairwise, which is the
// order of this kernel whatever range of columns it is given.

#define GEMV_VECTORS (SMR_PANEL / VF)
#define GEMV_SPLIT (GEMV_VECTORS <= 4 ? 8 / GEMV_VECTORS : 2)

SMR_INLINE N(vf) GEMM_NAME(gemv_load)(const char *w, size_t j, const int f16) {
  return f16 ? N(load_f16)((const uint16_t *)(const void *)w + j * VF)
             : N(load)((const float *)(const void *)w + j * VF);
}

SMR_INLINE void GEMM_NAME(gemv)(const int f16, size_t columns, const float *a, const void *w,
                                const float *bias, void *out, const void *residual,
                                const struct smr_f32_gemm_params *params) {
  const size_t k = params->k, step = SMR_PANEL * (f16 ? sizeof(uint16_t) : sizeof(float));
  const size_t out_bytes = params->out_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  for (size_t done = 0; done < columns; done += SMR_PANEL) {
    const char *wp = (const char *)w + done / SMR_PANEL * params->panel_stride_bytes;
    N(vf) acc[GEMV_SPLIT][GEMV_VECTORS];
    SMR_UNROLL for (size_t s = 0; s < GEMV_SPLIT; s++) {
      SMR_UNROLL for (size_t j = 0; j < GEMV_VECTORS; j++) {
        acc[s][j] = s == 0 && bias ? N(load)(bias + done + j * VF) : N(zero)();
      }
    }
    size_t c = 0;
    for (; c + GEMV_SPLIT <= k; c += GEMV_SPLIT) {
      SMR_UNROLL for (size_t s = 0; s < GEMV_SPLIT; s++) {
        const N(vf) x = N(set1)(a[c + s]);
        SMR_UNROLL for (size_t j = 0; j < GEMV_VECTORS; j++) {
          acc[s][j] = N(fma)(x, GEMM_NAME(gemv_load)(wp + s * step, j, f16), acc[s][j]);
        }
      }
      wp += GEMV_SPLIT * step;
    }
    SMR_UNROLL for (size_t s = 0; s + 1 < GEMV_SPLIT; s++) {
      if (c + s < k) {
        const N(vf) x = N(set1)(a[c + s]);
        SMR_UNROLL for (size_t j = 0; j < GEMV_VECTORS; j++) {
          acc[s][j] = N(fma)(x, GEMM_NAME(gemv_load)(wp + s * step, j, f16), acc[s][j]);
        }
      }
    }
    SMR_UNROLL for (size_t j = 0; j < GEMV_VECTORS; j++) {
      SMR_UNROLL for (size_t width = GEMV_SPLIT / 2; width > 0; width /= 2) {
        SMR_UNROLL for (size_t s = 0; s < width; s++) {
          acc[s][j] = N(add)(acc[s][j], acc[s + width][j]);
        }
      }
    }
    if (columns - done >= SMR_PANEL && params->out_type == SMR_GEMM_F32) {
      float *to = (float *)out + done;
      const float *r = residual ? (const float *)residual + done : NULL;
      const N(vf) lo = N(set1)(params->lo), hi = N(set1)(params->hi);
      SMR_UNROLL for (size_t j = 0; j < GEMV_VECTORS; j++) {
        const N(vf) v = r ? N(add)(acc[0][j], N(load)(r + j * VF)) : acc[0][j];
        N(store)(to + j * VF, N(clamp)(v, lo, hi));
      }
      continue;
    }
    float sums[SMR_PANEL];
    SMR_UNROLL for (size_t j = 0; j < GEMV_VECTORS; j++) N(store)(sums + j * VF, acc[0][j]);
    const size_t n = columns - done < SMR_PANEL ? columns - done : SMR_PANEL;
    GEMM_NAME(finish)(1, n, sums, SMR_PANEL, (char *)out + done * out_bytes,
                      residual ? (const char *)residual + done * out_bytes : NULL, params);
  }
}

#undef GEMV_VECTORS
#undef GEMV_SPLIT
