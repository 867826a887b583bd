// SPDX-License-Identifier: Apache-2.0
// Transposes sixteen rows into a weight panel, in blocks of 8x8.

// Interleave pairs of rows, then quadruples, then halves.
SMR_INLINE void N(pack_transpose_8x8)(const float *src, size_t stride, float *dst) {
  __m256 r[8], t[8];
  SMR_UNROLL for (size_t i = 0; i < 8; i++) r[i] = N(load)(src + i * stride);
  SMR_UNROLL for (size_t i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  SMR_UNROLL for (size_t i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], _MM_SHUFFLE(1, 0, 1, 0));
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], _MM_SHUFFLE(3, 2, 3, 2));
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], _MM_SHUFFLE(1, 0, 1, 0));
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], _MM_SHUFFLE(3, 2, 3, 2));
  }
  SMR_UNROLL for (size_t i = 0; i < 4; i++) {
    N(store)(dst + i * SMR_PANEL, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    N(store)(dst + (i + 4) * SMR_PANEL, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}

static void N(pack_f32_transpose)(size_t k, const float *src, size_t n_stride, float *dst) {
  size_t i = 0;
  for (; i + 8 <= k; i += 8) {
    N(pack_transpose_8x8)(src + i, n_stride, dst + i * SMR_PANEL);
    N(pack_transpose_8x8)(src + 8 * n_stride + i, n_stride, dst + i * SMR_PANEL + 8);
  }
  for (; i < k; i++) {
    for (size_t j = 0; j < SMR_PANEL; j++) dst[i * SMR_PANEL + j] = src[j * n_stride + i];
  }
}
