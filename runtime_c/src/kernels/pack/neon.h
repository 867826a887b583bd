// SPDX-License-Identifier: Apache-2.0
// Transposes sixteen rows into a weight panel, in blocks of 4x4.

SMR_INLINE float32x4_t N(pack_low)(float32x4_t a, float32x4_t b) {
  return vreinterpretq_f32_f64(vtrn1q_f64(vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)));
}

SMR_INLINE float32x4_t N(pack_high)(float32x4_t a, float32x4_t b) {
  return vreinterpretq_f32_f64(vtrn2q_f64(vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)));
}

SMR_INLINE void N(pack_transpose_4x4)(const float *src, size_t stride, float *dst) {
  const float32x4_t r0 = N(load)(src), r1 = N(load)(src + stride);
  const float32x4_t r2 = N(load)(src + 2 * stride), r3 = N(load)(src + 3 * stride);
  const float32x4_t even01 = vtrn1q_f32(r0, r1), odd01 = vtrn2q_f32(r0, r1);
  const float32x4_t even23 = vtrn1q_f32(r2, r3), odd23 = vtrn2q_f32(r2, r3);
  N(store)(dst, N(pack_low)(even01, even23));
  N(store)(dst + SMR_PANEL, N(pack_low)(odd01, odd23));
  N(store)(dst + 2 * SMR_PANEL, N(pack_high)(even01, even23));
  N(store)(dst + 3 * SMR_PANEL, N(pack_high)(odd01, odd23));
}

static void N(pack_f32_transpose)(size_t k, const float *src, size_t n_stride, float *dst) {
  size_t i = 0;
  for (; i + 4 <= k; i += 4) {
    for (size_t j = 0; j < SMR_PANEL; j += 4) {
      N(pack_transpose_4x4)(src + j * n_stride + i, n_stride, dst + i * SMR_PANEL + j);
    }
  }
  for (; i < k; i++) {
    for (size_t j = 0; j < SMR_PANEL; j++) dst[i * SMR_PANEL + j] = src[j * n_stride + i];
  }
}
