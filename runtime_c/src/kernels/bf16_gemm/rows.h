// SPDX-License-Identifier: Apache-2.0
// What all kernels of the family share: addresses of A's rows, and one row times all panels.
//
// N(x) and GEMM_NAME(x) name the including file's functions.

// The elements of row i of A for `tap`.
SMR_INLINE const float *N(bf16_gemm_row)(size_t i, size_t tap, const float *a,
                                         const float *const *pointers,
                                         const struct smr_f32_gemm_params *params) {
  if (!SMR_HAS(f32_gemm_indirect) || !pointers) return a + i * params->a_stride;
  const float *p = pointers[i * params->taps + tap];
  return p == params->zero
             ? p
             : (const float *)(const void *)((const char *)p + params->a_offset_bytes);
}

// One row times any number of columns; calls a tile kernel for `nr` columns at a time.
SMR_INLINE void N(bf16_gemm_gemv)(smr_f32_gemm_ukernel tile, size_t nr, size_t columns,
                                  const float *a, const void *w, const float *bias, void *out,
                                  const void *residual, const struct smr_f32_gemm_params *params) {
  const size_t bytes = params->out_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  for (size_t j = 0; j < columns; j += nr) {
    tile(1, columns - j < nr ? columns - j : nr, a, NULL,
         (const char *)w + j / SMR_PANEL * params->panel_stride_bytes, bias ? bias + j : NULL,
         (char *)out + j * bytes, residual ? (const char *)residual + j * bytes : NULL, params);
  }
}
