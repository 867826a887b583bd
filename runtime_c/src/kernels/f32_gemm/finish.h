// SPDX-License-Identifier: Apache-2.0
// The general end of a tile, any width and type: residual, clamp, conversion, partial stores.
//
// GEMM_NAME(x) names the including file's functions.

// `sums` is [rows][sums_stride], bias included; columns <= sums_stride.
static __attribute__((noinline, unused)) void GEMM_NAME(finish)(
    size_t rows, size_t columns, const float *sums, size_t sums_stride, void *out,
    const void *residual, const struct smr_f32_gemm_params *params) {
  const N(vf) lo = N(set1)(params->lo), hi = N(set1)(params->hi);
  const int is_f16 = SMR_HAS(type_float16) && params->out_type == SMR_GEMM_F16;
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < columns; j += VF) {
      const size_t n = columns - j < VF ? columns - j : VF;
      N(vf) v = N(load_n)(sums + i * sums_stride + j, n);
      if (residual) {
        const size_t at = i * params->residual_stride + j;
        v = N(add)(v, is_f16 ? N(load_f16_n)((const uint16_t *)residual + at, n)
                             : N(load_n)((const float *)residual + at, n));
      }
      v = N(clamp)(v, lo, hi);
      const size_t at = i * params->out_stride + j;
      if (is_f16) {
        N(store_f16_n)((uint16_t *)out + at, v, n);
      } else {
        N(store_n)((float *)out + at, v, n);
      }
    }
  }
}
